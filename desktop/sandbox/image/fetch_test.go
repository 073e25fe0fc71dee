package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
)

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// entry is one file of a layer that a test makes.
type entry struct {
	name string
	kind byte
	mode int64
	text string // content, or what a link leads to
}

func file(name, text string) entry  { return entry{name, tar.TypeReg, 0o644, text} }
func dir(name string) entry         { return entry{name, tar.TypeDir, 0o755, ""} }
func symlink(name, to string) entry { return entry{name, tar.TypeSymlink, 0o777, to} }
func hardlink(name, to string) entry {
	return entry{name, tar.TypeLink, 0o644, to}
}

// shell is what makes a root filesystem of any layer.
var shell = entry{"bin/sh", tar.TypeReg, 0o755, "#!"}

// tarOf is a tar of entries.
func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Uid: 7, Gid: 8, ModTime: time.Unix(1e9, 0)}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.text))
		} else {
			h.Linkname = e.text
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(w, e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// imageOf is an image of these layers, the lowest first, for this machine.
func imageOf(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, raw := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}
	return configured(t, img, "linux", runtime.GOARCH)
}

func configured(t testing.TB, img v1.Image, system, cpu string) v1.Image {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Config.Env = system, cpu, []string{"LANG=C.UTF-8"}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// listing is a rootfs as lines: kind, name, and content or target.
func listing(t testing.TB, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(h.Typeflag)+" "+h.Name+" "+h.Linkname+string(text))
	}
}

// nothingLeft fails when a failed Fetch left something.
func nothingLeft(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left: %s", e.Name())
	}
}

// saved writes an image as "docker save" does.
func saved(t testing.TB, img v1.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "saved.tar")
	ref, err := name.ParseReference("example.org/x:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, ref, img); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLayersAreLaidOverEachOther(t *testing.T) {
	img := imageOf(t,
		tarOf(t, dir("usr/"), dir("usr/bin"), symlink("bin", "usr/bin"), entry{"usr/bin/sh", tar.TypeReg, 0o755, "sh"},
			file("etc/gone", "x"), file("etc/kept", "old"), file("full/a", "a"), file("full/b", "b"), file("was-a-file", "x"),
			dir("was-a-folder"), file("was-a-folder/x", "x"), file("one", "shared"), hardlink("two", "one"), file("./dot/x", "dot"), file("/abs", "abs")),
		tarOf(t, file("etc/.wh.gone", ""), file("etc/kept", "new"), file("full/.wh..wh..opq", ""), file("full/c", "c"),
			file("bin/tool", "through the link"), dir("was-a-file"), file("was-a-file/y", "y"), symlink("was-a-folder", "etc"),
			hardlink("three", "two"), file("one", "replaced"), file(".wh..wh.plnk", ""), entry{"dev/null", tar.TypeChar, 0o666, ""},
			entry{"pipe", tar.TypeFifo, 0o600, ""}, file("born/here", "x"), file("born/.wh.here", "")),
	)
	dirPath := t.TempDir()
	r, err := image.Fetch(soon(t), claudehub.Base{Kind: claudehub.BaseArchive, Ref: saved(t, img)}, dirPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"5 ./ ", "0 abs abs", "2 bin usr/bin", "5 born/ ", "0 born/here x", "5 dot/ ", "0 dot/x dot", "5 etc/ ", "0 etc/kept new",
		"5 full/ ", "0 full/c c", "0 one replaced", "6 pipe ", "0 three shared", "1 two three", "5 usr/ ", "5 usr/bin/ ",
		"0 usr/bin/sh sh", "0 usr/bin/tool through the link", "5 was-a-file/ ", "0 was-a-file/y y", "2 was-a-folder etc",
	}
	got := listing(t, r.Tar)
	// What a layer puts and hides itself stays: a whiteout is for what is below. /dev has nothing but the node left out.
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Left != 1 || !slices.Equal(r.Env, []string{"LANG=C.UTF-8"}) || r.Arch != runtime.GOARCH || !strings.HasPrefix(r.Digest, "sha256:") {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(r.Tar)
	if err != nil || info.Size() != r.Bytes {
		t.Errorf("%v, %v", info, err)
	}
	again, err := image.Fetch(soon(t), claudehub.Base{Kind: claudehub.BaseArchive, Ref: saved(t, img)}, dirPath, nil)
	if err != nil || again.Digest != r.Digest || again.Tar != r.Tar {
		t.Errorf("%+v, %v", again, err)
	}
	if entries, err := os.ReadDir(dirPath); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := image.Forget(r); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dirPath)
}
