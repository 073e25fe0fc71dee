//go:build linux

package bubblewrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Images live in a folder beside the Sandboxes, each with its root and a note. What is made or removed has a name that
// begins with a dot, and gets its own, or loses it, in one step.
const (
	imagesFolder = ".images"
	making       = ".new-"
	removing     = ".old-"
)

var imageShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func checkImage(name sandbox.Image) error {
	if !imageShape.MatchString(string(name)) {
		return claudehub.Errorf(claudehub.Invalid, "%q is not an Image's name: use 1 to 64 small letters, digits and '-'.", name)
	}
	return nil
}

// imageNote is what is known of an Image.
type imageNote struct {
	Version int           `json:"version"`
	Created time.Time     `json:"created"`
	From    sandbox.Image `json:"from,omitempty"` // the one that it was built on; it may be gone
}

const imageNoteVersion = 1

func (b *Backend) images() string { return filepath.Join(b.state, imagesFolder) }

func (b *Backend) imageRoot(name sandbox.Image) string {
	return filepath.Join(b.images(), string(name), "root")
}

func (b *Backend) hasImage(name sandbox.Image) bool {
	_, err := os.Lstat(filepath.Join(b.images(), string(name)))
	return err == nil
}

// lockImage makes the caller the only one, in any process, that makes, removes or begins to use an Image.
func (b *Backend) lockImage(ctx context.Context, name string) (unlock func(), err error) {
	return b.lock(ctx, sandbox.ID("image:"+name))
}

// NeedsBase is false: a Sandbox borrows the machine's own system.
func (b *Backend) NeedsBase() bool { return false }

// Import makes an Image of a root filesystem; see sandbox.Backend.
func (b *Backend) Import(ctx context.Context, rootfs string, name sandbox.Image, progress func(done float64)) error {
	if err := checkImage(name); err != nil {
		return err
	}
	if progress == nil {
		progress = func(float64) {}
	}
	return b.makeImage(ctx, name, imageNote{}, func(dir string) error {
		return unpack(ctx, rootfs, dir, progress)
	})
}

// makeImage has fill make a root in a folder of its own, and gives it its name when it is whole.
func (b *Backend) makeImage(ctx context.Context, name sandbox.Image, note imageNote, fill func(root string) error) (err error) {
	unlock, err := b.lockImage(ctx, string(name))
	if err != nil {
		return err
	}
	defer unlock()
	if b.hasImage(name) {
		return nil
	}
	if err := os.MkdirAll(b.images(), 0o700); err != nil {
		return full(err, b.state)
	}
	work, err := os.MkdirTemp(b.images(), making)
	if err != nil {
		return full(err, b.state)
	}
	defer func() {
		if err != nil {
			if left := removeTree(work); left != nil {
				b.log.Error("half an Image was left behind", "folder", work, "error", left)
			}
		}
	}()
	// Reclaim leaves alone what is locked.
	unlockWork, err := b.lockImage(ctx, filepath.Base(work))
	if err != nil {
		return err
	}
	defer unlockWork()
	root := filepath.Join(work, "root")
	if err := fill(root); err != nil {
		return full(err, b.state)
	}
	if err := settle(root); err != nil {
		return full(err, b.state)
	}
	note.Version, note.Created = imageNoteVersion, time.Now().UTC()
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "image.json"), raw, 0o600); err != nil {
		return full(err, b.state)
	}
	if err := flush(work); err != nil {
		return full(err, b.state)
	}
	if err := os.Rename(work, filepath.Join(b.images(), string(name))); err != nil {
		return full(err, b.state)
	}
	return nil
}

// flush brings a folder's file system to the disk: an Image that has its name is whole, also after a power cut.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush image: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("flush image: %w", err)
	}
	return nil
}

// settle makes the places of a root that no process runs in any more.
func settle(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open image: %w", err)
	}
	defer root.Close()
	return ensure(root, nil)
}

// full is the sentence for a disk without room; other errors pass.
func full(err error, where string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return claudehub.WithCause(claudehub.Unavailable, err, "The disk that holds %s is full. Reclaim space on the Runner's page, or free some, and try again.", where)
	}
	return err
}

// Commit makes an Image of a stopped build; see sandbox.Backend. The build's root becomes the Image's: the Sandbox is of
// no use afterwards but to be removed.
func (b *Backend) Commit(ctx context.Context, id sandbox.ID, name sandbox.Image) error {
	if err := errors.Join(checkID(id), checkImage(name)); err != nil {
		return err
	}
	unlock, err := b.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	box := b.box(id)
	o, err := box.origin()
	if err != nil {
		return err
	}
	if o == nil || !o.Build {
		return claudehub.Errorf(claudehub.Conflict, "The Sandbox %s was not started to build an Image.", id)
	}
	switch state, _, err := b.look(ctx, id); {
	case err != nil:
		return err
	case state != sandbox.Stopped:
		return claudehub.Errorf(claudehub.Conflict, "The Sandbox %s still runs. Stop it before its Image is made.", id)
	}
	if _, err := os.Lstat(box.root()); err != nil && !b.hasImage(name) {
		return claudehub.WithCause(claudehub.Conflict, err, "The Sandbox %s has no system to make an Image of.", id)
	}
	return b.makeImage(ctx, name, imageNote{From: o.Image}, func(root string) error {
		if err := os.Rename(box.root(), root); err != nil {
			return err
		}
		if o.Image != "" {
			b.share(ctx, root, o.Image)
		}
		return nil
	})
}

