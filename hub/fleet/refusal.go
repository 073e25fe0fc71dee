package fleet

import (
	"context"
	"strconv"
	"sync"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	refusalWindow = time.Minute
	maxRefusals   = 10   // of one address and action in a window; the rest is counted
	maxRefusers   = 1000 // addresses and actions that are told apart in a window
	refusalLimit  = 5 * time.Second
)

// refusals bounds what strangers can make the audit log grow by.
type refusals struct {
	mu    sync.Mutex
	begun time.Time
	by    map[refusalKey]*refusalCount
}

type refusalKey struct{ address, action string }

type refusalCount struct{ written, more int }

// allow tells whether one more refusal may be written, and what earlier windows had too much of.
func (r *refusals) allow(k refusalKey, now time.Time) (ok bool, over map[refusalKey]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	over = r.closeLocked(now)
	if r.by == nil {
		r.begun, r.by = now, map[refusalKey]*refusalCount{}
	}
	c := r.by[k]
	if c == nil && len(r.by) >= maxRefusers {
		k.address = "" // a crowd: from here on all who are new count as one
		c = r.by[k]
	}
	if c == nil {
		c = &refusalCount{}
		r.by[k] = c
	}
	if c.written < maxRefusals {
		c.written++
		return true, over
	}
	c.more++
	return false, over
}

// close ends the window when its time is over.
func (r *refusals) close(now time.Time) map[refusalKey]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closeLocked(now)
}

func (r *refusals) closeLocked(now time.Time) map[refusalKey]int {
	if r.by == nil || now.Sub(r.begun) < refusalWindow && !now.Before(r.begun) {
		return nil
	}
	over := map[refusalKey]int{}
	for k, c := range r.by {
		if c.more > 0 {
			over[k] = c.more
		}
	}
	r.by = nil
	return over
}

// NoteRefusal writes into the audit log that something was refused, and why. Of one address and action at most ten a minute
// are written, and one line that counts the rest. What failed by itself (the database, an outage) is no refusal.
func (f *Fleet) NoteRefusal(ctx context.Context, action, target string, err error) {
	switch claudehub.CodeOf(err) {
	case "", claudehub.Internal, claudehub.Unavailable:
		return
	}
	ok, over := f.refused.allow(refusalKey{clip(actorOf(ctx).Address, maxAddress), clip(action, maxAuditText)}, f.now())
	if !ok && len(over) == 0 {
		return
	}
	// Who was refused may be gone; the line is written all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalLimit)
	defer cancel()
	failed := f.st.Write(ctx, func(q store.Q) error {
		if err := f.noteOver(ctx, q, over); err != nil || !ok {
			return err
		}
		return f.noteOutcome(ctx, q, claudehub.OutcomeRefused, action, target,
			map[string]string{"code": string(claudehub.CodeOf(err)), "why": claudehub.MessageOf(err)})
	})
	if failed != nil {
		f.log.Error("a refusal is not in the audit log", "action", action, "err", failed)
	}
}

func (f *Fleet) noteOver(ctx context.Context, q store.Q, over map[refusalKey]int) error {
	for k, n := range over {
		ctx := WithActor(ctx, Actor{Kind: claudehub.ActorNobody, Address: k.address})
		if err := f.noteOutcome(ctx, q, claudehub.OutcomeRefused, k.action, "", map[string]string{"more": strconv.Itoa(n)}); err != nil {
			return err
		}
	}
	return nil
}

// closeRefusals writes the counts of a window that is over; at the Hub's end, of any.
func (f *Fleet) closeRefusals(ctx context.Context, end bool) error {
	now := f.now()
	if end {
		now = now.Add(refusalWindow)
	}
	over := f.refused.close(now)
	if len(over) == 0 {
		return nil
	}
	return f.st.Write(ctx, func(q store.Q) error { return f.noteOver(ctx, q, over) })
}
