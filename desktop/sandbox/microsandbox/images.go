package microsandbox

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// NeedsBase is true: a VM has no system of this machine to borrow.
func (b *Backend) NeedsBase() bool { return true }

// making makes the caller the only one that makes or removes this Image; made tells that it is there already.
func (b *Backend) making(ctx context.Context, name sandbox.Image) (unlock func(), made bool, err error) {
	if err := checkImage(name); err != nil {
		return nil, false, err
	}
	unlock, err = b.lock(ctx, ".image-"+string(name))
	if err != nil {
		return nil, false, err
	}
	r, err := b.loadImage(name)
	if err != nil {
		unlock()
		return nil, false, err
	}
	return unlock, r != nil && !r.Forgotten, nil
}

// Import makes an Image of a root filesystem; see sandbox.Images. The tar is read twice, and not copied by us.
func (b *Backend) Import(ctx context.Context, rootfs string, name sandbox.Image, progress func(float64)) error {
	ctx, cancel := b.within(ctx, 2*copyTimeout)
	defer cancel()
	unlock, made, err := b.making(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if made {
		return nil
	}
	file, err := os.Open(rootfs)
	if err != nil {
		return claudehub.WithCause(claudehub.NotFound, err, "The root filesystem %s cannot be read. Fetch the base image again.", rootfs)
	}
	defer file.Close()
	tell, err := stages(file, progress)
	if err != nil {
		return err
	}
	l, err := verify(ctx, file, tell(0, 0.3))
	if err != nil {
		return sentence(ctx, err, "The image could not be imported")
	}
	if err := b.load(ctx, name, file, l, tell(0.3, 0.9)); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.times(callTimeout))
		defer cancel()
		if err := b.dropImage(undo, imageRecord{Image: name, Kind: imported}); err != nil {
			b.log.Error("a failed import left something behind", "image", name, "error", err)
		}
		return sentence(ctx, err, "The image could not be imported")
	}
	err = saveJSON(b.imageFile(name), imageRecord{Image: name, Kind: imported, Layer: l.digest, Created: time.Now().UTC()})
	if err == nil && progress != nil {
		progress(1)
	}
	return err
}

// stages makes a function that tells a part of the progress from bytes of the file.
func stages(file *os.File, progress func(float64)) (func(from, to float64) func(int64), error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read root filesystem: %w", err)
	}
	whole := float64(max(info.Size(), 1))
	return func(from, to float64) func(int64) {
		last := from - 1
		return func(n int64) {
			if at := from + (to-from)*min(float64(n)/whole, 1); progress != nil && at-last >= 0.01 {
				last = at
				progress(at)
			}
		}
	}, nil
}

// load streams the archive into msb, which makes a read-only disk of it.
func (b *Backend) load(ctx context.Context, name sandbox.Image, file *os.File, l layer, told func(int64)) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read root filesystem: %w", err)
	}
	_, err := b.msb(ctx, call{args: []string{"load", "-q"}, timeout: copyTimeout, input: func(p *process.Process) error {
		w := bufio.NewWriterSize(p.Stdin(), 1<<20)
		content := &counted{ctx: ctx, r: bufio.NewReaderSize(io.LimitReader(file, l.size), 1<<20), told: told}
		return errors.Join(writeArchive(w, reference(name), l, content), w.Flush())
	}})
	if err != nil {
		return err
	}
	if _, err := os.Stat(b.layerFile(l.digest)); err != nil {
		return fmt.Errorf("msb took the image and has no layer of it: %w", err)
	}
	return nil
}

func (b *Backend) layerFile(digest string) string {
	return filepath.Join(b.home(), "cache", "layers", "sha256_"+digest+".erofs")
}

func (b *Backend) snapshot(name sandbox.Image) string {
	return filepath.Join(b.home(), "snapshots", string(name))
}

// Commit makes an Image of a stopped Sandbox; see sandbox.Images.
func (b *Backend) Commit(ctx context.Context, id sandbox.ID, name sandbox.Image) error {
	if err := checkID(id); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx, copyTimeout)
	defer cancel()
	unlockImage, made, err := b.making(ctx, name)
	if err != nil {
		return err
	}
	defer unlockImage()
	if made {
		return nil
	}
	unlock, err := b.lock(ctx, string(id))
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := b.box(id).load()
	if err != nil {
		return err
	}
	if rec == nil || rec.Made == "" {
		return claudehub.Errorf(claudehub.NotFound, "There is no Sandbox %s to make an image of. Run the build again.", id)
	}
	if pid, err := b.pid(id); err != nil {
		return err
	} else if pid != 0 {
		return claudehub.Errorf(claudehub.Conflict, "The Sandbox %s still runs. Stop it before it is made into an image.", id)
	}
	base, err := b.baseOf(rec.Image)
	if err != nil {
		return err
	}
	if _, err := b.registered(ctx, id); err != nil { // has msb note that it ended, however it did
		return sentence(ctx, err, "The image could not be made")
	}
	_, err = b.msb(ctx, call{args: []string{"snapshot", "create", "-q", "-f", string(name), "--from", b.vm(id)}, timeout: copyTimeout})
	if err != nil {
		_ = os.RemoveAll(b.snapshot(name)) // Reclaim finds it again
		return sentence(ctx, err, "The image could not be made")
	}
	return saveJSON(b.imageFile(name), imageRecord{Image: name, Kind: committed, Base: base, Created: time.Now().UTC()})
}

