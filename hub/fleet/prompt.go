package fleet

import (
	"context"
	"strings"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// listed is how many prompts, and lines of history, a page gets.
const listed = 200

// Prompts lists the newest prompts of a Session, the oldest of them first.
func (f *Fleet) Prompts(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) ([]claudehub.Prompt, error) {
	if err := f.StillWatches(ctx, p, id); err != nil {
		return nil, err
	}
	if err := f.expireDue(ctx); err != nil {
		return nil, err
	}
	return f.st.Read().Prompts(ctx, id, listed)
}

// AddPrompt puts a prompt at the end of a Session's queue. The same request key with the same text gives the same
// prompt.
func (f *Fleet) AddPrompt(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, text, request string) (claudehub.Prompt, error) {
	if err := validRequest(request); err != nil {
		return claudehub.Prompt{}, err
	}
	if err := f.expireDue(ctx); err != nil { // what is over does not count as waiting
		return claudehub.Prompt{}, err
	}
	var out claudehub.Prompt
	_, err := f.asPerson(ctx, p, id, "session.prompt", func(d *decision) (err error) {
		d.unseen = true
		if request != "" {
			if out, err = d.q.PromptByRequest(ctx, id, request); claudehub.CodeOf(err) != claudehub.NotFound {
				return sameText(out, text, err)
			}
		}
		if err := d.claudeOnly(); err != nil {
			return err
		}
		if err := d.usable(); err != nil {
			return err
		}
		if err := validPrompt(text); err != nil {
			return err
		}
		if err := roomForPrompt(ctx, d.q, id); err != nil {
			return err
		}
		out, err = d.addPrompt(ctx, p, nil, text, request)
		return err
	})
	if err != nil {
		return claudehub.Prompt{}, err
	}
	return out, nil
}

func sameText(found claudehub.Prompt, text string, err error) error {
	if err == nil && found.Text != text {
		return claudehub.Errorf(claudehub.Conflict, "That request key was used for another prompt. Send this one with a new key.")
	}
	return err
}

func roomForPrompt(ctx context.Context, q store.Q, id claudehub.SessionID) error {
	open, err := q.OpenPrompts(ctx, id)
	if err == nil && len(open) >= claudehub.MaxQueued {
		err = claudehub.Errorf(claudehub.TooMany,
			"%d prompts wait in this Session, which is the most. Cancel one, or wait until Claude has taken some.", len(open))
	}
	return err
}

// addPrompt: by is who suggested it, if anybody did.
func (d *decision) addPrompt(ctx context.Context, author claudehub.PersonID, by *claudehub.Face, text, request string) (claudehub.Prompt, error) {
	p := claudehub.Prompt{ID: claudehub.NewPromptID(), Session: d.s.ID, Author: author, SuggestedBy: by, Text: text, State: claudehub.PromptQueued,
		Created: d.now, Updated: d.now, Expires: d.now.Add(claudehub.PromptLife)}
	d.prompts = append(d.prompts, p)
	d.changed = true
	d.tell("prompt", string(p.ID))
	return p, d.q.AddPrompt(ctx, p, request)
}

// CancelPrompt takes a prompt back that Claude does not have yet.
func (f *Fleet) CancelPrompt(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, prompt claudehub.PromptID) (claudehub.Prompt, error) {
	var out claudehub.Prompt
	_, err := f.asPerson(ctx, p, id, "session.prompt", func(d *decision) (err error) {
		d.unseen = true
		if out, err = d.q.Prompt(ctx, id, prompt); err != nil {
			return absent(err, errNoPrompt)
		}
		switch out.State {
		case claudehub.PromptCancelled:
			return nil
		case claudehub.PromptQueued, claudehub.PromptDelivered:
			if err := d.setPrompt(ctx, out, claudehub.PromptCancelled, "You cancelled it."); err != nil {
				return err
			}
			out = d.prompts[0]
			d.tell("cancelled", string(out.ID))
			return nil
		case claudehub.PromptAccepted, claudehub.PromptDone:
			return claudehub.Errorf(claudehub.Conflict, "Claude has this prompt already. Press Stop to interrupt Claude.")
		}
		return claudehub.Errorf(claudehub.Conflict, "This prompt waits no longer: it is %s.", out.State)
	})
	if err != nil {
		return claudehub.Prompt{}, err
	}
	return out, nil
}

// validPrompt adds to claudehub's rules what neither a terminal nor PostgreSQL can take.
func validPrompt(s string) error {
	if strings.ContainsRune(s, 0) {
		return claudehub.Errorf(claudehub.Invalid, "The prompt holds a NUL character, which cannot be sent. Remove it.")
	}
	return claudehub.ValidPrompt(s)
}
