package fleet

import (
	"context"
	"strconv"
	"time"

	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Sweep is one tick of Run, for tests that have their own clock.
func (f *Fleet) Sweep(ctx context.Context) { f.sweep(ctx) }

// MaxBacklog is how many changes may wait for one page.
const MaxBacklog = maxBacklog

// Tidy is one hour of Run.
func (f *Fleet) Tidy(ctx context.Context) { f.tidy(ctx) }

// MaxRefusers is how many addresses and actions are told apart.
const MaxRefusers = maxRefusers

// Note is a deed that does nothing but being written down.
func (f *Fleet) Note(ctx context.Context, action, target string, detail map[string]string) error {
	return f.st.Write(ctx, func(q store.Q) error { return f.note(ctx, q, action, target, detail) })
}

// NoteIn notes n lines in one transaction that ends with an error, or well.
func (f *Fleet) NoteIn(ctx context.Context, n int, end error) error {
	return f.st.Write(ctx, func(q store.Q) error {
		for i := range n {
			if err := f.note(ctx, q, "many.do", strconv.Itoa(i), nil); err != nil {
				return err
			}
		}
		return end
	})
}

// KeepToken stores a GitHub token of a person.
func (f *Fleet) KeepToken(ctx context.Context, p claudehub.PersonID, t github.Token) error {
	sealed, err := f.sealToken(p, t)
	if err != nil {
		return err
	}
	return f.st.Write(ctx, func(q store.Q) error { return q.SetCredential(ctx, store.Credential{Person: p, Sealed: sealed}) })
}

// ErrNoLink is what every link that lets nobody in is answered with.
var ErrNoLink = errNoLink

// RecheckDue asks once about everybody who is due.
func (f *Fleet) RecheckDue(ctx context.Context, b *Backoff) error { return f.recheckDue(ctx, b) }

// Backoff is how long GitHub is left alone.
type Backoff = backoff

// Away tells whether GitHub is left alone.
func (b *Backoff) Away(now time.Time) bool { return b.away(now) }

// ClaimLife is how long a Hub that was killed keeps the others from asking.
const ClaimLife = claimLife

// GitHubToken is the token to ask with for a person.
func (f *Fleet) GitHubToken(ctx context.Context, p claudehub.PersonID) (github.Token, bool, error) {
	return f.githubToken(ctx, f.st.Read(), p)
}

// UserCode reads what a person typed, and NewUserCode makes what they are to type.
var (
	UserCode    = userCode
	NewUserCode = newUserCode
)

// The bounds of devices.
const (
	MaxDevices     = maxDevices
	MaxDevicesFrom = maxDevicesFrom
)

// Mute is what a Hub is after kill -9: it says nothing more of who is present.
func (f *Fleet) Mute() {
	f.presence.mu.Lock()
	defer f.presence.mu.Unlock()
	f.presence.beat = f.now().Add(1000 * time.Hour)
	clear(f.presence.here)
}

// Present is Enter and leave without the database.
func (f *Fleet) Present(owner claudehub.PersonID, id claudehub.SessionID, p claudehub.Face, n int) {
	f.present(owner, id, p, n)
}

// TouchNoted changes a Session, with a line in the audit log or without.
func (f *Fleet) TouchNoted(ctx context.Context, id claudehub.SessionID, noted bool) error {
	return f.st.Write(ctx, func(q store.Q) error {
		if err := q.SetObserved(ctx, id, claudehub.Observed{}, f.now()); err != nil || !noted {
			return err
		}
		return f.note(ctx, q, "thing.do", string(id), map[string]string{"prompt": "pro_x"})
	})
}
