package fleet

import "context"

// Sweep is one tick of Run, for tests that have their own clock.
func (f *Fleet) Sweep(ctx context.Context) { f.sweep(ctx) }

// MaxBacklog is how many changes may wait for one page.
const MaxBacklog = maxBacklog

// Tidy is one hour of Run.
func (f *Fleet) Tidy(ctx context.Context) { f.tidy(ctx) }
