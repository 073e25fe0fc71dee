package fleet

import (
	"context"
	"strings"
	"unicode/utf8"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const maxWhy = 500 // runes of the word on declining

var errNoSuggestion = policy.ErrNoSuggestion

// Suggest proposes a prompt to the Creator of a Session.
func (f *Fleet) Suggest(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, text string) (claudehub.Suggestion, error) {
	found, a, err := f.find(ctx, p, id)
	if err == nil {
		err = policy.Suggest(a)
	}
	if err != nil {
		return claudehub.Suggestion{}, err
	}
	if err := validSuggestion(text); err != nil {
		return claudehub.Suggestion{}, err
	}
	ctx = asActor(ctx, p)
	var out claudehub.Suggestion
	err = f.decideOn(ctx, found.Runner, id, func(d *decision) error {
		// Once more, now that nobody shares or unshares it meanwhile.
		a, err := f.accessNow(ctx, d.q, p, d.s.Session)
		if err == nil {
			err = policy.Suggest(a)
		}
		if err == nil {
			err = d.usable()
		}
		if err == nil {
			err = roomForSuggestion(ctx, d.q, id)
		}
		if err != nil {
			return err
		}
		out = claudehub.Suggestion{ID: claudehub.NewSuggestionID(), Session: id, Text: text, State: claudehub.SuggestionOpen, Created: d.now, Updated: d.now}
		if out.Author, err = d.q.Face(ctx, p); err != nil {
			return err
		}
		if err := d.q.AddSuggestion(ctx, out); err != nil {
			return err
		}
		d.suggestions = append(d.suggestions, out)
		return f.note(ctx, d.q, "suggestion.make", string(out.ID), map[string]string{"session": string(id)})
	})
	if err != nil {
		return claudehub.Suggestion{}, err
	}
	return out, nil
}

func validSuggestion(text string) error {
	if len(text) > claudehub.MaxSuggestion {
		return claudehub.Errorf(claudehub.TooLarge, "The suggestion has %d KB; at most %d KB are possible.", len(text)>>10, claudehub.MaxSuggestion>>10)
	}
	return validPrompt(text)
}

func roomForSuggestion(ctx context.Context, q store.Q, id claudehub.SessionID) error {
	n, err := q.CountSuggestions(ctx, id)
	if err == nil && n >= claudehub.MaxSuggestions {
		err = claudehub.Errorf(claudehub.TooMany, "%d suggestions wait in this Session, which is the most. Wait until some are answered.", n)
	}
	return err
}

// Suggestions lists the newest suggestions of a Session, the oldest of them first.
func (f *Fleet) Suggestions(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) ([]claudehub.Suggestion, error) {
	if err := f.StillWatches(ctx, p, id); err != nil {
		return nil, err
	}
	return f.st.Read().Suggestions(ctx, id, listed)
}

// AcceptSuggestion makes a suggestion the Creator's own prompt, with another text if one is given.
func (f *Fleet) AcceptSuggestion(ctx context.Context, p claudehub.PersonID, id claudehub.SuggestionID, text *string) (claudehub.Suggestion, claudehub.Prompt, error) {
	if err := f.expireDue(ctx); err != nil { // what is over does not count as waiting
		return claudehub.Suggestion{}, claudehub.Prompt{}, err
	}
	var prompt claudehub.Prompt
	s, err := f.answer(ctx, p, id, "suggestion.accept", ofCreator, func(d *decision, s *claudehub.Suggestion) error {
		if err := d.usable(); err != nil {
			return err
		}
		said := or(text, s.Text)
		if err := validPrompt(said); err != nil {
			return err
		}
		if err := roomForPrompt(ctx, d.q, d.s.ID); err != nil {
			return err
		}
		var err error
		prompt, err = d.addPrompt(ctx, p, &s.Author, said, "")
		s.State, s.Prompt = claudehub.SuggestionAccepted, prompt.ID
		return err
	})
	if err != nil {
		return claudehub.Suggestion{}, claudehub.Prompt{}, err
	}
	return s, prompt, nil
}

// DeclineSuggestion says no to a suggestion, with a word on it or without.
func (f *Fleet) DeclineSuggestion(ctx context.Context, p claudehub.PersonID, id claudehub.SuggestionID, why string) (claudehub.Suggestion, error) {
	why = strings.TrimSpace(why)
	if !utf8.ValidString(why) || strings.ContainsRune(why, 0) || utf8.RuneCountInString(why) > maxWhy {
		return claudehub.Suggestion{}, claudehub.Errorf(claudehub.Invalid, "The word on declining is text of at most %d characters.", maxWhy)
	}
	return f.answer(ctx, p, id, "suggestion.decline", ofCreator, func(_ *decision, s *claudehub.Suggestion) error {
		s.State, s.Why = claudehub.SuggestionDeclined, why
		return nil
	})
}

// WithdrawSuggestion takes one's own suggestion back.
func (f *Fleet) WithdrawSuggestion(ctx context.Context, p claudehub.PersonID, id claudehub.SuggestionID) (claudehub.Suggestion, error) {
	return f.answer(ctx, p, id, "suggestion.withdraw", ofAuthor, func(_ *decision, s *claudehub.Suggestion) error {
		s.State = claudehub.SuggestionWithdrawn
		return nil
	})
}

func ofCreator(_ claudehub.PersonID, a claudehub.Access, _ claudehub.Suggestion) error {
	return policy.Own(a)
}

func ofAuthor(p claudehub.PersonID, _ claudehub.Access, s claudehub.Suggestion) error {
	return policy.Withdraw(p, s)
}

// answer ends an open suggestion, once. To whoever may not see its Session it is not there.
func (f *Fleet) answer(ctx context.Context, p claudehub.PersonID, id claudehub.SuggestionID, action string, may func(claudehub.PersonID, claudehub.Access, claudehub.Suggestion) error,
	fn func(*decision, *claudehub.Suggestion) error) (claudehub.Suggestion, error) {
	if !parses(claudehub.ParseSuggestionID(string(id))) {
		return claudehub.Suggestion{}, errNoSuggestion
	}
	s, err := f.st.Read().Suggestion(ctx, id)
	if err != nil {
		return claudehub.Suggestion{}, absent(err, errNoSuggestion)
	}
	found, a, err := f.find(ctx, p, s.Session)
	if err != nil {
		return claudehub.Suggestion{}, absent(err, errNoSuggestion)
	}
	if err := may(p, a, s); err != nil {
		return claudehub.Suggestion{}, err
	}
	ctx = asActor(ctx, p)
	err = f.decideOn(ctx, found.Runner, s.Session, func(d *decision) (err error) {
		if s, err = d.q.Suggestion(ctx, id); err != nil {
			return absent(err, errNoSuggestion)
		}
		if s.State != claudehub.SuggestionOpen {
			return claudehub.Errorf(claudehub.Conflict, "This suggestion was answered already: it is %s.", s.State)
		}
		if err := fn(d, &s); err != nil {
			return err
		}
		s.Updated = d.now
		d.suggestions = append(d.suggestions, s)
		if err := d.q.SetSuggestion(ctx, s); err != nil {
			return err
		}
		if err := d.commit(ctx); err != nil {
			return err
		}
		d.tell("session", string(s.Session))
		return f.note(ctx, d.q, action, string(id), d.detail)
	})
	if err != nil {
		return claudehub.Suggestion{}, absent(err, errNoSuggestion)
	}
	return s, nil
}
