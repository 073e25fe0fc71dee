package image

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// writer writes a tree as one tar.
type writer struct {
	tar      *tar.Writer
	alive    func() error
	progress func(done int64)
	done     int64
	buf      []byte
}

// write writes the tree to a new file and returns the digest of it. The same tree makes the same bytes.
func (t *tree) write(ctx context.Context, file *os.File, progress func(done, total int64)) (digest string, err error) {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<20)
	w := &writer{
		tar: tar.NewWriter(out), alive: func() error { return context.Cause(ctx) },
		progress: func(done int64) { progress(done, t.bytes) }, buf: make([]byte, 256<<10),
	}
	if err := w.walk("", t.root); err != nil {
		return "", err
	}
	if err := w.tar.Close(); err != nil {
		return "", err
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func (w *writer) walk(name string, n *node) error {
	if err := w.alive(); err != nil {
		return err
	}
	if err := w.entry(name, n.inode); err != nil {
		return err
	}
	for _, child := range slices.Sorted(maps.Keys(n.children)) {
		if err := w.walk(path.Join(name, child), n.children[child]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) entry(name string, i *inode) error {
	h := &tar.Header{
		Typeflag: i.kind, Name: name, Mode: i.mode, Uid: i.uid, Gid: i.gid, Linkname: i.target, Size: i.size,
		ModTime: i.modified.Truncate(time.Second).UTC(), Format: tar.FormatPAX,
	}
	if i.kind == tar.TypeDir {
		h.Name = name + "/"
		if name == "" {
			h.Name = "./"
		}
	}
	for k, v := range i.xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[xattrPrefix+k] = v
	}
	if i.written != "" {
		h.Typeflag, h.Linkname, h.Size, h.PAXRecords = tar.TypeLink, i.written, 0, nil
		return w.tar.WriteHeader(h)
	}
	if i.kind != tar.TypeDir {
		i.written = name
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("%w: %.200q: %w", errBroken, name, err)
	}
	if i.kind != tar.TypeReg {
		return nil
	}
	return w.bytes(i)
}

func (w *writer) bytes(i *inode) error {
	r, err := i.content.open()
	if err != nil {
		return err
	}
	defer r.Close()
	for left := i.size; left > 0; {
		n, err := r.Read(w.buf[:min(left, int64(len(w.buf)))])
		if n > 0 {
			if _, err := w.tar.Write(w.buf[:n]); err != nil {
				return err
			}
			left -= int64(n)
			w.done += int64(n)
			w.progress(w.done)
			if err := w.alive(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) && left > 0 {
			return errChanged
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}
