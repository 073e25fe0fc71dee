package claude_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const program = "#!/bin/sh\necho '9.9.9 (Claude Code)'\n"

// tarball makes a package; its files are given as pairs of name and content.
func tarball(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o755, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		if link, ok := strings.CutPrefix(files[i+1], "link:"); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, link, 0
			files[i+1] = ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// registry is a program in npm's place that hands out one package and counts how often it was asked.
type registry struct{ npm, count string }

func newRegistry(t *testing.T, pkg []byte, before string) registry {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "package"), string(pkg))
	r := registry{filepath.Join(dir, "npm"), filepath.Join(dir, "count")}
	script := "#!/bin/sh\necho \"$@\" >>" + r.count + "\n" + before + "\n" +
		"while [ \"$1\" != --pack-destination ]; do shift; done\ncp " + filepath.Join(dir, "package") + " \"$2/p.tgz\"\n"
	put(t, r.npm, script)
	if err := os.Chmod(r.npm, 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r registry) asked() int {
	b, _ := os.ReadFile(r.count)
	return bytes.Count(b, []byte("\n"))
}

func release(pkg []byte) claude.Release {
	sum := sha512.Sum512(pkg)
	return claude.Release{Version: "9.9.9", Integrity: map[claude.Platform]string{claude.LinuxX64: base64.StdEncoding.EncodeToString(sum[:])}}
}

// stateDir is a folder whose read-only parts can be removed at the end.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "claude")
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	return dir
}

