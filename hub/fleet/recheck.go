package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	recheckLimit   = time.Minute     // for one person
	claimLife      = 2 * time.Minute // more than recheckLimit: a Hub that was killed leaves a claim behind
	recheckBatch   = 200
	recheckAtOnce  = 4
	maxRecheckTick = 15 * time.Second
	minBackoff     = 15 * time.Second
	maxBackoff     = 5 * time.Minute
)

// recheckTick is how often people are looked for who have to be asked about. They are asked two ticks early, so that
// whoever is removed at GitHub has lost access when the interval is over.
func (f *Fleet) recheckTick() time.Duration {
	return min(max(f.recheck/20, 10*time.Millisecond), maxRecheckTick)
}

// recheckLoop asks GitHub, again and again, whether those who are in may still be. Only a "no" of GitHub's own changes
// anything; while GitHub is away it is left alone, for longer each time.
func (f *Fleet) recheckLoop(ctx context.Context) {
	tick := time.NewTicker(f.recheckTick())
	defer tick.Stop()
	var b backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if b.away(f.now()) {
			continue
		}
		if err := f.recheckDue(ctx, &b); err != nil && ctx.Err() == nil {
			f.log.Error("people are not rechecked", "err", err)
		}
	}
}

// backoff is how long GitHub is left alone.
type backoff struct {
	mu    sync.Mutex
	times int
	until time.Time
}

// outage returns until when to leave GitHub alone.
func (b *backoff) outage(now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !now.Before(b.until) { // several that were asked at once are one outage
		b.until = now.Add(min(minBackoff<<min(b.times, 10), maxBackoff))
		b.times++
	}
	return b.until
}

func (b *backoff) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times = 0
}

func (b *backoff) away(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Before(b.until)
}

// recheckDue asks about everybody who is due, until GitHub does not answer.
func (f *Fleet) recheckDue(ctx context.Context, b *backoff) error {
	for {
		now := f.now()
		due, err := f.st.Read().DuePeople(ctx, now.Add(2*f.recheckTick()-f.recheck), now, recheckBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(recheckAtOnce)
		for _, p := range due {
			g.Go(func() error {
				if b.away(f.now()) {
					return nil
				}
				return f.recheckPerson(ctx, p, b)
			})
		}
		if err := g.Wait(); err != nil || b.away(f.now()) || len(due) < recheckBatch {
			return err
		}
	}
}

// recheckPerson asks about one person, unless another Hub does. Its error is of the database alone.
func (f *Fleet) recheckPerson(ctx context.Context, p claudehub.Person, b *backoff) error {
	ctx, cancel := context.WithTimeout(ctx, recheckLimit)
	defer cancel()
	now := f.now()
	var claim store.Claim
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		claim, err = q.ClaimPerson(ctx, p, now.Add(2*f.recheckTick()-f.recheck), now, now.Add(claimLife))
		return err
	})
	if err != nil {
		return absentIsFine(err)
	}
	verdict, err := f.ask(ctx, claim)
	if err == nil {
		b.answered()
		// What was found out is stored, also when the Hub ends meanwhile.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
		defer cancel()
		return f.endClaim(ctx, claim, verdict, now)
	}
	until := f.now() // whoever ends now leaves the person to the next Hub
	if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		until = b.outage(until)
		// GitHub's limits are per person: one who reached theirs does not put off the others.
		if o, ok := github.AsOutage(err); ok && o.RetryAfter > 0 {
			until = later(until, f.now().Add(o.RetryAfter))
		}
		f.log.Warn("GitHub cannot say whether a person may still be here; nothing changes", "person", p.ID, "again", until, "err", err)
	}
	put, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
	defer cancel()
	return absentIsFine(f.st.Write(put, func(q store.Q) error { return q.PutOffClaim(put, claim, until) }))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// ask asks GitHub about a person. A token that is renewed by it is kept before it is used, while the claim holds.
func (f *Fleet) ask(ctx context.Context, c store.Claim) (github.Verdict, error) {
	token, ok, err := f.githubToken(ctx, f.st.Read(), c.Person)
	if err != nil {
		return github.Verdict{}, err
	}
	if !ok { // with the keyset their token was lost: nothing can be asked, and they have to sign in again
		return github.Verdict{Reason: github.TokenEnded}, nil
	}
	return f.github.Recheck(ctx, c.GitHub, token, f.allow, func(ctx context.Context, fresh github.Token) error {
		sealed, err := f.sealToken(c.Person, fresh)
		if err != nil {
			return err
		}
		return f.st.Write(ctx, func(q store.Q) error { return q.KeepClaimed(ctx, c, sealed) })
	})
}
