package builder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// shortTime is a duration as people write it.
func shortTime(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		if d == time.Minute {
			return "a minute"
		}
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}

// keep stops a failed build's Sandbox and notes until when it stays.
func (b *Builder) keep(ctx context.Context, j *job, k *keptRecord) bool {
	if err := b.o.Backend.Stop(ctx, k.Sandbox, stopGrace); err != nil {
		b.o.Log.Error("a failed build's Sandbox could not be stopped, so it is removed", "sandbox", k.Sandbox, "error", err)
		return false
	}
	until := b.o.Now().Add(b.o.Keep)
	j.change(func(o *wire.ObservedBuild) { o.Kept = until })
	err := b.state.change(func(all *records) {
		r := all.Builds[j.ID]
		r.Kept, r.Observed.Kept = k, until
		all.Builds[j.ID] = r
	})
	if err != nil {
		b.o.Log.Error("a failed build's Sandbox is not kept", "sandbox", k.Sandbox, "error", err)
		j.change(func(o *wire.ObservedBuild) { o.Kept = time.Time{} })
		return false
	}
	return true
}

// Look starts the kept Sandbox of a failed build, as the script left it, and tells its id. It stays up until it is
// stopped, released, or its time is over.
func (b *Builder) Look(ctx context.Context, id claudehub.BuildID) (sandbox.ID, error) {
	k := b.kept(id)
	if k == nil {
		return "", claudehub.Errorf(claudehub.NotFound, "The Sandbox of that build is not kept any more. Build again; when it fails, its Sandbox is kept for %s.", shortTime(b.o.Keep))
	}
	spec := sandbox.Spec{
		ID: k.Sandbox, Image: k.Image, Build: true, Limits: sandbox.Limits{MemoryBytes: k.Memory, CPUs: k.CPUs, DiskBytes: k.Disk},
		Network: sandbox.Network{Policy: k.Network, Allow: k.Allow},
	}
	if err := b.o.Backend.Start(ctx, spec); err != nil {
		return "", fmt.Errorf("start kept sandbox: %w", err)
	}
	return k.Sandbox, nil
}

// kept is what is kept of a build, or of the one that it joined.
func (b *Builder) kept(id claudehub.BuildID) (k *keptRecord) {
	b.state.read(func(all *records) {
		r := all.Builds[id]
		if r.Kept == nil && r.Log != "" {
			r = all.Builds[r.Log]
		}
		k = r.Kept
	})
	return k
}

// ReleaseKept removes the kept Sandbox of a build. Where none is kept, there is nothing to do.
func (b *Builder) ReleaseKept(ctx context.Context, id claudehub.BuildID) error {
	k := b.kept(id)
	if k == nil {
		return nil
	}
	if err := b.o.Backend.Remove(ctx, k.Sandbox); err != nil {
		return fmt.Errorf("remove kept sandbox: %w", err)
	}
	return b.state.change(func(all *records) {
		for id, r := range all.Builds {
			if r.Kept != nil && r.Kept.Sandbox == k.Sandbox {
				r.Kept, r.Observed.Kept = nil, time.Time{}
				all.Builds[id] = r
			}
		}
	})
}

// expire removes kept Sandboxes whose time is over.
func (b *Builder) expire(ctx context.Context) error {
	var due []claudehub.BuildID
	now := b.o.Now()
	b.state.read(func(all *records) {
		for id, r := range all.Builds {
			if r.Kept != nil && !now.Before(r.Observed.Kept) {
				due = append(due, id)
			}
		}
	})
	var errs []error
	for _, id := range due {
		bounded, cancel := b.within(ctx, clearLimit)
		errs = append(errs, b.ReleaseKept(bounded, id))
		cancel()
	}
	return errors.Join(errs...)
}

// Past tells the builds that have ended, or were begun before and not ended, as they were last seen.
func (b *Builder) Past() []wire.ObservedBuild {
	var all []wire.ObservedBuild
	b.state.read(func(r *records) {
		for _, build := range r.Builds {
			if build.Observed.State.Final() {
				all = append(all, build.Observed)
			}
		}
	})
	return all
}

// Forget drops what is known of a build that does not run: its log and its kept Sandbox too.
func (b *Builder) Forget(ctx context.Context, id claudehub.BuildID) error {
	if slices.Contains(b.Open(), id) {
		return nil
	}
	if err := b.ReleaseKept(ctx, id); err != nil {
		return err
	}
	if err := b.state.change(func(all *records) { delete(all.Builds, id) }); err != nil {
		return err
	}
	b.removeLogs([]claudehub.BuildID{id})
	return nil
}

func (b *Builder) fetchDir() string { return filepath.Join(b.o.Dir, "bases") }

// recover clears what an earlier Runner left: half-fetched images, Sandboxes of builds that nobody keeps, builds that
// never ended, and records of Images that are not there any more.
func (b *Builder) recover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	_, swept := image.Sweep(b.fetchDir())
	errs := []error{swept}
	boxes, err := b.o.Backend.List(ctx)
	errs = append(errs, err)
	kept := b.keptBoxes()
	for _, box := range boxes {
		if strings.HasPrefix(string(box.ID), "bld_") && !kept[box.ID] {
			errs = append(errs, b.o.Backend.Remove(ctx, box.ID))
		}
	}
	images, err := b.o.Backend.Images(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	there := map[sandbox.Image]bool{}
	for _, i := range images {
		there[i.Image] = true
	}
	errs = append(errs, b.state.change(func(all *records) {
		all.reconcile(there)
		for id, r := range all.Builds {
			if !r.Observed.State.Final() {
				delete(all.Builds, id)
			}
		}
	}), b.sweepLogs())
	return errors.Join(errs...)
}

func (b *Builder) keptBoxes() map[sandbox.ID]bool {
	kept := map[sandbox.ID]bool{}
	b.state.read(func(all *records) {
		for _, r := range all.Builds {
			if r.Kept != nil {
				kept[r.Kept.Sandbox] = true
			}
		}
	})
	return kept
}

// reconcile forgets Images that are not there.
func (all *records) reconcile(there map[sandbox.Image]bool) {
	for k, r := range all.Bases {
		if !there[r.Image] {
			delete(all.Bases, k)
		}
	}
	for k, r := range all.Tools {
		if !there[r.Image] {
			delete(all.Tools, k)
		}
	}
	for k, r := range all.Images {
		if !there[r.Image] {
			delete(all.Images, k)
		}
	}
}

// keepLog is how long the log of a build that its Runner's end cut off waits for the build to go on.
const keepLog = 7 * 24 * time.Hour

// sweepLogs removes logs of builds that nobody knows. A young one may be of a build that is made again under its id, and
// whose log the Hub has the first part of.
func (b *Builder) sweepLogs() error {
	entries, err := os.ReadDir(filepath.Join(b.o.Dir, "logs"))
	if err != nil {
		return fmt.Errorf("sweep logs: %w", err)
	}
	known := map[string]bool{}
	b.state.read(func(all *records) {
		for id, r := range all.Builds {
			known[string(id)+".log"], known[string(r.Log)+".log"] = true, true
		}
	})
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !known[e.Name()] && b.o.Now().Sub(info.ModTime()) > keepLog {
			errs = append(errs, os.Remove(filepath.Join(b.o.Dir, "logs", e.Name())))
		}
	}
	return errors.Join(errs...)
}
