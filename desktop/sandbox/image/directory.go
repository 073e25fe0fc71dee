package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// directory reads a folder. Its content is its only name: a folder has no digest that could be asked for.
func (f *fetch) directory(ctx context.Context) (Rootfs, error) {
	info, err := os.Stat(f.base.Ref)
	if err != nil {
		return Rootfs{}, err
	}
	if !info.IsDir() {
		return Rootfs{}, syscall.ENOTDIR
	}
	root, err := os.OpenRoot(f.base.Ref)
	if err != nil {
		return Rootfs{}, err
	}
	defer root.Close()
	f.progress(Progress{Step: "Looking through the folder"})
	c := &copier{root: root, tree: newTree(), links: map[[2]uint64]*inode{}}
	if err := c.walk(ctx, ".", nil); err != nil {
		return Rootfs{}, err
	}
	if sh := c.tree.shell(); sh != nil {
		if got := machineOf(sh.inode); got != "" && got != arch() {
			return Rootfs{}, wrongArch(f.base, "linux", got)
		}
	}
	sum := sha256.Sum256([]byte(f.base.Ref))
	return f.finish(ctx, "directory-"+hex.EncodeToString(sum[:16]), c.tree, Rootfs{Source: f.base.Ref, Arch: arch()})
}

// machineOf tells for which architecture a program is; "" when that is none of ours to know.
func machineOf(i *inode) string {
	p, ok := i.content.(inFolder)
	if !ok {
		return ""
	}
	r, err := p.open()
	if err != nil {
		return "" // reading it again will tell
	}
	defer r.Close()
	file, ok := r.(*os.File)
	if !ok {
		return ""
	}
	program, err := elf.NewFile(file)
	if err != nil {
		return "" // a script
	}
	switch program.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	}
	return program.Machine.String()
}

// copier reads a folder into a tree.
type copier struct {
	root  *os.Root
	tree  *tree
	dev   uint64
	links map[[2]uint64]*inode
}

func (c *copier) walk(ctx context.Context, name string, parts []string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	info, err := c.root.Lstat(name)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("look at %s: no details", name)
	}
	if len(parts) == 0 {
		c.dev = device(st)
	}
	i, again, err := c.inode(name, info, st)
	if err != nil || i == nil {
		return err
	}
	if again {
		if err := c.tree.count(0); err != nil {
			return err
		}
		return c.name(parts, i)
	}
	if err := c.tree.put(parts, i); err != nil {
		return err
	}
	if i.kind != tar.TypeDir || device(st) != c.dev {
		return nil // another file system is mounted there: /proc, say
	}
	dir, err := c.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			if err := c.walk(ctx, path.Join(name, e.Name()), append(parts[:len(parts):len(parts)], e.Name())); err != nil {
				if errors.Is(err, os.ErrNotExist) {
					return errChanged
				}
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// device is the file system that a file is on.
func device(st *syscall.Stat_t) uint64 {
	return uint64(st.Dev) //nolint:unconvert // it is narrower on a Mac
}

// name gives an inode that has a name another.
func (c *copier) name(parts []string, i *inode) error {
	parent, err := c.tree.dir(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	parent.children[parts[len(parts)-1]] = &node{inode: i, layer: c.tree.layer}
	return nil
}

// inode describes a file; nil for what is left out. again tells that another name of it was seen before.
func (c *copier) inode(name string, info fs.FileInfo, st *syscall.Stat_t) (i *inode, again bool, err error) {
	key := [2]uint64{device(st), st.Ino}
	if st.Nlink > 1 && !info.IsDir() && c.links[key] != nil {
		return c.links[key], true, nil
	}
	i = &inode{mode: int64(st.Mode) & 0o7777, uid: int(st.Uid), gid: int(st.Gid), modified: info.ModTime()}
	switch info.Mode().Type() {
	case fs.ModeDir:
		i.kind = tar.TypeDir
	case 0:
		i.kind, i.size, i.content = tar.TypeReg, info.Size(), inFolder{c.root, name, key}
	case fs.ModeSymlink:
		i.kind = tar.TypeSymlink
		if i.target, err = c.root.Readlink(name); err != nil {
			return nil, false, err
		}
	case fs.ModeNamedPipe:
		i.kind = tar.TypeFifo
	default:
		c.tree.left++
		return nil, false, nil
	}
	if st.Nlink > 1 && !info.IsDir() {
		c.links[key] = i
	}
	return i, false, nil
}

// inFolder is a file's content, opened when it is its turn.
type inFolder struct {
	root *os.Root
	name string
	key  [2]uint64
}

func (p inFolder) open() (io.ReadCloser, error) {
	// Neither a link nor a pipe that took its place in the meantime may be read, or waited for.
	file, err := p.root.OpenFile(p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || [2]uint64{device(st), st.Ino} != p.key || !info.Mode().IsRegular() {
			err = errChanged
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
