package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"claude-hub/internal/claudehub"
)

// Rootfs is a root filesystem as a file on this machine.
type Rootfs struct {
	// Tar is an uncompressed tar: folders before what is in them, hard links after what they link to.
	Tar string `json:"-"`
	// Digest is "sha256:…" of the Tar: the same for the same content.
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"` // of the Tar
	// Source names what it was made of: an image's digest, or a path.
	Source string   `json:"source"`
	Env    []string `json:"env"`
	Arch   string   `json:"arch"`
	// Left is how many device nodes and sockets were left out.
	Left int `json:"left"`
}

// Progress is how far a Fetch is. Total is 0 while it is not known.
type Progress struct {
	Step        string // in a person's words
	Done, Total int64  // bytes
}

// fetchLimit bounds a Fetch whose context does not.
const fetchLimit = 60 * time.Minute

// Fetch makes the Rootfs of a base in dir, or finds it there. A base of the default kind is the caller's to resolve.
func Fetch(ctx context.Context, base claudehub.Base, dir string, progress func(Progress)) (Rootfs, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, fetchLimit)
		defer cancel()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Rootfs{}, claudehub.WithCause(claudehub.Unavailable, err, "The folder for base images, %s, cannot be made. Check who owns its parent.", dir)
	}
	f := &fetch{base: base, dir: dir, progress: progress}
	var err error
	if f.work, err = os.MkdirTemp(dir, workPrefix); err != nil {
		return Rootfs{}, explain(ctx, base, fmt.Errorf("make folder: %w", err))
	}
	defer os.RemoveAll(f.work)
	var r Rootfs
	switch base.Kind {
	case claudehub.BaseRegistry:
		r, err = f.registry(ctx)
	case claudehub.BaseArchive:
		r, err = f.archive(ctx)
	case claudehub.BaseDirectory:
		r, err = f.directory(ctx)
	default:
		err = claudehub.Errorf(claudehub.Invalid, "There is no base image of the kind %q to fetch.", base.Kind)
	}
	if err != nil {
		return Rootfs{}, explain(ctx, base, err)
	}
	return r, nil
}

// workPrefix begins the names of folders that a Fetch works in; what is left of a killed one is swept by Sweep.
const workPrefix = ".fetch-"

// fetch is one call of Fetch.
type fetch struct {
	base      claudehub.Base
	dir, work string
	progress  func(Progress)

	moved atomic.Int64 // bytes that came, for the progress
}

var keyShape = regexp.MustCompile(`^[a-z0-9-]{1,80}$`)

func (f *fetch) paths(key string) (tar, meta string) {
	return filepath.Join(f.dir, "rootfs-"+key+".tar"), filepath.Join(f.dir, "rootfs-"+key+".json")
}

// cached finds what an earlier Fetch made for this key.
func (f *fetch) cached(key string) (Rootfs, bool) {
	tar, meta := f.paths(key)
	raw, err := os.ReadFile(meta)
	if err != nil {
		return Rootfs{}, false
	}
	var r Rootfs
	if json.Unmarshal(raw, &r) != nil {
		return Rootfs{}, false
	}
	info, err := os.Stat(tar)
	if err != nil || info.Size() != r.Bytes || r.Digest == "" {
		return Rootfs{}, false
	}
	r.Tar = tar
	return r, true
}

// finish checks the tree and writes it down: first the tar, then what says that it is whole.
func (f *fetch) finish(ctx context.Context, key string, t *tree, r Rootfs) (Rootfs, error) {
	if !keyShape.MatchString(key) {
		return Rootfs{}, fmt.Errorf("the key %q is no file name", key)
	}
	if t.shell() == nil {
		return Rootfs{}, f.noShell()
	}
	if err := f.room(t.bytes); err != nil {
		return Rootfs{}, err
	}
	file, err := os.CreateTemp(f.work, "tar-")
	if err != nil {
		return Rootfs{}, err
	}
	defer file.Close()
	report := f.paced("Unpacking")
	if r.Digest, err = t.write(ctx, file, report); err != nil {
		return Rootfs{}, err
	}
	if err := file.Sync(); err != nil {
		return Rootfs{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return Rootfs{}, err
	}
	r.Bytes, r.Left = info.Size(), t.left
	raw, err := json.Marshal(r)
	if err != nil {
		return Rootfs{}, err
	}
	half := filepath.Join(f.work, "meta")
	if err := os.WriteFile(half, raw, 0o600); err != nil {
		return Rootfs{}, err
	}
	var meta string
	r.Tar, meta = f.paths(key)
	if err := errors.Join(os.Rename(file.Name(), r.Tar), os.Rename(half, meta)); err != nil {
		return Rootfs{}, err
	}
	return r, nil
}

// paced passes progress on, at most ten times a second.
func (f *fetch) paced(step string) func(done, total int64) {
	var last time.Time
	return func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= 100*time.Millisecond || done == total {
			last = now
			f.progress(Progress{Step: step, Done: done, Total: total})
		}
	}
}

// Forget removes what Fetch cached for a Rootfs, once it is imported.
func Forget(r Rootfs) error {
	err := os.Remove(r.Tar)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	meta := os.Remove(strings.TrimSuffix(r.Tar, ".tar") + ".json")
	if errors.Is(meta, os.ErrNotExist) {
		meta = nil
	}
	return errors.Join(err, meta)
}

// Sweep removes what Fetches left in dir: of killed ones, and what was never imported. No Fetch may run in dir.
func Sweep(dir string) (freed int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep base images: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), workPrefix) && !strings.HasPrefix(e.Name(), "rootfs-") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		size := sizeOf(path)
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += size
	}
	return freed, errors.Join(errs...)
}

func sizeOf(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// arch is what images for this machine are made for.
func arch() string { return runtime.GOARCH }
