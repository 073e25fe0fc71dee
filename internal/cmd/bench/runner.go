package main

import (
	"context"
	"fmt"
)

const awakeSessions = 4

// runner measures the Runner's own memory with Sessions awake and nobody watching. What is in the Sandboxes is theirs.
func (b *bench) runner(ctx context.Context) (results []result, err error) {
	r, done, err := b.shellRig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	if _, err := r.AwaitRunner(ctx, linkUp); err != nil {
		return nil, err
	}
	if err := pause(ctx, idleTime); err != nil {
		return nil, err
	}
	without, err := resident(r.RunnerPID())
	if err != nil {
		return nil, err
	}
	for i := range awakeSessions {
		if _, err := r.NewSession(ctx, fmt.Sprint("bench ", i), ""); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, 2*idleTime); err != nil {
		return nil, err
	}
	with, err := resident(r.RunnerPID())
	if err != nil {
		return nil, err
	}
	return []result{
		result{Name: "runner-memory", What: fmt.Sprintf("Runner memory, %d Sessions awake", awakeSessions), Value: figure(with), Unit: "MB"}.
			against("the Runner without a Session", without).budget(80, 40),
	}, nil
}
