package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.uber.org/goleak"

	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a registry on loopback. before may answer in its place.
type shop struct {
	host   string
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newShop(t testing.TB) *shop {
	t.Helper()
	// Nothing of this machine's own configuration may matter, and nothing be sent anywhere.
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	s := &shop{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.before.Load(); f != nil && (*f)(w, r) {
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.host = strings.TrimPrefix(srv.URL, "http://")
	return s
}

func (s *shop) base(ref string) claudehub.Base {
	return claudehub.Base{Kind: claudehub.BaseRegistry, Ref: s.host + "/" + ref}
}

func (s *shop) push(t testing.TB, ref string, img remote.Taggable) {
	t.Helper()
	r, err := name.ParseReference(s.host + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	switch i := img.(type) {
	case v1.Image:
		err = remote.Write(r, i, remote.WithTransport(tr))
	case v1.ImageIndex:
		err = remote.WriteIndex(r, i, remote.WithTransport(tr))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// indexOf is an image for several machines.
func indexOf(t testing.TB, images map[string]v1.Image) v1.ImageIndex {
	t.Helper()
	var adds []mutate.IndexAddendum
	for platform, img := range images {
		system, cpu, _ := strings.Cut(platform, "/")
		adds = append(adds, mutate.IndexAddendum{Add: configured(t, img, system, cpu), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: cpu}}})
	}
	return mutate.AppendManifests(empty.Index, adds...)
}

func other() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

func TestFromARegistry(t *testing.T) {
	s := newShop(t)
	img := imageOf(t, tarOf(t, shell, file("a", strings.Repeat("text ", 100000))))
	s.push(t, "one:1", img)
	s.push(t, "many:1", indexOf(t, map[string]v1.Image{
		"linux/" + runtime.GOARCH: img, "linux/" + other(): imageOf(t, tarOf(t, shell, file("b", "other"))), "unknown/unknown": imageOf(t, tarOf(t, file("attestation", "x"))),
	}))
	dir := t.TempDir()
	var told []image.Progress
	r, err := image.Fetch(soon(t), s.base("one:1"), dir, func(p image.Progress) { told = append(told, p) })
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(t, r.Tar); len(got) != 4 || !strings.HasPrefix(got[1], "0 a text") {
		t.Errorf("%.50q", got)
	}
	var last int64
	for _, p := range told {
		if p.Step == "" || p.Done > p.Total && p.Total > 0 {
			t.Errorf("%+v", p)
		}
		last = max(last, p.Done)
	}
	if last < 500000 {
		t.Errorf("told %+v", told)
	}
	id, err := image.Identify(soon(t), s.base("one:1"))
	if err != nil || id != r.Source {
		t.Errorf("%q, %v; %+v", id, err, r)
	}
	many, err := image.Fetch(soon(t), s.base("many:1"), dir, nil)
	if err != nil || many.Digest != r.Digest {
		t.Errorf("%+v, %v", many, err)
	}
	// By digest; and a second time without a layer being sent.
	sent := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet && !strings.Contains(r.Header.Get("Accept"), "config") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		return false
	}
	s.before.Store(&sent)
	if again, err := image.Fetch(soon(t), s.base("one@"+r.Source), dir, nil); err != nil || again.Digest != r.Digest {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestRegistriesThatRefuse(t *testing.T) {
	s := newShop(t)
	s.push(t, "good:1", imageOf(t, tarOf(t, shell)))
	s.push(t, "bare:1", imageOf(t, tarOf(t, file("app", "x"))))
	s.push(t, "foreign:1", configured(t, imageOf(t, tarOf(t, shell)), "linux", other()))
	s.push(t, "windows:1", configured(t, imageOf(t, tarOf(t, shell)), "windows", runtime.GOARCH))
	s.push(t, "elsewhere:1", indexOf(t, map[string]v1.Image{"linux/" + other(): imageOf(t, tarOf(t, shell))}))
	s.push(t, "climbs:1", imageOf(t, tarOf(t, shell, file("../../x", "x"))))
	s.push(t, "lies:1", lying(t))
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	half := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
			return false
		}
		_, _ = w.Write([]byte("\x1f\x8b"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		ref    string
		before func(http.ResponseWriter, *http.Request) bool
		code   claudehub.Code
		says   string
	}{
		"no such image":      {"none:1", nil, claudehub.NotFound, "There is no image"},
		"no such tag":        {"good:2", nil, claudehub.NotFound, "There is no image"},
		"a login is missing": {"good:1", status(401), claudehub.Forbidden, "needs a login"},
		"forbidden":          {"good:1", status(403), claudehub.Forbidden, "needs a login"},
		"too many requests":  {"good:1", status(429), claudehub.TooMany, "enough requests"},
		"it is broken":       {"good:1", status(418), claudehub.Unavailable, "answered with an error (418)"},
		"no registry at all": {"good:1", func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true }, claudehub.Unavailable, "does not speak"},
		"it breaks off":      {"good:1", half, claudehub.Unavailable, "broke off"},
		"no shell":           {"bare:1", nil, claudehub.Invalid, "has no shell"},
		"another machine":    {"foreign:1", nil, claudehub.Invalid, "is for linux/" + other()},
		"another system":     {"windows:1", nil, claudehub.Invalid, "is for windows/"},
		"none for this":      {"elsewhere:1", nil, claudehub.Invalid, "not made for linux/" + runtime.GOARCH},
		"it climbs":          {"climbs:1", nil, claudehub.Invalid, "not safe"},
		"it lies":            {"lies:1", nil, claudehub.Invalid, "damaged"},
		"a bad name":         {"UPPER//x", nil, claudehub.Invalid, "not an image's name"},
	} {
		t.Run(name, func(t *testing.T) {
			s.before.Store(nil)
			if c.before != nil {
				s.before.Store(&c.before)
			}
			dir := t.TempDir()
			_, err := image.Fetch(soon(t), s.base(c.ref), dir, nil)
			if claudehub.CodeOf(err) != c.code || !strings.Contains(claudehub.MessageOf(err), c.says) {
				t.Errorf("%v", err)
			}
			nothingLeft(t, dir)
		})
	}
	s.before.Store(nil)
	for _, host := range []string{"127.0.0.1:1", "no-such-host.invalid"} {
		_, err := image.Fetch(soon(t), claudehub.Base{Kind: claudehub.BaseRegistry, Ref: host + "/x:1"}, t.TempDir(), nil)
		if claudehub.CodeOf(err) != claudehub.Unavailable || !strings.Contains(claudehub.MessageOf(err), "did not answer") {
			t.Errorf("%s: %v", host, err)
		}
		if _, err := image.Identify(soon(t), claudehub.Base{Kind: claudehub.BaseRegistry, Ref: host + "/x:1"}); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// lying is an image whose configuration names other layers than its manifest.
func lying(t testing.TB) v1.Image {
	t.Helper()
	img := imageOf(t, tarOf(t, shell))
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.RootFS.DiffIDs[0].Hex = strings.Repeat("0", 64)
	out, err := mutate.ConfigFile(img, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCredentialsAreThoseOfTheMachine's docker configuration.
func TestCredentialsAreThoseOfTheMachine(t *testing.T) {
	s := newShop(t)
	s.push(t, "private:1", imageOf(t, tarOf(t, shell)))
	guarded := func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, ok := r.BasicAuth(); ok && user == "me" && password == "word" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	s.before.Store(&guarded)
	if _, err := image.Fetch(soon(t), s.base("private:1"), t.TempDir(), nil); claudehub.CodeOf(err) != claudehub.Forbidden {
		t.Errorf("%v", err)
	}
	config := filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json")
	if err := os.WriteFile(config, []byte(`{"auths":{"`+s.host+`":{"username":"me","password":"word"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Fetch(soon(t), s.base("private:1"), t.TempDir(), nil); err != nil {
		t.Errorf("%v", err)
	}
	wrong := strings.Replace(`{"auths":{"HOST":{"username":"me","password":"secret-word"}}}`, "HOST", s.host, 1)
	if err := os.WriteFile(config, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := image.Fetch(soon(t), s.base("private:1"), t.TempDir(), nil)
	if claudehub.CodeOf(err) != claudehub.Forbidden || strings.Contains(err.Error(), "secret-word") {
		t.Errorf("%v", err)
	}
}

func TestACancelledFetchLeavesNothing(t *testing.T) {
	s := newShop(t)
	s.push(t, "slow:1", imageOf(t, tarOf(t, shell)))
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
			cancel()
			<-r.Context().Done()
			return true
		}
		return false
	}
	s.before.Store(&hang)
	dir := t.TempDir()
	if _, err := image.Fetch(ctx, s.base("slow:1"), dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	nothingLeft(t, dir)
}

func archive(path string) claudehub.Base {
	return claudehub.Base{Kind: claudehub.BaseArchive, Ref: path}
}

// laidOut writes an OCI layout's tar.
func laidOut(t testing.TB, index v1.ImageIndex) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "layout.tar")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := tar.NewWriter(out)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFromArchives(t *testing.T) {
	img := imageOf(t, tarOf(t, shell, file("a", "a")))
	plain := saved(t, img)
	raw, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	zipped := filepath.Join(t.TempDir(), "saved.tar.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(zipped, z.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	digest := ""
	for name, path := range map[string]string{
		"docker save": plain, "compressed": zipped, "layout": laidOut(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})),
		"layout for many": laidOut(t, indexOf(t, map[string]v1.Image{"linux/" + runtime.GOARCH: img, "linux/" + other(): imageOf(t, tarOf(t, shell))})),
	} {
		r, err := image.Fetch(soon(t), archive(path), t.TempDir(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if digest == "" {
			digest = r.Digest
		}
		if r.Digest != digest {
			t.Errorf("%s is another: %+v", name, r)
		}
	}
	a, err := image.Identify(soon(t), archive(plain))
	if err != nil || a == "" {
		t.Errorf("%q, %v", a, err)
	}
	if err := os.WriteFile(plain, raw[:len(raw)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := image.Identify(soon(t), archive(plain)); err != nil || b == a {
		t.Errorf("%q, %v", b, err)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	good := saved(t, imageOf(t, tarOf(t, shell, file("a", strings.Repeat("some text, ", 5000)))))
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "x.tar")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	at := bytes.Index(raw, []byte("\x1f\x8b"))
	if at < 0 {
		t.Fatal("no layer in it")
	}
	flipped := bytes.Clone(raw)
	flipped[at+40] ^= 0xff
	var bomb bytes.Buffer
	w := tar.NewWriter(&bomb)
	if err := w.WriteHeader(&tar.Header{Name: "manifest.json", Size: 100 << 20, Typeflag: tar.TypeReg, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	odd, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte("not a tar at all, but long enough to be looked at"), types.DockerUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		code claudehub.Code
		says string
	}{
		"missing":            {filepath.Join(t.TempDir(), "none.tar"), claudehub.NotFound, "There is no file"},
		"a folder":           {t.TempDir(), claudehub.Invalid, "not an image's archive"},
		"a pipe":             {fifo, claudehub.Invalid, "not an image's archive"},
		"empty":              {write(nil), claudehub.Invalid, "not an image's archive"},
		"garbage":            {write(bytes.Repeat([]byte("garbage "), 1000)), claudehub.Invalid, "not an image's archive"},
		"any tar":            {write(tarOf(t, file("x", "x"))), claudehub.Invalid, "not an image's archive"},
		"bad json":           {write(tarOf(t, file("manifest.json", "{"))), claudehub.Invalid, "not an image's archive"},
		"empty manifest":     {write(tarOf(t, file("manifest.json", "[]"))), claudehub.Invalid, "holds 0 images"},
		"bad layout":         {write(tarOf(t, file("index.json", "{}"), file("oci-layout", "{}"))), claudehub.Invalid, "not an image's archive"},
		"cut off":            {write(raw[:at+40]), claudehub.Invalid, "cut off"},
		"a flipped bit":      {write(flipped), claudehub.Invalid, "damaged"},
		"a huge manifest":    {write(bomb.Bytes()), claudehub.Invalid, "not an image's archive"},
		"not a tar":          {saved(t, configured(t, odd, "linux", runtime.GOARCH)), claudehub.Invalid, "not an image's archive"},
		"it lies":            {saved(t, lying(t)), claudehub.Invalid, "damaged"},
		"no shell":           {saved(t, imageOf(t, tarOf(t, file("app", "x")))), claudehub.Invalid, "has no shell"},
		"a dead shell":       {saved(t, imageOf(t, tarOf(t, symlink("bin/sh", "../../../none")))), claudehub.Invalid, "has no shell"},
		"a shell in circles": {saved(t, imageOf(t, tarOf(t, symlink("bin/sh", "sh2"), symlink("bin/sh2", "sh")))), claudehub.Invalid, "has no shell"},
		"another machine":    {saved(t, configured(t, imageOf(t, tarOf(t, shell)), "linux", other())), claudehub.Invalid, "is for linux/"},
		"it climbs":          {saved(t, imageOf(t, tarOf(t, shell, file("a/../../x", "x")))), claudehub.Invalid, "not safe"},
		"a link climbs":      {saved(t, imageOf(t, tarOf(t, shell, hardlink("x", "../../etc/passwd")))), claudehub.Invalid, "not safe"},
		"a link to none":     {saved(t, imageOf(t, tarOf(t, shell, hardlink("x", "none")))), claudehub.Invalid, "not an image's archive"},
		"circles":            {saved(t, imageOf(t, tarOf(t, shell, symlink("a", "b"), symlink("b", "a"), file("a/x", "x")))), claudehub.Invalid, "not an image's archive"},
		"a file as folder":   {saved(t, imageOf(t, tarOf(t, shell, file("a", "x"), file("a/x", "x")))), claudehub.Invalid, "not an image's archive"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := image.Fetch(soon(t), archive(c.path), dir, nil)
			if claudehub.CodeOf(err) != c.code || !strings.Contains(claudehub.MessageOf(err), c.says) {
				t.Errorf("%v", err)
			}
			nothingLeft(t, dir)
		})
	}
}

func folderBase(path string) claudehub.Base {
	return claudehub.Base{Kind: claudehub.BaseDirectory, Ref: path}
}

func TestFromAFolder(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(secret, []byte("outside"), 0o600), os.MkdirAll(filepath.Join(dir, "bin"), 0o755), os.MkdirAll(filepath.Join(dir, "locked"), 0o700),
		os.WriteFile(filepath.Join(dir, "bin", "sh"), []byte("#!"), 0o755), os.WriteFile(filepath.Join(dir, "locked", "f"), []byte("f"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "out")), os.Symlink("/etc", filepath.Join(dir, "etc")), os.Link(filepath.Join(dir, "locked", "f"), filepath.Join(dir, "same")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := tarFolder(t, dir)
	r, err := image.Fetch(soon(t), folderBase(dir), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(listing(t, r.Tar), "\n")
	want := "5 ./ \n5 bin/ \n0 bin/sh #!\n2 etc /etc\n5 locked/ \n0 locked/f f\n2 out " + secret + "\n6 pipe \n1 same locked/f"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if tarFolder(t, dir) != before {
		t.Error("the folder was changed")
	}
	if id, err := image.Identify(soon(t), folderBase(dir)); err != nil || id != "" {
		t.Errorf("%q, %v", id, err)
	}
	again, err := image.Fetch(soon(t), folderBase(dir), t.TempDir(), nil)
	if err != nil || again.Digest != r.Digest {
		t.Errorf("%+v, %v", again, err)
	}
}

// tarFolder is what can be seen of a folder, as a text.
func tarFolder(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out.WriteString(path + info.Mode().String() + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFoldersThatAreRefused(t *testing.T) {
	notDir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	raw, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	raw[18], raw[19] = 0xf3, 0 // another machine's number
	if err := errors.Join(os.Mkdir(filepath.Join(foreign, "bin"), 0o755), os.WriteFile(filepath.Join(foreign, "bin", "sh"), raw, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		code claudehub.Code
		says string
	}{
		"missing":         {filepath.Join(t.TempDir(), "none"), claudehub.NotFound, "There is no folder"},
		"a file":          {notDir, claudehub.Invalid, "is not a folder"},
		"not a root":      {t.TempDir(), claudehub.Invalid, "not a root filesystem"},
		"another machine": {foreign, claudehub.Invalid, "needs linux/" + runtime.GOARCH},
	} {
		dir := t.TempDir()
		_, err := image.Fetch(soon(t), folderBase(c.path), dir, nil)
		if claudehub.CodeOf(err) != c.code || !strings.Contains(claudehub.MessageOf(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		nothingLeft(t, dir)
	}
}

func TestSweepRemovesWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".fetch-1/layer-2", "rootfs-x.tar", "rootfs-x.json", "mine/keep"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 100), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := image.Sweep(dir); err != nil || n != 300 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine/keep")); err != nil {
		t.Error(err)
	}
	if n, err := image.Sweep(filepath.Join(dir, "none")); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}
