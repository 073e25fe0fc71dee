package runner

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// places bounds how many Sessions are being brought up at once, so that a machine that starts again with many of them
// gets the first ones up instead of all of them slowly.
type places struct{ sem *semaphore.Weighted }

func newPlaces(n int) *places { return &places{semaphore.NewWeighted(int64(n))} }

// tryTake takes a place that is free.
func (p *places) tryTake() (release func(), ok bool) {
	return func() { p.sem.Release(1) }, p.sem.TryAcquire(1)
}

func (p *places) take(ctx context.Context) (release func(), err error) {
	if err := p.sem.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { p.sem.Release(1) }, nil
}