func TestFetchKeepsReadOnlyAndOnce(t *testing.T) {
	pkg := tarball(t, "package/package.json", "{}", "package/claude", program, "../../evil", "x")
	npm := newRegistry(t, pkg, "")
	dir := stateDir(t)
	s := claude.NewStore(claude.Options{Dir: dir, Release: release(pkg), NPM: npm.npm})
	var steps []string
	p, err := s.Program(t.Context(), claude.LinuxX64, func(p claude.Progress) {
		if p.Done > 1 {
			t.Errorf("%+v", p)
		}
		steps = append(steps, p.Step)
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(p.Path)
	if err != nil || string(b) != program || p.Version != "9.9.9" || p.Path != filepath.Join(p.Dir, "claude") {
		t.Errorf("%+v %q %v", p, b, err)
	}
	for _, path := range []string{p.Path, p.Dir} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if all := strings.Join(steps, ","); !strings.Contains(all, "Downloading") || !strings.Contains(all, "Checking") || !strings.Contains(all, "Unpacking") {
		t.Error(all)
	}
	if again, err := s.Program(t.Context(), claude.LinuxX64, nil); err != nil || again != p || npm.asked() != 1 {
		t.Errorf("%+v, %v, asked %d times", again, err, npm.asked())
	}
	if err := s.Verify(t.Context(), claude.LinuxX64); err != nil {
		t.Error(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, ".fetch-*")); len(found) != 0 {
		t.Errorf("left behind: %q", found)
	}
}

func TestFetchSharedByAll(t *testing.T) {
	pkg := tarball(t, "package/claude", program)
	npm := newRegistry(t, pkg, "sleep 0.3")
	dir := stateDir(t)
	s := claude.NewStore(claude.Options{Dir: dir, Release: release(pkg), NPM: npm.npm})
	other := claude.NewStore(claude.Options{Dir: dir, Release: release(pkg), NPM: npm.npm}) // as another process
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			store := s
			if i%2 == 1 {
				store = other
			}
			if _, err := store.Program(t.Context(), claude.LinuxX64, func(claude.Progress) {}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if npm.asked() != 1 {
		t.Errorf("npm was asked %d times", npm.asked())
	}
}

// The fetch ends when nobody waits for it any more, and goes on while somebody does.
func TestFetchCancelled(t *testing.T) {
	pkg := tarball(t, "package/claude", program)
	gate := filepath.Join(t.TempDir(), "gate")
	npm := newRegistry(t, pkg, "while [ ! -e "+gate+" ]; do sleep 0.05; done")
	dir := stateDir(t)
	s := claude.NewStore(claude.Options{Dir: dir, Release: release(pkg), NPM: npm.npm})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	began := make(chan bool, 10)
	go func() {
		_, err := s.Program(ctx, claude.LinuxX64, func(claude.Progress) {
			select {
			case began <- true:
			default:
			}
		})
		first <- err
	}()
	<-began
	go func() {
		_, err := s.Program(t.Context(), claude.LinuxX64, func(claude.Progress) {
			select {
			case began <- true:
			default:
			}
		})
		second <- err
	}()
	<-began // a late caller hears at once how far it is
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	put(t, gate, "")
	if err := <-second; err != nil {
		t.Error(err)
	}
	if npm.asked() != 1 {
		t.Errorf("npm was asked %d times", npm.asked())
	}
}

func TestFetchAloneCancelledLeavesNothing(t *testing.T) {
	pkg := tarball(t, "package/claude", program)
	npm := newRegistry(t, pkg, "sleep 600")
	dir := stateDir(t)
	s := claude.NewStore(claude.Options{Dir: dir, Release: release(pkg), NPM: npm.npm})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Program(ctx, claude.LinuxX64, func(claude.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(dir, ".fetch-*"))
		if len(found) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %q", found)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	good := tarball(t, "package/claude", program)
	for name, c := range map[string]struct {
		pkg    []byte
		pinned []byte
		before string
		want   string
	}{
		"another package":   {tarball(t, "package/claude", "evil"), good, "", "not the one that was expected"},
		"no program":        {tarball(t, "package/other", program), nil, "", "has no program"},
		"a link as program": {tarball(t, "package/claude", "link:/bin/sh"), nil, "", "has no program"},
		"npm fails":         {good, good, "echo no network >&2; exit 1", "npm could not download"},
		"not an archive":    {[]byte("hello"), nil, "", "could not be put"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.pinned == nil {
				c.pinned = c.pkg
			}
			dir := stateDir(t)
			s := claude.NewStore(claude.Options{Dir: dir, Release: release(c.pinned), NPM: newRegistry(t, c.pkg, c.before).npm})
			_, err := s.Program(t.Context(), claude.LinuxX64, nil)
			if claudehub.CodeOf(err) != claudehub.Unavailable || !strings.Contains(claudehub.MessageOf(err), c.want) {
				t.Errorf("%v", err)
			}
			left, _ := os.ReadDir(dir)
			if len(left) != 1 || left[0].Name() != ".lock" {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestNoNPMSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := claude.NewStore(claude.Options{Dir: stateDir(t)})
	_, err := s.Program(t.Context(), claude.LinuxX64, nil)
	if !strings.Contains(claudehub.MessageOf(err), "Install Node.js") {
		t.Error(err)
	}
	_, err = s.Program(t.Context(), "plan9-mips", nil)
	if !strings.Contains(claudehub.MessageOf(err), "no build for plan9-mips") {
		t.Error(err)
	}
}

func TestDamagedIsFetchedAgain(t *testing.T) {
	pkg := tarball(t, "package/claude", program)
	npm := newRegistry(t, pkg, "")
	s := claude.NewStore(claude.Options{Dir: stateDir(t), Release: release(pkg), NPM: npm.npm})
	for i, damage := range []func(p claude.Program) error{
		func(p claude.Program) error { return errors.Join(os.Chmod(p.Path, 0o755), os.Truncate(p.Path, 3)) },
		func(p claude.Program) error { return errors.Join(os.Chmod(p.Dir, 0o755), os.Remove(p.Path)) },
		func(p claude.Program) error {
			return errors.Join(os.Chmod(p.Dir, 0o755), os.Chmod(p.Dir+"/program.json", 0o644), os.WriteFile(p.Dir+"/program.json", []byte("{"), 0o644))
		},
		func(p claude.Program) error { // the same size: only the whole check can tell
			bad := strings.Replace(program, "9", "8", 1)
			err := errors.Join(os.Chmod(p.Path, 0o755), os.WriteFile(p.Path, []byte(bad), 0o755), os.Chmod(p.Path, 0o555))
			if verr := s.Verify(t.Context(), claude.LinuxX64); !strings.Contains(claudehub.MessageOf(verr), "was damaged") {
				return fmt.Errorf("not found: %w", verr)
			}
			return err
		},
	} {
		p, err := s.Program(t.Context(), claude.LinuxX64, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		if err := damage(p); err != nil {
			t.Fatal(i, err)
		}
		if p, err = s.Program(t.Context(), claude.LinuxX64, nil); err != nil {
			t.Fatal(i, err)
		}
		if b, _ := os.ReadFile(p.Path); string(b) != program {
			t.Errorf("%d: %q", i, b)
		}
	}
	if npm.asked() != 5 {
		t.Errorf("asked %d times", npm.asked())
	}
}

func TestLocalProgram(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/good", program)
	put(t, dir+"/other", "#!/bin/sh\necho hello\n")
	put(t, dir+"/plain", "x")
	for _, f := range []string{"/good", "/other"} {
		if err := os.Chmod(dir+f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/none": "There is no Claude Code", "/plain": "is not a program", "/other": "does not answer", "": "is not a program"} {
		s := claude.NewStore(claude.Options{Local: dir + path})
		if _, err := s.Program(t.Context(), claude.LinuxX64, nil); !strings.Contains(claudehub.MessageOf(err), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	p, err := claude.NewStore(claude.Options{Local: dir + "/good"}).Program(t.Context(), claude.LinuxX64, nil)
	if err != nil || p.Version != "9.9.9" || p.Path == "" || p.Dir != "" {
		t.Errorf("%+v, %v", p, err)
	}
}
