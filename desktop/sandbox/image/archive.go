package image

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"claude-hub/internal/claudehub"
)

// Bounds of an archive's own parts.
const (
	maxMetadata = 16 << 20 // a manifest, an index
	maxEntries  = 10_000
)

// identifyFile tells a file from its successors without reading it.
func identifyFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: not a file", errBroken)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("file:%d:%d:%d:%d", st.Dev, st.Ino, info.Size(), info.ModTime().UnixNano()), nil
}

func (f *fetch) archive(ctx context.Context) (Rootfs, error) {
	f.progress(Progress{Step: "Reading the archive"})
	path, err := f.plain(ctx, f.base.Ref)
	if err != nil {
		return Rootfs{}, err
	}
	docker, err := f.scan(ctx, path)
	if err != nil {
		return Rootfs{}, err
	}
	var img v1.Image
	if docker {
		img, err = f.saved(path)
	} else {
		img, err = f.fromLayout()
	}
	var told *claudehub.Error
	if err != nil && !errors.As(err, &told) {
		err = fmt.Errorf("%w: %s", errBroken, err.Error()) // the file is whole, as scan saw: what is in it is not
	}
	if err != nil {
		return Rootfs{}, err
	}
	id, err := img.ConfigName()
	if err != nil {
		return Rootfs{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Rootfs{}, err
	}
	return f.image(ctx, img, "archive-"+id.Hex, id.String(), info.Size())
}

// plain is the archive without compression around it: itself, or a copy.
func (f *fetch) plain(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // a pipe would block the open below
		return "", fmt.Errorf("%w: not a file", errBroken)
	}
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	r := bufio.NewReader(in)
	if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" {
		return path, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return "", err
	}
	out, err := os.Create(filepath.Join(f.work, "archive"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	if err := copyBounded(ctx, out, z); err != nil {
		return "", err
	}
	return out.Name(), out.Close()
}

// copyBounded copies until the end, maxBytes, or the context's end.
func copyBounded(ctx context.Context, w io.Writer, r io.Reader) error {
	buf := make([]byte, 256<<10)
	for done := int64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := r.Read(buf)
		if done += int64(n); done > maxBytes {
			return errTooBig
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var blobName = regexp.MustCompile(`^blobs/sha256/[a-f0-9]{64}$`)

// scan reads the whole archive once: its end must be there, and it must be of a kind that we know. Of an OCI layout the
// parts are laid out in the work folder; docker's own kind stays as it is.
func (f *fetch) scan(ctx context.Context, path string) (docker bool, err error) {
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	manifest, index := false, false
	tr := tar.NewReader(bufio.NewReaderSize(in, 256<<10))
	for entries := 0; ; entries++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if entries > maxEntries {
			return false, fmt.Errorf("%w: an archive of more than %d parts", errBroken, maxEntries)
		}
		name := strings.TrimPrefix(h.Name, "./")
		manifest = manifest || name == "manifest.json"
		index = index || name == "index.json"
		if err := f.part(ctx, name, h, tr); err != nil {
			return false, err
		}
	}
	if !manifest && !index {
		return false, fmt.Errorf("%w: neither manifest.json nor index.json is in it", errBroken)
	}
	return manifest, nil
}

// part reads one part of an archive to its end, and lays it out if it is one of a layout's.
func (f *fetch) part(ctx context.Context, name string, h *tar.Header, r io.Reader) error {
	meta := name == "index.json" || name == "oci-layout" || name == "manifest.json"
	if meta && h.Size > maxMetadata {
		return fmt.Errorf("%w: %s has %d MB", errBroken, name, h.Size>>20)
	}
	if h.Typeflag != tar.TypeReg || name != "index.json" && name != "oci-layout" && !blobName.MatchString(name) {
		return copyBounded(ctx, io.Discard, r)
	}
	to := filepath.Join(f.work, "layout", filepath.FromSlash(name)) // one of the few names above, and no other
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: two parts are called %s", errBroken, name)
	}
	if err != nil {
		return err
	}
	defer out.Close()
	if err := copyBounded(ctx, out, r); err != nil {
		return err
	}
	return out.Close()
}

// saved is the image of a "docker save".
func (f *fetch) saved(path string) (v1.Image, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		return nil, err
	}
	if len(manifest) != 1 {
		return nil, claudehub.Errorf(claudehub.Invalid, "The archive %s holds %d images, and a base is one. Save the one you mean: docker save -o FILE IMAGE.", f.base.Ref, len(manifest))
	}
	return tarball.ImageFromPath(path, nil)
}

// fromLayout is the image of an OCI layout for this machine.
func (f *fetch) fromLayout() (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(filepath.Join(f.work, "layout"))
	if err != nil {
		return nil, err
	}
	img, err := choose(f.base, index)
	if err != nil {
		return nil, err
	}
	return img.image, nil
}
