package fleet

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// usable refuses a Session that is put away.
func (d *decision) usable() error {
	switch d.s.Desired {
	case claudehub.WantArchived:
		return errArchived
	case claudehub.WantDeleted:
		return errDeleting
	}
	return nil
}

// Wake asks for a Session to be awake.
func (f *Fleet) Wake(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.want(ctx, p, id, "session.wake", claudehub.WantAwake)
}

// Sleep asks for a Session to be asleep.
func (f *Fleet) Sleep(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.want(ctx, p, id, "session.sleep", claudehub.WantAsleep)
}

func (f *Fleet) want(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, action string, to claudehub.Desired) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, action, func(d *decision) error {
		if err := d.usable(); err != nil {
			return err
		}
		if to == claudehub.WantAsleep {
			if err := d.claudeOnly(); err != nil {
				return err
			}
		}
		d.want(to)
		return nil
	})
}

// want changes what is desired. Asking for what is desired already counts only when it has failed: it is tried again.
func (d *decision) want(to claudehub.Desired) {
	failed := d.s.Observed.Phase == claudehub.PhaseFailed && !d.pending()
	if d.s.Desired != to || failed {
		d.s.Desired = to
		d.desire()
	}
}

// Archive puts a Session away. It stops, and everything it has is kept; of a look inside, nothing is.
func (f *Fleet) Archive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.archive", func(d *decision) error {
		if d.s.Desired == claudehub.WantDeleted {
			return errDeleting
		}
		d.want(claudehub.WantArchived)
		return nil
	})
}

// Unarchive takes a Session back, asleep.
func (f *Fleet) Unarchive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.unarchive", func(d *decision) error {
		switch {
		case d.s.Desired == claudehub.WantDeleted:
			return errDeleting
		case d.s.Desired != claudehub.WantArchived:
			return nil
		case d.s.Kind == claudehub.KindLook:
			return errLookOver
		}
		if err := roomForSession(ctx, d.q, d.s.Runner); err != nil {
			return err
		}
		d.want(claudehub.WantAsleep)
		return nil
	})
}

// Delete ends a Session for good, once it is archived. It stays in the lists, as on its way, until its Runner has removed
// everything; a Runner that is away does that when it comes back.
func (f *Fleet) Delete(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.delete", func(d *decision) error {
		if !putAway(d.s.Desired) {
			return claudehub.Errorf(claudehub.Conflict, "Only an archived Session can be deleted. Archive it first: deleting ends its workspace and its conversation for good.")
		}
		d.want(claudehub.WantDeleted)
		return nil
	})
}

// Retry tries what failed again, unchanged.
func (f *Fleet) Retry(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("do", "retry")
		switch {
		case d.pending():
			return nil // the Runner tries anyway, as soon as it looks
		case d.s.Observed.Phase != claudehub.PhaseFailed:
			return claudehub.Errorf(claudehub.Conflict, "There is nothing to try again: this Session has not failed.")
		}
		d.desire()
		return nil
	})
}

// CancelStep gives up the step that runs; the Session shall then be asleep.
func (f *Fleet) CancelStep(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("do", "cancel step")
		if err := d.usable(); err != nil {
			return err
		}
		if err := d.claudeOnly(); err != nil {
			return err
		}
		switch phase := d.s.Observed.Phase; {
		case phase == claudehub.PhasePreparing, phase == claudehub.PhaseStarting, phase == claudehub.PhaseStopping,
			phase == claudehub.PhaseNew, d.pending():
			if d.s.Desired != claudehub.WantAsleep {
				d.want(claudehub.WantAsleep)
			}
			return nil
		}
		return claudehub.Errorf(claudehub.Conflict, "There is nothing to cancel: no step runs in this Session.")
	})
}

// NewConversation starts a new conversation in place of one whose transcript is lost.
func (f *Fleet) NewConversation(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("do", "new conversation")
		fail := d.s.Observed.Failure
		if err := d.usable(); err != nil {
			return err
		}
		switch {
		case fail == nil || fail.Choice != "new_conversation":
			return claudehub.Errorf(claudehub.Conflict, "This Session has its conversation. Make a new Session for another one.")
		case d.pending():
			return nil // chosen already
		}
		d.s.Conversation++
		d.s.Desired = claudehub.WantAwake
		d.desire()
		return nil
	})
}

// Stop interrupts Claude's Turn and cancels all prompts that Claude does not have yet.
func (f *Fleet) Stop(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("do", "stop")
		if err := d.claudeOnly(); err != nil {
			return err
		}
		open, err := d.q.OpenPrompts(ctx, id)
		if err != nil {
			return err
		}
		for _, prompt := range open {
			if prompt.State == claudehub.PromptAccepted {
				continue // the Turn that is interrupted; the Runner says how it ends
			}
			if err := d.setPrompt(ctx, prompt, claudehub.PromptCancelled, "You pressed Stop before Claude had it."); err != nil {
				return err
			}
		}
		// Each Stop is later than the one before, also when the clock was set back.
		d.s.StopAt = latest(d.now, d.s.StopAt.Add(time.Microsecond))
		d.changed = true
		return nil
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
