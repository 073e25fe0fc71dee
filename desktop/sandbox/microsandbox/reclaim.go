package microsandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
)

// leftAlone is how young a temporary file is left in peace: whoever made it may still be at work.
const leftAlone = time.Hour

// Reclaim removes what failed, or was killed, and left behind; see sandbox.Images. What is being changed at the moment
// is left alone.
func (b *Backend) Reclaim(ctx context.Context) (freed int64, err error) {
	ctx, cancel := b.within(ctx, copyTimeout)
	defer cancel()
	var t tally
	err = errors.Join(b.reclaimBoxes(ctx, &t), b.reclaimVMs(ctx, &t), b.reclaimSnapshots(ctx, &t), b.reclaimImages(ctx, &t), b.reclaimFiles(&t))
	return t.freed, sentence(ctx, err, "Not everything could be reclaimed")
}

// tally counts what was given back, place by place: elsewhere VMs run meanwhile, and write.
type tally struct{ freed int64 }

// of counts what remove takes out of some folders or files.
func (t *tally) of(remove func() error, places ...string) error {
	taken := func() (n int64) {
		for _, p := range places {
			n += allocated(p)
		}
		return n
	}
	before := taken()
	err := remove()
	t.freed += max(0, before-taken())
	return err
}

// alone runs f while it is the only one that changes this thing; not at all when somebody else is at it.
func (b *Backend) alone(name string, f func() error) error {
	path := filepath.Join(b.state, "lock", name)
	lock, err := tryLock(path)
	if err != nil || lock == nil {
		return err
	}
	defer func() { os.Remove(path); lock.Close() }()
	return f()
}

// reclaimBoxes removes Sandboxes that were never made to the end, and by now will not be.
func (b *Backend) reclaimBoxes(ctx context.Context, t *tally) error {
	entries, err := os.ReadDir(filepath.Join(b.state, "box"))
	if err != nil {
		return fmt.Errorf("list sandboxes: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id := sandbox.ID(e.Name())
		if checkID(id) != nil {
			continue
		}
		errs = append(errs, b.alone(string(id), func() error {
			rec, err := b.box(id).load()
			if err != nil || rec != nil && rec.Made != "" {
				return err
			}
			if pid, err := b.pid(id); err != nil || pid != 0 {
				return err // it is on the list, for somebody to stop
			}
			return t.of(func() error {
				return errors.Join(b.discard(ctx, id), b.closeDoor(id), os.RemoveAll(b.box(id).dir))
			}, b.disk(id), b.box(id).dir)
		}))
	}
	return errors.Join(errs...)
}

// reclaimVMs removes what msb keeps of VMs that are nobody's Sandbox.
func (b *Backend) reclaimVMs(ctx context.Context, t *tally) error {
	entries, err := os.ReadDir(filepath.Join(b.home(), "sandboxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list VMs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, ok := b.leftID(e.Name())
		if !ok {
			continue
		}
		errs = append(errs, b.alone(string(id), func() error {
			if b.box(id).exists() {
				return nil
			}
			if pid, err := b.pid(id); err != nil || pid != 0 {
				return err
			}
			return t.of(func() error { return b.discard(ctx, id) }, b.disk(id))
		}))
	}
	return errors.Join(errs...)
}

// reclaimSnapshots removes those of a Commit that did not come to its end.
func (b *Backend) reclaimSnapshots(ctx context.Context, t *tally) error {
	entries, err := os.ReadDir(filepath.Join(b.home(), "snapshots"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list snapshots: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name := sandbox.Image(e.Name())
		if checkImage(name) != nil {
			// msb works in such a one for a moment, and a killed msb leaves it.
			errs = append(errs, t.removeOld(filepath.Join(b.home(), "snapshots", e.Name())))
			continue
		}
		errs = append(errs, b.alone(".image-"+string(name), func() error {
			if r, err := b.loadImage(name); err != nil || r != nil {
				return err
			}
			return t.of(func() error { return b.dropImage(ctx, imageRecord{Image: name, Kind: committed}) }, b.snapshot(name))
		}))
	}
	return errors.Join(errs...)
}

// reclaimImages removes images of msb's cache that no record names.
func (b *Backend) reclaimImages(ctx context.Context, t *tally) error {
	out, err := b.msb(ctx, call{args: []string{"image", "ls", "--format", "json"}})
	if err != nil {
		return err
	}
	var cached []struct {
		Reference string `json:"reference"`
	}
	if err := json.Unmarshal(out, &cached); err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	var errs []error
	for _, c := range cached {
		name, ours := strings.CutPrefix(c.Reference, "claude-hub/")
		name, whole := strings.CutSuffix(name, ":1")
		if !ours || !whole || checkImage(sandbox.Image(name)) != nil {
			continue
		}
		errs = append(errs, b.alone(".image-"+name, func() error {
			if r, err := b.loadImage(sandbox.Image(name)); err != nil || r != nil {
				return err
			}
			return t.of(func() error {
				return b.dropImage(ctx, imageRecord{Image: sandbox.Image(name), Kind: imported})
			}, filepath.Join(b.home(), "cache"))
		}))
	}
	return errors.Join(errs...)
}

// reclaimFiles removes temporary files: ours, and those of an msb that was killed.
func (b *Backend) reclaimFiles(t *tally) error {
	var errs []error
	for _, pattern := range []string{"tmp/*", ".guest-*", "image/.record-*", "box/*/.record-*", "m/cache/tmp/*"} {
		found, _ := filepath.Glob(filepath.Join(b.state, pattern)) // the patterns are good
		for _, path := range found {
			errs = append(errs, t.removeOld(path))
		}
	}
	return errors.Join(errs...)
}

func (t *tally) removeOld(path string) error {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < leftAlone {
		return nil //nolint:nilerr // it is gone, or in use
	}
	if err := t.of(func() error { return os.RemoveAll(path) }, path); err != nil {
		return fmt.Errorf("remove what was left: %w", err)
	}
	return nil
}