// baseOf is the imported Image at the bottom of another.
func (b *Backend) baseOf(name sandbox.Image) (sandbox.Image, error) {
	r, err := b.loadImage(name)
	if err != nil {
		return "", err
	}
	if r == nil {
		return "", claudehub.Errorf(claudehub.NotFound, "The image %s, which this one lies on, is not on this machine any more. Run the build again.", name)
	}
	if r.Kind == committed {
		return r.Base, nil
	}
	return r.Image, nil
}

// Images lists them; see sandbox.Images. What a forgotten base still takes counts with the oldest that lies on it.
func (b *Backend) Images(context.Context) ([]sandbox.ImageInfo, error) {
	all, err := b.catalog()
	if err != nil {
		return nil, err
	}
	var records []imageRecord
	for _, r := range all {
		if !r.Forgotten {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(x, y imageRecord) int {
		return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.Image, y.Image))
	})
	counted := map[string]bool{}
	once := func(path string) int64 {
		if counted[path] {
			return 0
		}
		counted[path] = true
		return allocated(path)
	}
	infos := make([]sandbox.ImageInfo, 0, len(records))
	for _, r := range records {
		info := sandbox.ImageInfo{Image: r.Image, Created: r.Created}
		if r.Kind == committed {
			info.Bytes, info.On = allocated(b.snapshot(r.Image)), r.Base
			r = all[r.Base]
		}
		if r.Layer != "" && (r.Image == info.Image || r.Forgotten) {
			info.Bytes += once(b.layerFile(r.Layer))
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// RemoveImage forgets an Image; see sandbox.Images.
func (b *Backend) RemoveImage(ctx context.Context, name sandbox.Image) error {
	ctx, cancel := b.within(ctx, copyTimeout)
	defer cancel()
	unlock, made, err := b.making(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if !made {
		return nil
	}
	drop, err := b.forget(ctx, name)
	if err != nil {
		return err
	}
	for _, r := range drop {
		if err := b.dropImage(ctx, r); err != nil {
			return sentence(ctx, err, "The image could not be removed")
		}
	}
	return nil
}

// forget takes an Image out of the catalog, unless a Sandbox is made of it, and returns what nothing needs any more.
func (b *Backend) forget(ctx context.Context, name sandbox.Image) ([]imageRecord, error) {
	unlock, err := b.lock(ctx, catalogLock)
	if err != nil {
		return nil, err
	}
	defer unlock()
	users, err := b.users(name)
	if err != nil {
		return nil, err
	}
	if len(users) > 0 {
		return nil, claudehub.Errorf(claudehub.Conflict, "The image %s is in use by %d Sandboxes (%s is one). Remove those first.", name, len(users), users[0])
	}
	all, err := b.catalog()
	if err != nil {
		return nil, err
	}
	r := all[name]
	delete(all, name)
	if r.Kind == imported && lain(all, name) {
		r.Forgotten = true
		return nil, saveJSON(b.imageFile(name), r)
	}
	drop := []imageRecord{r}
	if base, ok := all[r.Base]; ok && base.Forgotten && !lain(all, base.Image) {
		drop = append(drop, base)
	}
	for _, d := range drop {
		if err := os.Remove(b.imageFile(d.Image)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove image: %w", err)
		}
	}
	return drop, nil
}

// lain tells whether a committed Image lies on this one.
func lain(all map[sandbox.Image]imageRecord, base sandbox.Image) bool {
	for _, r := range all {
		if r.Base == base {
			return true
		}
	}
	return false
}

// users are the Sandboxes that are made of an Image, running or not.
func (b *Backend) users(name sandbox.Image) ([]sandbox.ID, error) {
	entries, err := os.ReadDir(filepath.Join(b.state, "box"))
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var ids []sandbox.ID
	for _, e := range entries {
		id := sandbox.ID(e.Name())
		if checkID(id) != nil {
			continue
		}
		rec, err := b.box(id).load()
		if err != nil {
			return nil, err
		}
		if rec != nil && rec.Image == name {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// dropImage has msb forget one. What msb does not know is gone.
func (b *Backend) dropImage(ctx context.Context, r imageRecord) error {
	args := []string{"image", "rm", "-f", r.handle()}
	if r.Kind == committed {
		args = []string{"snapshot", "rm", "-f", r.handle()}
	}
	_, err := b.msb(ctx, call{args: args})
	var f *failure
	gone := errors.As(err, &f) && (f.says("not found") || f.says("not cached"))
	if err != nil && !gone {
		return err
	}
	if r.Kind == committed {
		return os.RemoveAll(b.snapshot(r.Image))
	}
	return nil
}
