package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

// removeTree removes a folder with all that is in it and tells how many bytes that gave back. It follows no link, opens
// folders that their owner closed (a package cache's, say), and does with few open files however deep the tree is. What
// is not there is removed already.
func removeTree(ctx context.Context, dir string) (freed int64, err error) {
	fd, err := openDir(unix.AT_FDCWD, dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP): // a file, or a link
		return 0, os.Remove(dir)
	case err != nil:
		return 0, fmt.Errorf("remove %s: %w", dir, err)
	}
	r := &removal{top: fd, name: ".removed-" + claudehub.NewNonce() + "-"} // none that a Sandbox could have made
	err = r.empty(ctx, fd, 0)
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("remove %s: %w", filepath.Base(dir), err)
	}
	return r.freed, err
}

// removeDepth is how deep folders are entered; deeper ones are first moved to the top.
const removeDepth = 64

type removal struct {
	top   int
	name  string // how folders that were moved to the top are called, with a number
	freed int64
	moved int
}

// empty removes what is in an open folder, and closes it.
func (r *removal) empty(ctx context.Context, fd, depth int) error {
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	if err := unix.Fchmod(fd, 0o700); err != nil {
		return err
	}
	for {
		// From the start each time: what is removed meanwhile makes some file systems skip what is left.
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := f.Readdirnames(dirBatch)
		if len(names) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := r.entry(ctx, fd, name, depth); err != nil {
				return err
			}
		}
	}
}

func (r *removal) entry(ctx context.Context, fd int, name string, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if err := unix.Unlinkat(fd, name, 0); err != nil {
			return err
		}
		if st.Nlink <= 1 {
			r.freed += st.Blocks * blockSize
		}
		return nil
	}
	if depth >= removeDepth {
		r.moved++
		return unix.Renameat(fd, name, r.top, r.name+strconv.Itoa(r.moved))
	}
	sub, err := openDir(fd, name)
	if errors.Is(err, os.ErrPermission) {
		if err = unix.Fchmodat(fd, name, 0o700, 0); err == nil {
			sub, err = openDir(fd, name)
		}
	}
	if err != nil {
		return err
	}
	if err := r.empty(ctx, sub, depth+1); err != nil {
		return err
	}
	r.freed += st.Blocks * blockSize
	return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
}
