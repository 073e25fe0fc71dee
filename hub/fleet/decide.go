package fleet

import (
	"context"
	"slices"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// decision is one transaction that changes what is desired of one Session. While it lasts, nobody else changes any
// Session of the same Runner: so the numbers of the Runner's log are committed in their order.
type decision struct {
	q       store.Q
	r       store.Runner
	s       store.Session
	now     time.Time
	changed bool
	prompts []claudehub.Prompt // that changed

	shared      []claudehub.PersonID // with whom the Session is shared now, and was not, or the other way; "" for many
	suggestions []claudehub.Suggestion
	detail      map[string]string // for the audit log
	unseen      bool              // nobody is shown the Session as it is now
}

// desire marks a change that the Runner has to act on.
func (d *decision) desire() {
	d.s.Generation++
	d.changed = true
}

// pending tells that the Runner has not acted on the last change yet. A button pressed twice must not count twice.
func (d *decision) pending() bool { return d.s.Observed.Generation < d.s.Generation }

// setPrompt moves a prompt on, if claudehub's rules allow it.
func (d *decision) setPrompt(ctx context.Context, p claudehub.Prompt, to claudehub.PromptState, why string) error {
	if !p.State.Next(to) {
		return nil
	}
	p.State, p.Why, p.Updated = to, why, d.now
	if err := d.q.SetPromptState(ctx, p); err != nil {
		return err
	}
	d.prompts = append(d.prompts, p)
	d.changed = true
	return nil
}

// commit gives the Session its next number, when something changed.
func (d *decision) commit(ctx context.Context) error {
	if !d.changed {
		return nil
	}
	seq, err := d.q.NextSeq(ctx, d.s.Runner)
	if err != nil {
		return err
	}
	d.s.Seq, d.s.Updated = seq, d.now
	return d.q.SetDesired(ctx, d.s)
}

// tell puts something into the audit log's line of this decision.
func (d *decision) tell(key, value string) {
	if d.detail == nil {
		d.detail = map[string]string{}
	}
	d.detail[key] = value
}

// did tells whether the decision is one that is written down: asking for what is so already is none.
func (d *decision) did() bool { return d.changed || len(d.shared) > 0 || len(d.suggestions) > 0 }

// asPerson is a decision that a person makes, who has to be allowed to drive. The audit log has it under its name.
func (f *Fleet) asPerson(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, action string, fn func(*decision) error) (claudehub.Session, error) {
	return f.by(ctx, p, id, action, policy.Drive, fn)
}

// asCreator is a decision that is the Creator's alone, and does not concern the Runner.
func (f *Fleet) asCreator(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, action string, fn func(*decision) error) (claudehub.Session, error) {
	return f.by(ctx, p, id, action, policy.Own, func(d *decision) error {
		switch {
		case d.s.Desired == claudehub.WantDeleted:
			return errDeleting
		case !shareable(d.s.Session):
			return errLookUnshared
		}
		return fn(d)
	})
}

// steered tells that what the Runner is to make so has changed. Prompts name their authors themselves.
func steered(a, b store.Session) bool {
	return a.Generation != b.Generation || a.Desired != b.Desired || a.Model != b.Model || a.Effort != b.Effort ||
		a.Conversation != b.Conversation || !a.StopAt.Equal(b.StopAt) || a.Environment != b.Environment || !slices.Equal(a.Forwards, b.Forwards)
}

// by runs a decision for who may make it, and returns the Session as that person sees it. What they have of it is found
// out before, since that may take GitHub's word; for who made it, which is what counts here, that never changes.
func (f *Fleet) by(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, action string, may func(claudehub.Access) error, fn func(*decision) error) (claudehub.Session, error) {
	found, a, err := f.find(ctx, p, id)
	if err == nil {
		err = may(a)
	}
	if err != nil {
		return claudehub.Session{}, err
	}
	ctx = asActor(ctx, p)
	var out claudehub.Session
	err = f.decideOn(ctx, found.Runner, id, func(d *decision) error {
		before := d.s
		before.Forwards = slices.Clone(d.s.Forwards)
		if err := fn(d); err != nil {
			return err
		}
		if steered(before, d.s) {
			d.s.DesiredBy = p
		}
		if err := d.commit(ctx); err != nil {
			return err
		}
		if d.did() {
			if err := f.note(ctx, d.q, action, string(id), d.detail); err != nil {
				return err
			}
		}
		if d.unseen {
			return nil
		}
		out, err = f.showOne(ctx, d.q, a, d.s)
		return err
	})
	return out, err
}

// decide runs a decision that nobody in particular makes.
func (f *Fleet) decide(ctx context.Context, id claudehub.SessionID, fn func(*decision) error) error {
	found, err := f.st.Read().Session(ctx, id) // for its Runner, which never changes
	if err != nil {
		return absent(err, errNoSession)
	}
	return f.decideOn(ctx, found.Runner, id, func(d *decision) error {
		if err := fn(d); err != nil {
			return err
		}
		return d.commit(ctx)
	})
}

// decideOn runs a decision and, once it is stored, tells who has to know.
func (f *Fleet) decideOn(ctx context.Context, runner claudehub.RunnerID, id claudehub.SessionID, fn func(*decision) error) error {
	d := &decision{}
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		*d = decision{q: q, now: f.now()}
		if d.r, err = q.LockRunner(ctx, runner); err != nil {
			return err
		}
		if d.s, err = q.Session(ctx, id); err != nil {
			return absent(err, errNoSession)
		}
		return fn(d)
	})
	if err != nil {
		return err
	}
	f.announce(d)
	return nil
}

func (f *Fleet) announce(d *decision) {
	for _, s := range d.suggestions {
		f.suggestionChanged(d.s.Creator, s)
	}
	for _, p := range d.shared {
		f.sharingChanged(d.s.Session, p)
	}
	if !d.changed {
		return
	}
	for _, p := range d.prompts {
		f.promptChanged(d.s.Creator, p)
	}
	f.sessionChanged(d.s.Session)
	f.nudge(d.s.Runner)
}
