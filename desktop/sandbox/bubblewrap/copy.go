//go:build linux

package bubblewrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
)

// copyTree makes to a copy of the folder from, in which no process runs. Where the file system can, files share their
// bytes until one is written to; a hard link would not do: a build writes into its files as it likes.
func copyTree(ctx context.Context, from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("copy image: %w", err)
	}
	defer src.Close()
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("copy image: %w", err)
	}
	dst, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("copy image: %w", err)
	}
	defer dst.Close()
	c := &treeCopy{from: src, to: dst, rank: os.Geteuid() == 0, seen: map[uint64]string{}, buf: make([]byte, 1<<20)}
	if err := c.folder(ctx, src, dst, "."); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("copy image: %w", err)
	}
	return nil
}

type treeCopy struct {
	from, to *os.Root
	rank     bool
	seen     map[uint64]string // names of files that have several
	buf      []byte
}

// folder copies what is in one folder, which both sides have open.
func (c *treeCopy) folder(ctx context.Context, src, dst *os.Root, name string) error {
	f, err := src.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			if err := c.entry(ctx, src, dst, name, e.Name()); err != nil {
				return fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.dress(dst, ".", info)
}

// dress gives a copy its owner, mode and time.
func (c *treeCopy) dress(dst *os.Root, base string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("no details of the file")
	}
	if c.rank {
		if err := dst.Lchown(base, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if err := dst.Chmod(base, info.Mode().Perm()|info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return err
	}
	return dst.Chtimes(base, time.Time{}, info.ModTime())
}

func (c *treeCopy) entry(ctx context.Context, src, dst *os.Root, dir, base string) error {
	info, err := src.Lstat(base)
	if err != nil {
		return err
	}
	name := path.Join(dir, base)
	switch info.Mode().Type() {
	case fs.ModeDir:
		if err := dst.Mkdir(base, 0o700); err != nil {
			return err
		}
		from, err := src.OpenRoot(base)
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := dst.OpenRoot(base)
		if err != nil {
			return err
		}
		defer to.Close()
		return c.folder(ctx, from, to, name)
	case fs.ModeSymlink:
		target, err := src.Readlink(base)
		if err != nil {
			return err
		}
		if err := dst.Symlink(target, base); err != nil {
			return err
		}
		return c.dress(dst, base, info)
	case 0:
		return c.file(src, dst, base, name, info)
	}
	return nil // an Image has no others
}

func (c *treeCopy) file(src, dst *os.Root, base, name string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		if first := c.seen[st.Ino]; first != "" {
			return c.to.Link(first, name)
		}
		c.seen[st.Ino] = name
	}
	in, err := src.OpenFile(base, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dst.OpenFile(base, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := unix.IoctlFileClone(int(out.Fd()), int(in.Fd())); err != nil {
		if _, err := io.CopyBuffer(out, in, c.buf); err != nil { // within the kernel
			return err
		}
	}
	copyXattrs(in, out)
	if err := out.Close(); err != nil {
		return err
	}
	return c.dress(dst, base, info)
}

// copyXattrs copies the attributes that belong to a file's content. Where there can be none, there are none.
func copyXattrs(in, out *os.File) {
	names := make([]byte, 4<<10)
	n, err := unix.Flistxattr(int(in.Fd()), names)
	if err != nil {
		return
	}
	for _, name := range bytes.Split(names[:n], []byte{0}) {
		if !bytes.HasPrefix(name, []byte("user.")) && !bytes.Equal(name, []byte("security.capability")) {
			continue
		}
		value := make([]byte, 16<<10)
		if n, err := unix.Fgetxattr(int(in.Fd()), string(name), value); err == nil {
			_ = unix.Fsetxattr(int(out.Fd()), string(name), value[:n], 0) // as above
		}
	}
}

// share has a new Image use the files of the one it was built on where they are the same, byte for byte: neither ever
// changes. What cannot be shared is not, and costs space alone.
func (b *Backend) share(ctx context.Context, root string, from sandbox.Image) {
	unlock, ok, err := b.tryLock(sandbox.ID("image:" + string(from)))
	if err != nil || !ok {
		return // it is being removed
	}
	defer unlock()
	older, err := os.OpenRoot(b.imageRoot(from))
	if err != nil {
		return
	}
	defer older.Close()
	newer, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer newer.Close()
	s := &sharing{older: older, newer: newer, olderDir: b.imageRoot(from), newerDir: root}
	_ = s.folder(ctx, ".") // see above
}

type sharing struct {
	older, newer       *os.Root
	olderDir, newerDir string
	a, b               [64 << 10]byte
}

// worthSharing is the size from which a file is: most of an image's bytes are in files above it, and few of its files.
const worthSharing = 16 << 10

func (s *sharing) folder(ctx context.Context, dir string) error {
	f, err := s.newer.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = s.folder(ctx, name)
		case e.Type().IsRegular():
			err = s.file(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sharing) file(name string) error {
	mine, err := s.newer.Lstat(name)
	if err != nil || mine.Size() < worthSharing {
		return err
	}
	theirs, err := s.older.Lstat(name)
	if err != nil || !sameMeta(mine, theirs) {
		return nil //nolint:nilerr // it is new
	}
	if same, err := s.sameBytes(name); err != nil || !same {
		return err
	}
	// Both paths are free of links: the folders were walked, and nobody else writes there.
	half := path.Join(path.Dir(name), making+path.Base(name))
	if err := unix.Linkat(unix.AT_FDCWD, path.Join(s.olderDir, name), unix.AT_FDCWD, path.Join(s.newerDir, half), 0); err != nil {
		return nil //nolint:nilerr // a file has too many names already, say
	}
	parent, err := s.newer.Lstat(path.Dir(name))
	if err != nil {
		return err
	}
	if err := s.newer.Rename(half, name); err != nil {
		return err
	}
	return s.newer.Chtimes(path.Dir(name), time.Time{}, parent.ModTime())
}

// sameMeta also refuses files that have several names: giving one of them away would part it from the others.
func sameMeta(a, b fs.FileInfo) bool {
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && b.Mode().IsRegular() && x.Mode == y.Mode && x.Uid == y.Uid && x.Gid == y.Gid && x.Size == y.Size &&
		x.Mtim == y.Mtim && x.Nlink == 1
}

func (s *sharing) sameBytes(name string) (bool, error) {
	mine, err := s.newer.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer mine.Close()
	theirs, err := s.older.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer theirs.Close()
	for {
		n, err1 := io.ReadFull(mine, s.a[:])
		m, err2 := io.ReadFull(theirs, s.b[:])
		if n != m || !bytes.Equal(s.a[:n], s.b[:m]) {
			return false, nil
		}
		if err1 != nil || err2 != nil {
			return errors.Is(err1, io.EOF) || errors.Is(err1, io.ErrUnexpectedEOF), nil
		}
	}
}
