package main

import (
	"context"
	"fmt"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

// recovery measures from kill -9 of the Hub, which is started again at once, to the Runner being linked and having done
// what was asked for right after that start; and to a key's echo in a terminal that was opened anew.
func (b *bench) recovery(ctx context.Context) (results []result, err error) {
	r, done, err := b.shellRig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	s, err := r.NewSession(ctx, "bench", "")
	if err != nil {
		return nil, err
	}
	// The other one sleeps: to archive it and take it back are changes that the Runner carries out at once.
	other, err := r.NewSession(ctx, "other", "")
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, r, other.ID); err != nil {
		return nil, err
	}
	var linked, echoed, started samples
	for i := range b.pick(9, 3) {
		if err := recoverOnce(ctx, r, s.ID, other.ID, i, 0, &started, &linked, &echoed); err != nil {
			return nil, err
		}
	}
	var away, ownStart samples
	for i := range b.pick(3, 1) {
		if err := recoverOnce(ctx, r, s.ID, other.ID, len(linked)+i, awayTime, &ownStart, &away, &samples{}); err != nil {
			return nil, err
		}
	}
	const base = "the Hub's own start"
	return []result{
		timing("recover-linked", "Hub kill -9 → Runner linked and reconciled", linked, 50).against(base, started.median()).budget(5000, 2000).
			noted("worst %s ms", figure(linked.at(99))),
		timing("recover-echo", "Hub kill -9 → a key's echo in the browser", echoed, 50).against(base, started.median()).budget(5000, 2000).
			noted("worst %s ms", figure(echoed.at(99))),
		timing("recover-away", "Hub away for 10 s, back → Runner linked and reconciled", away, 50).against(base, ownStart.median()).
			noted("worst %s ms; the Runner tries at longer and longer intervals", figure(away.at(99))),
	}, nil
}

// awayTime is how long a Hub stays away that does not come back at once.
const awayTime = 10 * time.Second

func recoverOnce(ctx context.Context, r *rig.Rig, id, other claudehub.SessionID, round int, away time.Duration, started, linked, echoed *samples) error {
	from := time.Now() // when it is killed, or comes back
	if err := r.KillHub(); err != nil {
		return err
	}
	if away > 0 {
		if err := pause(ctx, away); err != nil {
			return err
		}
		from = time.Now()
	}
	if err := r.StartHub(ctx); err != nil {
		return err
	}
	*started = append(*started, time.Since(from))
	change := [2]string{"/archive", "/unarchive"}[round%2]
	var asked claudehub.Session
	if err := r.Post(ctx, "/api/sessions/"+string(other)+change, struct{}{}, &asked); err != nil {
		return err
	}
	done := func(s claudehub.Session) bool { return s.Observed.Generation >= asked.Generation }
	if _, err := r.Await(ctx, other, done); err != nil {
		return err
	}
	linkedAgain := func(m claudehub.Runner) bool { return linkUp(m) && m.Link.Since.After(from) }
	if _, err := r.AwaitRunner(ctx, linkedAgain); err != nil {
		return err
	}
	up := func(s claudehub.Session) bool {
		return s.Observed.SandboxLink.State == claudehub.LinkUp && rig.Awake(s)
	}
	if _, err := r.Await(ctx, id, up); err != nil {
		return err
	}
	*linked = append(*linked, time.Since(from))
	t, stop, err := sit(ctx, r, id, 0)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := t.Screen(ctx); err != nil {
		return err
	}
	if err := t.Keys(ctx, fmt.Sprintf("echo back-%d'-'again\r", round)); err != nil {
		return err
	}
	if err := t.Sees(ctx, fmt.Sprintf("back-%d-again", round)); err != nil {
		return err
	}
	*echoed = append(*echoed, time.Since(from))
	return nil
}
