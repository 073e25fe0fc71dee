package fleet

import (
	"context"
	"time"

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

// asPerson is a decision that a person makes, who has to be allowed to drive.
func (f *Fleet) asPerson(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, fn func(*decision) error) (claudehub.Session, error) {
	return f.decide(ctx, id, func(d *decision) error {
		if err := mayDrive(p, d.s.Session); err != nil {
			return err
		}
		return fn(d)
	})
}

// decide runs a decision and, once it is stored, tells who has to know.
func (f *Fleet) decide(ctx context.Context, id claudehub.SessionID, fn func(*decision) error) (claudehub.Session, error) {
	found, err := f.st.Read().Session(ctx, id) // for its Runner, which never changes
	if err != nil {
		return claudehub.Session{}, absent(err, errNoSession)
	}
	d := &decision{}
	err = f.st.Write(ctx, func(q store.Q) error {
		*d = decision{q: q, now: f.now()}
		if d.r, err = q.LockRunner(ctx, found.Runner); err != nil {
			return err
		}
		if d.s, err = q.Session(ctx, id); err != nil {
			return absent(err, errNoSession)
		}
		if err := fn(d); err != nil {
			return err
		}
		return d.commit(ctx)
	})
	if err != nil {
		return claudehub.Session{}, err
	}
	f.announce(d)
	return d.s.Session, nil
}

func (f *Fleet) announce(d *decision) {
	if !d.changed {
		return
	}
	for _, p := range d.prompts {
		f.promptChanged(d.s.Creator, p)
	}
	f.sessionChanged(d.s.Session)
	f.nudge(d.s.Runner)
}
