//go:build linux

package bubblewrap

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

// unpacker writes a root filesystem's tar into a folder. Whatever the tar says, nothing outside that folder is touched:
// every name is opened below it, by the kernel's own rules.
type unpacker struct {
	root *os.Root
	rank bool // we may give files away
	buf  []byte

	dir     *os.Root // the folder of the last file, kept open: a tar goes folder by folder
	dirName string
	later   []laterFolder
}

// laterFolder gets its mode and time when all is in it.
type laterFolder struct {
	name string
	mode fs.FileMode
	time time.Time
}

// unpack makes root of a tar. It takes what package image makes, and refuses, unharmed, what it does not.
func unpack(ctx context.Context, rootfs, root string, progress func(float64)) error {
	file, err := os.Open(rootfs)
	if err != nil {
		return claudehub.WithCause(claudehub.NotFound, err, "The base image's file %s cannot be read. Build again.", rootfs)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	u := &unpacker{rank: os.Geteuid() == 0, buf: make([]byte, 256<<10)}
	if u.root, err = os.OpenRoot(root); err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	defer u.root.Close()
	defer u.leave()
	in := &metered{r: bufio.NewReaderSize(file, 1<<20), ctx: ctx, total: info.Size(), progress: progress}
	if err := u.all(tar.NewReader(in)); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errUnsafe) {
			return claudehub.WithCause(claudehub.Invalid, err, "The base image's file %s is damaged. Build again.", rootfs)
		}
		return fmt.Errorf("unpack image: %w", err)
	}
	progress(1)
	return nil
}

// metered tells how far it was read, and ends with its context.
type metered struct {
	r           io.Reader
	ctx         context.Context //nolint:containedctx // of one call, which it does not outlive
	done, total int64
	told        time.Time
	progress    func(float64)
}

func (m *metered) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.r.Read(p)
	m.done += int64(n)
	if now := time.Now(); m.total > 0 && now.Sub(m.told) > 100*time.Millisecond {
		m.told = now
		m.progress(min(float64(m.done)/float64(m.total), 1))
	}
	return n, err
}

var errUnsafe = errors.New("an entry that no image has")

func (u *unpacker) all(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := u.entry(h, r); err != nil {
			return fmt.Errorf("%.200q: %w", h.Name, err)
		}
	}
	for i := len(u.later) - 1; i >= 0; i-- { // the inner ones first
		f := u.later[i]
		if err := u.root.Chmod(f.name, f.mode); err != nil {
			return err
		}
		if err := u.root.Chtimes(f.name, f.time, f.time); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	name := path.Clean(strings.TrimSuffix(h.Name, "/"))
	if !fs.ValidPath(name) { // absolute, or with ".."
		return errUnsafe
	}
	mode := fs.FileMode(h.Mode&0o777) | special(h.Mode)
	if !u.rank {
		mode |= 0o400 // what its owner cannot read, no build can copy
	}
	if h.Typeflag == tar.TypeDir {
		return u.folder(name, mode, h)
	}
	if name == "." {
		return errUnsafe
	}
	dir, base, err := u.enter(name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		err = u.file(dir, base, mode, h, r)
	case tar.TypeSymlink:
		err = errors.Join(dir.Symlink(h.Linkname, base), u.own(dir, base, h))
	case tar.TypeLink:
		return u.root.Link(path.Clean(h.Linkname), name) // refuses to leave the root, and to follow
	case tar.TypeFifo:
		return nil // a pipe in an image is left over from a program that ran
	default:
		return errUnsafe
	}
	return err
}

func special(mode int64) (m fs.FileMode) {
	if mode&0o4000 != 0 {
		m |= fs.ModeSetuid
	}
	if mode&0o2000 != 0 {
		m |= fs.ModeSetgid
	}
	if mode&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}

func (u *unpacker) folder(name string, mode fs.FileMode, h *tar.Header) error {
	if name != "." {
		if err := u.root.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	u.later = append(u.later, laterFolder{name, mode | 0o700, h.ModTime})
	if u.rank {
		return u.root.Lchown(name, outsideUser(h.Uid), outsideUser(h.Gid))
	}
	return nil
}

// enter opens the folder of a file.
func (u *unpacker) enter(name string) (*os.Root, string, error) {
	dir, base := path.Dir(name), path.Base(name)
	if u.dir != nil && dir == u.dirName {
		return u.dir, base, nil
	}
	u.leave()
	opened, err := u.root.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	u.dir, u.dirName = opened, dir
	return opened, base, nil
}

func (u *unpacker) leave() {
	if u.dir != nil {
		u.dir.Close()
		u.dir = nil
	}
}

func (u *unpacker) own(dir *os.Root, base string, h *tar.Header) error {
	if !u.rank {
		return nil
	}
	return dir.Lchown(base, outsideUser(h.Uid), outsideUser(h.Gid))
}

func (u *unpacker) file(dir *os.Root, base string, mode fs.FileMode, h *tar.Header, r io.Reader) error {
	f, err := dir.OpenFile(base, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, r, u.buf); err != nil {
		return err
	}
	if u.rank {
		if err := f.Chown(outsideUser(h.Uid), outsideUser(h.Gid)); err != nil {
			return err
		}
	}
	if err := f.Chmod(mode); err != nil { // after chown, which takes setuid away
		return err
	}
	for k, v := range h.PAXRecords {
		if name, ok := strings.CutPrefix(k, "SCHILY.xattr."); ok && strings.HasPrefix(name, "user.") {
			_ = unix.Fsetxattr(int(f.Fd()), name, []byte(v), 0) // where the file system has none, there are none
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dir.Chtimes(base, h.ModTime, h.ModTime)
}
