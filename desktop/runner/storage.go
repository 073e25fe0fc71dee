package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The storage is looked at every storageTime, and after what changes it, at most every storageRest.
const (
	storageTime  = 5 * time.Minute
	storageRest  = 5 * time.Second
	storageLimit = 2 * time.Minute
	reclaimLimit = 30 * time.Minute
	maxItems     = 50
)

// storageLoop shows what is on the machine's disk, and reclaims it when a person asks.
func (r *Runner) storageLoop(ctx context.Context) error {
	done, err := r.state.Reclaimed(ctx)
	if err != nil {
		return unlessOver(ctx, err)
	}
	for ctx.Err() == nil {
		r.mu.Lock()
		want := r.reclaim
		r.mu.Unlock()
		if want.Reclaim > done.Request {
			done = r.reclaimNow(ctx, want)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // half of it: the next process does it again
			}
			if err := r.state.SaveReclaimed(ctx, done); err != nil {
				r.log.Error("not noted what was reclaimed", "error", err)
			}
		}
		found := r.measureStorage(ctx)
		found.Reclaimed = done
		r.mu.Lock()
		r.stored = found
		r.mu.Unlock()
		r.status.wake.set()
		newSignal().wait(ctx, r.parts.storageRest)
		r.storage.wait(ctx, storageTime)
	}
	return nil
}

// measureStorage adds up what images and leftovers hold. What Sessions do is in their own figures.
func (r *Runner) measureStorage(ctx context.Context) claudehub.Storage {
	ctx, cancel := context.WithTimeout(ctx, storageLimit)
	defer cancel()
	var st claudehub.Storage
	items, err := r.builds.maker.Storage(ctx, r.madeOf)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("images not measured", "error", err)
	}
	for _, name := range r.strays() {
		bytes, err := diskUsage(ctx, sessionsDir(r.cfg.Dir)+"/"+name)
		if err != nil {
			continue // it goes, or is looked at again
		}
		items = append(items, claudehub.StorageItem{Kind: itemUnowned, Name: name, Bytes: bytes})
	}
	for _, i := range items {
		if i.Kind == itemImage || i.Kind == itemBase {
			st.Images += i.Bytes
		}
		if i.Sessions == 0 {
			st.Reclaimable += i.Bytes
		}
	}
	slices.SortFunc(items, func(a, b claudehub.StorageItem) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	st.Items = append([]claudehub.StorageItem{}, items[:min(len(items), maxItems)]...)
	return st
}

// Kinds of claudehub.StorageItem.
const (
	itemImage   = "image"
	itemBase    = "base"
	itemUnowned = "unowned"
)

// reclaimNow removes what a person asked to have removed. What cannot be is said, and holds up nothing else.
func (r *Runner) reclaimNow(ctx context.Context, want wire.DesiredMachine) claudehub.Reclaimed {
	ctx, cancel := context.WithTimeout(ctx, reclaimLimit)
	defer cancel()
	freed, err := r.builds.maker.Reclaim(ctx, want.What, r.madeOf)
	errs := []error{err}
	if slices.Contains(want.What, itemUnowned) {
		for _, name := range r.strays() {
			n, err := r.removeStray(ctx, name)
			freed += n
			errs = append(errs, err)
		}
		errs = append(errs, r.removeUnowned(ctx))
	}
	r.builds.wake.set() // a kept Sandbox may be gone
	done := claudehub.Reclaimed{Request: want.Reclaim, Freed: freed, At: now()}
	if err := errors.Join(errs...); err != nil {
		r.log.Warn("not all was reclaimed", "error", err)
		done.Error = oneLine(claudehub.MessageOf(err))
	}
	return done
}

// removeUnowned removes the Sandboxes that no Session and no build has.
func (r *Runner) removeUnowned(ctx context.Context) error {
	r.mu.Lock()
	told := r.told
	r.mu.Unlock()
	if !told {
		return nil // the Hub may still name them
	}
	boxes, err := r.cfg.Backend.List(ctx)
	errs := []error{err}
	for _, b := range boxes {
		if r.isUnowned(string(b.ID)) {
			errs = append(errs, r.cfg.Backend.Remove(ctx, b.ID))
		}
	}
	return errors.Join(errs...)
}

// madeOf counts the Sessions whose Sandbox is made of an image. An archived one has no Sandbox.
func (r *Runner) madeOf(image sandbox.Image) (n int) {
	for _, s := range r.all() {
		if s.facts().Image == string(image) {
			n++
		}
	}
	return n
}

// isUnowned tells a Sandbox that no Session has. A build's own are the builder's to clear away.
func (r *Runner) isUnowned(id string) bool {
	if strings.HasPrefix(id, "bld_") {
		return false
	}
	s := r.find(claudehub.SessionID(id))
	return s == nil || s.stray.Load()
}
