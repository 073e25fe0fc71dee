package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
)

func seeds(f *testing.F) {
	f.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []*tar.Header{
		{Name: "a/b", Typeflag: tar.TypeReg, Size: 3}, {Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a"}, {Name: "l/x", Typeflag: tar.TypeReg},
		{Name: "h", Typeflag: tar.TypeLink, Linkname: "l/b"}, {Name: "a/.wh.b", Typeflag: tar.TypeReg}, {Name: ".wh..wh..opq", Typeflag: tar.TypeReg},
		{Name: "c", Typeflag: tar.TypeSymlink, Linkname: "c"}, {Name: "../up", Typeflag: tar.TypeReg},
	} {
		h.Mode = 0o644
		if err := w.WriteHeader(h); err != nil {
			f.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("abc")); err != nil {
				f.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(out.Bytes()), bytes.Clone(out.Bytes()))
	}
}

func layerFile(t *testing.T, dir string, raw []byte) *os.File {
	t.Helper()
	file, err := os.CreateTemp(dir, "layer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(raw); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzLayers: whatever two layers say, what is written is a tree: no name climbs or comes twice, each folder comes before
// what is in it, and each hard link after what it links to.
func FuzzLayers(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		dir := t.TempDir()
		tr := newTree()
		alive := func() error { return nil }
		for _, raw := range [][]byte{lower, upper} {
			file := layerFile(t, dir, raw)
			defer file.Close()
			if tr.addLayer(file, alive) != nil {
				return
			}
		}
		tr.shell()
		if tr.bytes > 1<<20 {
			return // a sparse file: its zeros are not worth the time
		}
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := tr.write(context.Background(), out, func(int64, int64) {}); err != nil {
			return
		}
		raw, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		isTree(t, raw)
	})
}

func isTree(t *testing.T, raw []byte) {
	t.Helper()
	seen := map[string]byte{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		if name != "." && (path.Clean(name) != name || strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../")) {
			t.Errorf("%q climbs", h.Name)
		}
		if _, twice := seen[name]; twice {
			t.Errorf("%q is there twice", name)
		}
		if parent := path.Dir(name); name != "." && seen[parent] != tar.TypeDir {
			t.Errorf("%q has no folder", name)
		}
		if kind, ok := seen[h.Linkname]; h.Typeflag == tar.TypeLink && (!ok || kind == tar.TypeDir) {
			t.Errorf("%q links to %q", name, h.Linkname)
		}
		seen[name] = h.Typeflag
	}
}

// FuzzArchive: an archive of any bytes is an image or an error with its sentence, and nothing is left.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte{})
	for _, name := range []string{"manifest.json", "index.json", "oci-layout", "blobs/sha256/" + strings.Repeat("0", 64)} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		text := []byte(`[{"Config":"c","RepoTags":[],"Layers":["l"]}]`)
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o600}); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			f.Fatal(err)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		file := layerFile(t, t.TempDir(), raw)
		file.Close()
		_, err := Fetch(context.Background(), claudehub.Base{Kind: claudehub.BaseArchive, Ref: file.Name()}, dir, nil)
		if err == nil {
			return
		}
		if claudehub.CodeOf(err) == claudehub.Internal {
			t.Errorf("no sentence: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
