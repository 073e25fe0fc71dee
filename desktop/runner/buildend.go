package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// collectTime is how often images that nothing needs are collected by rule.
const collectTime = time.Hour

// gone has a build forgotten that the Hub has no row for. One that is under way goes on: a Session may wait for it.
func (b *builds) gone(id claudehub.BuildID) {
	b.mu.Lock()
	b.unknown = append(b.unknown, id)
	if len(b.ignored) >= maxBuilds {
		clear(b.ignored) // they are told once more, and then not
	}
	b.ignored[id] = true
	delete(b.dirty, id)
	b.mu.Unlock()
	b.wake.set()
}

// tidy forgets builds that the Hub does not know, that ended long ago, and the oldest of many; and notes what the builder
// knows better: a kept Sandbox whose time is over.
func (b *builds) tidy(ctx context.Context) {
	b.mu.Lock()
	forget := slices.Concat(b.unknown, b.expiredLocked())
	b.unknown = nil
	b.mu.Unlock()
	for _, id := range forget {
		b.forget(ctx, id)
	}
	for _, o := range b.maker.Past() {
		b.mu.Lock()
		if k := b.known[o.ID]; k != nil && !k.running && !b.wakes[o.ID] && (!k.o.State.Final() || !k.o.Kept.Equal(o.Kept)) {
			b.noteLocked(ctx, o)
		}
		b.mu.Unlock()
	}
}

func (b *builds) forget(ctx context.Context, id claudehub.BuildID) {
	b.mu.Lock()
	if k := b.known[id]; k != nil {
		if k.forget != nil {
			k.forget()
		}
		k.over = true
		if !k.running {
			delete(b.known, id)
		}
	}
	delete(b.dirty, id)
	b.mu.Unlock()
	if err := b.maker.Forget(ctx, id); err != nil {
		b.log.Warn("what a build left is not removed", "build", id, "error", err)
	}
	if err := b.state.ForgetBuild(ctx, id); err != nil && ctx.Err() == nil {
		b.log.Error("build not forgotten", "build", id, "error", err)
	}
}

func (b *builds) expiredLocked() (ids []claudehub.BuildID) {
	var ended []*build
	for _, k := range b.known {
		if k.o.State.Final() && !k.running && k.o.Kept.Before(time.Now()) {
			ended = append(ended, k)
		}
	}
	slices.SortFunc(ended, func(a, z *build) int { return cmp.Compare(a.id, z.id) }) // an id rises with time
	for i, k := range ended {
		if len(ended)-i > maxBuilds || time.Since(endOf(k.o)) > keepBuild {
			ids = append(ids, k.id)
		}
	}
	return ids
}

func endOf(o wire.ObservedBuild) time.Time {
	for _, s := range slices.Backward(o.Steps) {
		if !s.Ended.IsZero() {
			return s.Ended
		}
	}
	return time.Now()
}

// release gives up the Sandbox that a failed build left.
func (b *builds) release(ctx context.Context, id claudehub.BuildID) error {
	defer b.wake.set()
	return b.maker.ReleaseKept(ctx, id)
}

// collectLoop collects images that nothing needs, by the builder's rule, for as long as Sessions say what they need.
func (r *Runner) collectLoop(ctx context.Context) error {
	for {
		newSignal().wait(ctx, collectTime)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to end
		}
		freed, err := r.builds.maker.Collect(ctx, r.needsHash)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("old images not collected", "error", err)
		}
		if freed > 0 {
			r.log.Info("old images collected", "bytes", freed)
			r.storage.set()
		}
	}
}

// needsHash tells whether a Session is to run on what a recipe's hash names.
func (r *Runner) needsHash(hash string) bool {
	return slices.ContainsFunc(r.all(), func(s *session) bool {
		d := s.wanted()
		recipe, _ := recipeOf(d)
		return d.Desired != claudehub.WantDeleted && d.Desired != claudehub.WantArchived && recipe.Hash() == hash
	})
}
