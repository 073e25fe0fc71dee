package fleet

import (
	"context"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Nudge is the kind that says: desired state changed, look at DesiredSince. A stream looks there at each ping too, since
// a message of the bus can be lost.
const Nudge = "nudge"

// Listen calls fn, from one goroutine, with what a Runner's stream has to send: kinds wire.EventInput, EventResize,
// EventAttach, EventDetach and EventSuperseded with their JSON; Nudge; and bus.Cut as the last, on which the stream has
// to end. EventSuperseded only comes to the instance that it is for. To miss nothing: Listen, then AcquireLease, then
// Snapshot or DesiredSince.
func (f *Fleet) Listen(_ context.Context, id claudehub.RunnerID, instance string, fn func(kind string, data []byte)) (stop func(), err error) {
	subject, err := wire.RunnerSubject(id)
	if err != nil {
		return nil, err
	}
	return f.bus.Subscribe(subject, func(kind string, data []byte) {
		if kind == kindSuperseded {
			var mine bool
			if data, mine = superseded(data, instance); !mine {
				return
			}
		}
		fn(kind, data)
	})
}

// Snapshot is all that a Runner has to know.
func (f *Fleet) Snapshot(ctx context.Context, id claudehub.RunnerID) (wire.Snapshot, error) {
	seq, d, err := f.desired(ctx, id, -1)
	if err != nil {
		return wire.Snapshot{}, err
	}
	return wire.Snapshot{Seq: seq, Sessions: d.Sessions, Machine: *d.Machine}, nil
}

// Desired is what changed in a Runner's log: Sessions in the order of their numbers, and the machine when that changed.
type Desired struct {
	Sessions []wire.DesiredSession
	Machine  *wire.DesiredMachine
}

// DesiredSince is what changed after a number of the Runner's log, in its order. Expired says that the number is not
// from this log (the Hub's database was restored from a backup): the Runner then needs a Snapshot.
func (f *Fleet) DesiredSince(ctx context.Context, id claudehub.RunnerID, seq int64) (Desired, error) {
	now, d, err := f.desired(ctx, id, max(seq, 0))
	if err != nil {
		return Desired{}, err
	}
	if seq < 0 || seq > now {
		return Desired{}, claudehub.Errorf(claudehub.Expired, "The Hub's log of this Runner ends at %d, and not at %d or later.", now, seq)
	}
	return d, nil
}

// desired is what has a number above after; all of it for a negative one.
func (f *Fleet) desired(ctx context.Context, id claudehub.RunnerID, after int64) (seq int64, out Desired, err error) {
	if err := f.expireDue(ctx); err != nil {
		return 0, Desired{}, err
	}
	err = f.st.View(ctx, func(q store.Q) error {
		r, err := q.Runner(ctx, id)
		if err != nil {
			return absent(err, errNoRunner)
		}
		sessions, err := q.SessionsSince(ctx, id, after)
		if err != nil {
			return err
		}
		prompts, err := q.OpenPromptsOf(ctx, id, after)
		if err != nil {
			return err
		}
		seq = r.Seq
		if r.MachineSeq > after {
			m, err := desiredMachine(ctx, q, r)
			if err != nil {
				return err
			}
			out.Machine = &m
		}
		out.Sessions, err = desiredSessions(ctx, q, sessions, prompts)
		return err
	})
	return seq, out, err
}

func desiredSessions(ctx context.Context, q store.Q, sessions []store.Session, prompts []claudehub.Prompt) ([]wire.DesiredSession, error) {
	variables, err := marksOf(ctx, q, sessions)
	if err != nil {
		return nil, err
	}
	environments := newRecipes(q)
	of := map[claudehub.SessionID][]claudehub.Prompt{}
	for _, p := range prompts {
		of[p.Session] = append(of[p.Session], p)
	}
	out := make([]wire.DesiredSession, 0, len(sessions))
	for _, s := range sessions {
		queue := of[s.ID]
		if queue == nil {
			queue = []claudehub.Prompt{} // an empty list in JSON too
		}
		d := wire.DesiredSession{Seq: s.Seq, ID: s.ID, Creator: s.Creator, By: s.DesiredBy, Title: s.Title, Source: s.Source,
			Desired: s.Desired, Model: s.Model, Effort: s.Effort, Generation: s.Generation, Conversation: s.Conversation,
			StopAt: s.StopAt, Prompts: queue, Kind: s.Kind, Build: s.Build, Forwards: s.Forwards, Variables: variables[s.Creator].of(s)}
		if s.Environment != nil {
			e, err := environments.of(ctx, *s.Environment)
			if err != nil {
				return nil, err
			}
			d.Environment = &e
		}
		out = append(out, d)
	}
	return out, nil
}
