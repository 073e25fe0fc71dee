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
	seq, sessions, err := f.desired(ctx, id, 0)
	return wire.Snapshot{Seq: seq, Sessions: sessions}, err
}

// DesiredSince is what changed after a number of the Runner's log, in its order. Expired says that the number is not
// from this log (the Hub's database was restored from a backup): the Runner then needs a Snapshot.
func (f *Fleet) DesiredSince(ctx context.Context, id claudehub.RunnerID, seq int64) ([]wire.DesiredSession, error) {
	now, sessions, err := f.desired(ctx, id, seq)
	if err != nil {
		return nil, err
	}
	if seq < 0 || seq > now {
		return nil, claudehub.Errorf(claudehub.Expired, "The Hub's log of this Runner ends at %d, and not at %d or later.", now, seq)
	}
	return sessions, nil
}

func (f *Fleet) desired(ctx context.Context, id claudehub.RunnerID, after int64) (seq int64, out []wire.DesiredSession, err error) {
	if err := f.expireDue(ctx); err != nil {
		return 0, nil, err
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
		seq, out = r.Seq, desiredSessions(sessions, prompts)
		return nil
	})
	return seq, out, err
}

func desiredSessions(sessions []store.Session, prompts []claudehub.Prompt) []wire.DesiredSession {
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
		out = append(out, wire.DesiredSession{Seq: s.Seq, ID: s.ID, Creator: s.Creator, Title: s.Title, Source: s.Source,
			Desired: s.Desired, Model: s.Model, Effort: s.Effort, Generation: s.Generation, Conversation: s.Conversation,
			StopAt: s.StopAt, Prompts: queue})
	}
	return out
}