// Images lists them, the oldest first; see sandbox.Backend.
func (b *Backend) Images(ctx context.Context) ([]sandbox.ImageInfo, error) {
	entries, err := os.ReadDir(b.images())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var found []sandbox.ImageInfo
	for _, e := range entries {
		if !e.IsDir() || checkImage(sandbox.Image(e.Name())) != nil {
			continue
		}
		info := sandbox.ImageInfo{Image: sandbox.Image(e.Name())}
		if note, err := b.imageNote(info.Image); err == nil {
			info.Created = note.Created
		}
		found = append(found, info)
	}
	slices.SortFunc(found, func(a, b sandbox.ImageInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Image, b.Image))
	})
	return found, b.sizes.fill(ctx, found, b.imageRoot)
}

func (b *Backend) imageNote(name sandbox.Image) (imageNote, error) {
	raw, err := os.ReadFile(filepath.Join(b.images(), string(name), "image.json"))
	if err != nil {
		return imageNote{}, fmt.Errorf("read image's note: %w", err)
	}
	var n imageNote
	if err := json.Unmarshal(raw, &n); err != nil {
		return imageNote{}, fmt.Errorf("read image's note: %w", err)
	}
	return n, nil
}

// RemoveImage forgets an Image; see sandbox.Backend.
func (b *Backend) RemoveImage(ctx context.Context, name sandbox.Image) error {
	if err := checkImage(name); err != nil {
		return err
	}
	unlock, err := b.lockImage(ctx, string(name))
	if err != nil {
		return err
	}
	defer unlock()
	if !b.hasImage(name) {
		return nil
	}
	users, err := b.usersOf(name)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return claudehub.Errorf(claudehub.Conflict, "The Image %s is in use: the Sandbox %s is made of it. Remove that first.", name, users[0])
	}
	gone, err := os.MkdirTemp(b.images(), removing)
	if err != nil {
		return full(err, b.state)
	}
	if err := os.Rename(filepath.Join(b.images(), string(name)), filepath.Join(gone, "image")); err != nil {
		_ = os.Remove(gone) // it is empty
		return fmt.Errorf("remove image: %w", err)
	}
	return removeTree(gone)
}

// usersOf are the Sandboxes that are made of an Image.
func (b *Backend) usersOf(name sandbox.Image) ([]sandbox.ID, error) {
	entries, err := os.ReadDir(b.state)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var found []sandbox.ID
	for _, e := range entries {
		id := sandbox.ID(e.Name())
		if !e.IsDir() || checkID(id) != nil {
			continue
		}
		// A build has a copy, and needs its Image no more.
		if o, err := b.box(id).origin(); err != nil {
			return nil, err
		} else if o != nil && o.Image == name && (!o.Build || o.Copying) {
			found = append(found, id)
		}
	}
	return found, nil
}

// Reclaim removes what is half made or half removed, and nobody's; see sandbox.Backend.
func (b *Backend) Reclaim(ctx context.Context) (freed int64, err error) {
	entries, err := os.ReadDir(b.images())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("reclaim: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), making) && !strings.HasPrefix(e.Name(), removing) {
			continue
		}
		unlock, ok, err := b.tryLock(sandbox.ID("image:" + e.Name()))
		if err != nil {
			return freed, err
		}
		if !ok {
			continue // someone works in it
		}
		dir := filepath.Join(b.images(), e.Name())
		size := usage(ctx, dir)
		if err := removeTree(dir); err != nil {
			errs = append(errs, err)
		} else {
			freed += size
		}
		unlock()
	}
	return freed, errors.Join(errs...)
}

// removeTree removes a folder with all that is in it, also where a stranger left folders that forbid it.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return wrapRemove(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return wrapRemove(err)
	}
	defer root.Close()
	_ = openUp(root, ".") // the second try tells
	return wrapRemove(os.RemoveAll(dir))
}

func wrapRemove(err error) error {
	if err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "A folder of the Sandboxes cannot be removed. Mend its permissions and try again.")
	}
	return nil
}

// openUp gives the owner of each folder all rights to it.
func openUp(root *os.Root, dir string) error {
	if err := root.Chmod(dir, 0o700); err != nil {
		return err
	}
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		if e.Type()&fs.ModeType == fs.ModeDir {
			err = errors.Join(err, openUp(root, filepath.Join(dir, e.Name())))
		}
	}
	return err
}
