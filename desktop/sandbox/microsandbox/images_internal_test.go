package microsandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// rootfs is a small root filesystem.
func rootfs(t *testing.T, names ...string) (path string, raw []byte) {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "rootfs.tar")
	write(t, path, buf.String())
	return path, buf.Bytes()
}

// loads is an msb that keeps what it is given, and makes the layer that it names.
const loads = `case "$1" in
load) cat >"$MSB_HOME/got.tar"; d=$(tar xOf "$MSB_HOME/got.tar" config.json | sed 's/.*sha256:\([0-9a-f]*\).*/\1/')
  mkdir -p "$MSB_HOME/cache/layers"; head -c 10000 /dev/zero >"$MSB_HOME/cache/layers/sha256_$d.erofs";;
image|snapshot|rm|ps) echo "$*" >>"$MSB_HOME/asked";;
*) echo "error: $1 was not expected" >&2; exit 1;;
esac`

func TestImport(t *testing.T) {
	b := backend(t, loads)
	path, raw := rootfs(t, "./bin/sh", "./etc/passwd")
	var last float64
	if err := b.Import(soon(t), path, "base", func(f float64) { last = f }); err != nil {
		t.Fatal(err)
	}
	if last != 1 {
		t.Errorf("progress ended at %v", last)
	}
	f, err := os.Open(filepath.Join(b.home(), "got.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF { //nolint:errorlint // a tar.Reader returns it as it is
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files["layer.tar"], raw) {
		t.Error("the layer is another")
	}
	sum := sha256.Sum256(raw)
	if want := "sha256:" + hex.EncodeToString(sum[:]); !contains(string(files["config.json"]), want) {
		t.Errorf("%s is not in %s", want, files["config.json"])
	}
	var manifest []struct{ RepoTags, Layers []string }
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 || manifest[0].RepoTags[0] != "claude-hub/base:1" {
		t.Errorf("%s, %v", files["manifest.json"], err)
	}
	if err := b.Import(soon(t), "/gone", "base", nil); err != nil {
		t.Errorf("one that is there was made again: %v", err)
	}
	if infos, err := b.Images(soon(t)); err != nil || len(infos) != 1 || infos[0].Image != "base" || infos[0].Bytes == 0 {
		t.Errorf("%+v, %v", infos, err)
	}
}

func TestWhatIsNotImported(t *testing.T) {
	b := backend(t, loads)
	good, raw := rootfs(t, "usr/bin/sh", "a", "b")
	half := filepath.Join(t.TempDir(), "half.tar")
	write(t, half, string(raw[:1500]))
	zip := filepath.Join(t.TempDir(), "root.tar.gz")
	write(t, zip, "\x1f\x8b\x08nonsense nonsense nonsense")
	bare, _ := rootfs(t, "etc/passwd")
	for name, c := range map[string]struct {
		path  string
		code  claudehub.Code
		words string
	}{
		"cut":        {half, claudehub.Invalid, "no whole uncompressed tar"},
		"compressed": {zip, claudehub.Invalid, "no whole uncompressed tar"},
		"no shell":   {bare, claudehub.Invalid, "no /bin/sh"},
		"gone":       {"/gone.tar", claudehub.NotFound, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, b.Import(soon(t), c.path, "x", nil), c.code, c.words)
		})
	}
	refused(t, b.Import(soon(t), good, "Not-A-Name", nil), claudehub.Invalid, "no Image's name")
	ctx, cancel := context.WithCancel(soon(t))
	cancel()
	if err := b.Import(ctx, good, "y", nil); err == nil {
		t.Error("a cancelled import succeeded")
	}
	full := backend(t, `cat >/dev/null; echo "error: No space left on device" >&2; exit 1`)
	refused(t, full.Import(soon(t), good, "z", nil), claudehub.Unavailable, "disk of this machine is full")
	for _, b := range []*Backend{b, full} {
		if infos, err := b.Images(soon(t)); err != nil || len(infos) != 0 {
			t.Errorf("%+v, %v", infos, err)
		}
	}
}

// TestABaseGoesWithTheLastThatLiesOnIt: committed Images need their base's layer, which RemoveImage therefore keeps.
func TestABaseGoesWithTheLastThatLiesOnIt(t *testing.T) {
	b := backend(t, loads)
	path, _ := rootfs(t, "bin/sh")
	if err := b.Import(soon(t), path, "base", nil); err != nil {
		t.Fatal(err)
	}
	for i, name := range []sandbox.Image{"env-1", "env-2"} {
		write(t, filepath.Join(b.snapshot(name), "upper.ext4"), "changed")
		if err := saveJSON(b.imageFile(name), imageRecord{Image: name, Kind: committed, Base: "base", Created: time.Now().Add(time.Duration(i) * time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, b.box("user").record(), `{"version":1,"made":"x","image":"env-2"}`)
	refused(t, b.RemoveImage(soon(t), "env-2"), claudehub.Conflict, "in use by 1 Sandboxes")
	if err := os.RemoveAll(b.box("user").dir); err != nil {
		t.Fatal(err)
	}
	before := total(t, b)
	if err := b.RemoveImage(soon(t), "base"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.image("base"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("it can still be started from: %v", err)
	}
	if asked, _ := os.ReadFile(filepath.Join(b.home(), "asked")); len(asked) > 0 {
		t.Errorf("msb was asked to %s", asked)
	}
	if after := total(t, b); after != before {
		t.Errorf("%d bytes are there, and %d are told", before, after)
	}
	for _, name := range []sandbox.Image{"env-1", "env-2"} {
		if err := b.RemoveImage(soon(t), name); err != nil {
			t.Fatal(err)
		}
	}
	asked, _ := os.ReadFile(filepath.Join(b.home(), "asked"))
	if want := "snapshot rm -f env-1\nsnapshot rm -f env-2\nimage rm -f claude-hub/base:1\n"; string(asked) != want {
		t.Errorf("msb was asked to %q", asked)
	}
	if infos, err := b.Images(soon(t)); err != nil || len(infos) != 0 {
		t.Errorf("%+v, %v", infos, err)
	}
}

func total(t *testing.T, b *Backend) (n int64) {
	t.Helper()
	infos, err := b.Images(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		n += i.Bytes
	}
	return n
}
