package runner

import (
	"context"
	"math/rand/v2"
	"time"
)

// signal wakes one waiting goroutine. Signals while nobody waits become one.
type signal struct{ c chan struct{} }

func newSignal() *signal { return &signal{make(chan struct{}, 1)} }

func (s *signal) set() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// wait returns at the next set, after at most the given time, or with ctx.
func (s *signal) wait(ctx context.Context, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-s.c:
	case <-t.C:
	case <-ctx.Done():
	}
}

// pause waits longer after each failure, up to maxWait, each time by a random part so that Runners do not come back
// all at once. hurry ends the pause that is under way, or the next one.
type pause struct {
	next time.Duration
	cut  *signal
}

const (
	minWait = 100 * time.Millisecond
	maxWait = 3 * time.Second
)

func newPause() *pause { return &pause{minWait, newSignal()} }

func (b *pause) reset() { b.next = minWait }

func (b *pause) hurry() { b.cut.set() }

func (b *pause) sleep(ctx context.Context) {
	d := b.next/2 + rand.N(b.next)
	b.next = min(2*b.next, maxWait)
	b.cut.wait(ctx, d)
}
