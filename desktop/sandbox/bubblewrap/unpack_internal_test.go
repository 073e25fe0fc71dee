//go:build linux

package bubblewrap

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpack: a tar of any bytes is unpacked or refused, and nothing beside its folder is touched.
func FuzzUnpack(f *testing.F) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []*tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "d/", Typeflag: tar.TypeDir, Mode: 0}, {Name: "d/f", Typeflag: tar.TypeReg, Mode: 0o4755},
		{Name: "s", Typeflag: tar.TypeSymlink, Linkname: "../beside"}, {Name: "s", Typeflag: tar.TypeReg}, {Name: "l", Typeflag: tar.TypeLink, Linkname: "s"},
		{Name: "../beside", Typeflag: tar.TypeReg}, {Name: "p", Typeflag: tar.TypeFifo},
	} {
		if err := w.WriteHeader(h); err != nil {
			f.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(out.Bytes()))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		dir := t.TempDir()
		for _, path := range []string{"x.tar", "beside"} {
			if err := os.WriteFile(filepath.Join(dir, path), raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = unpack(context.Background(), filepath.Join(dir, "x.tar"), filepath.Join(dir, "root"), func(float64) {})
		for _, path := range []string{"x.tar", "beside"} {
			if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%s was changed: %v", path, err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 3 {
			t.Errorf("%v, %v", entries, err)
		}
		if err := removeTree(filepath.Join(dir, "root")); err != nil {
			t.Error(err)
		}
	})
}
