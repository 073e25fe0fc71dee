package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Bounds of measuring and removing a tree that a Sandbox wrote, which may be made to be endless: what lies beyond them is
// not counted. The reserve of the machine's disk (see quota.go) holds whatever a tree hides.
const (
	maxEntries   = 3_000_000
	maxDepth     = 200 // an open folder each
	maxHardLinks = 500_000
	blockSize    = 512 // of Stat_t.Blocks, whatever the file system's own is
	dirBatch     = 512
)

var errEnough = errors.New("more than is counted")

// diskUsage is what trees take on the disk: allocated blocks, hard links once, no link followed. A tree that is not there
// takes nothing; one that changes meanwhile is counted as it was seen.
func diskUsage(ctx context.Context, dirs ...string) (int64, error) {
	w := &walk{seen: map[uint64]bool{}}
	for _, dir := range dirs {
		fd, err := openDir(unix.AT_FDCWD, dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("measure %s: %w", dir, err)
		}
		err = w.dir(ctx, fd, 0)
		if err != nil && !errors.Is(err, errEnough) {
			return 0, err
		}
	}
	return w.bytes, nil
}

type walk struct {
	bytes   int64
	entries int
	seen    map[uint64]bool // inodes with more than one name
}

func openDir(at int, name string) (int, error) {
	for {
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// dir counts an open folder and all below it, and closes it.
func (w *walk) dir(ctx context.Context, fd, depth int) error {
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil {
		w.bytes += st.Blocks * blockSize
	}
	for {
		names, err := f.Readdirnames(dirBatch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, name := range names {
			if err := w.entry(ctx, fd, name, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || len(names) == 0 {
			return nil
		}
	}
}

func (w *walk) entry(ctx context.Context, fd int, name string, depth int) error {
	if w.entries++; w.entries > maxEntries {
		return errEnough
	}
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil //nolint:nilerr // gone meanwhile
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if depth >= maxDepth {
			return nil
		}
		sub, err := openDir(fd, name)
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile, or closed to us: not counted
		}
		return w.dir(ctx, sub, depth+1)
	}
	if st.Nlink > 1 {
		if w.seen[st.Ino] {
			return nil
		}
		if len(w.seen) < maxHardLinks {
			w.seen[st.Ino] = true
		}
	}
	w.bytes += st.Blocks * blockSize
	return nil
}
