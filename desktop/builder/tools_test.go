//go:build linux

package builder_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/claude/claudetest"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// aptGet is a package manager of this test's own: it has what is put beside it, and a network or none.
const aptGet = `#!/bin/sh
echo "apt-get $*"
case $1 in
update) [ -e /network ] || { echo "E: no network"; exit 100; } ;;
install)
  for p; do
    case $p in
    install|-*|Dpkg*) ;;
    ca-certificates) mkdir -p /etc/ssl/certs; echo x > /etc/ssl/certs/ca-certificates.crt ;;
    *) [ -e /packages/$p ] || { echo "E: no package $p"; exit 100; } ;;
    esac
  done
  for p; do [ -e /packages/$p ] && cp /packages/$p /usr/bin/$p; done
  ;;
esac
exit 0
`

// rootWithPackages has a package manager and the packages named, and no tools.
func rootWithPackages(t *testing.T, network bool, packages ...string) string {
	t.Helper()
	r := filepath.Join(t.TempDir(), "root")
	if err := makeRoot(r, append(plain, "tmux", "git")...); err != nil {
		t.Fatal(err)
	}
	if err := addTools(r); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r, "packages"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"tmux", "git", "gh"} {
		to := filepath.Join(t.TempDir(), p)
		for _, have := range packages {
			if p == have {
				to = filepath.Join(r, "packages", p)
			}
		}
		if err := os.Rename(filepath.Join(r, "usr/bin", p), to); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(r, "etc/ssl/certs/ca-certificates.crt")); err != nil {
		t.Fatal(err)
	}
	if network {
		if err := os.WriteFile(filepath.Join(r, "network"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r, "usr/bin/apt-get"), []byte(aptGet), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMissingToolsAreInstalledOnce(t *testing.T) {
	y := newYard(t)
	rec := recipe("")
	rec.Base.Ref = rootWithPackages(t, true, "tmux", "git", "gh")
	r, w := request(rec)
	img := y.must(r)
	if d := w.last().Steps[1].Detail; d != "installed with apt-get: tmux, git, gh, ca-certificates" {
		t.Errorf("%q", d)
	}
	if !strings.HasPrefix(string(img), "tools-") || !strings.Contains(y.log(r.ID), "apt-get update") {
		t.Errorf("%s\n%s", img, y.log(r.ID))
	}
	rec.Setup = "tmux -V"
	r, w = request(rec)
	y.must(r)
	if s := w.last().Steps[1]; s.State != claudehub.StepCached {
		t.Errorf("%+v", s)
	}
}

func TestToolsWithoutANetwork(t *testing.T) {
	y := newYard(t)
	rec := recipe("true")
	rec.Base.Ref = rootWithPackages(t, false, "tmux", "git", "gh")
	r, w := request(rec)
	f := y.fails(r)
	if !strings.HasPrefix(f.Failure.Step, "Tools") || !strings.Contains(f.Failure.Reason, "reaches no packages") || !f.Failure.Retry ||
		!strings.Contains(f.Failure.Detail, "no network") {
		t.Errorf("%+v", f.Failure)
	}
	if infos, err := y.backend.List(soon(t)); err != nil || len(infos) != 0 || !w.last().Kept.IsZero() {
		t.Errorf("left: %v, %v", infos, err)
	}
}

// TestAToolThatNobodyPacks is the setup script's to bring, and the test's to miss.
func TestAToolThatNobodyPacks(t *testing.T) {
	y := newYard(t)
	rec := recipe("")
	rec.Base.Ref = rootWithPackages(t, true, "tmux", "git")
	r, w := request(rec)
	f := y.fails(r)
	if !strings.Contains(f.Failure.Reason, "has no gh,") || !strings.Contains(w.last().Steps[1].Detail, "not among this image's packages: gh") {
		t.Errorf("%+v, %+v", f.Failure, w.last().Steps[1])
	}
	rec.Setup = "true"
	r, _ = request(rec)
	if f := y.fails(r); f.Failure.Step != "Smoke test" || !strings.Contains(f.Failure.Reason, "no working gh") {
		t.Errorf("%+v", f.Failure)
	}
	rec.Setup = `printf '#!/bin/sh\necho mine\n' > /usr/bin/gh; chmod +x /usr/bin/gh`
	r, _ = request(rec)
	y.must(r)
}

// TestClaudeCodeMustStart in the new image, before it may be used.
func TestClaudeCodeMustStart(t *testing.T) {
	program := claudetest.Program(t)
	y := newYard(t, func(o *builder.Options) { o.Smoke = []sandbox.Command{smoke} })
	mounts := []sandbox.Mount{{Host: program, Guest: smoke.Path, ReadOnly: true}}
	r, w := request(recipe(""))
	r.Mounts = mounts
	withLibraries := filepath.Join(t.TempDir(), "root")
	if err := os.CopyFS(withLibraries, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := copyProgram(withLibraries, program, "usr/bin/unused"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(withLibraries, "usr/bin/unused")); err != nil {
		t.Fatal(err)
	}
	r.Recipe.Base.Ref = withLibraries
	y.must(r)
	if d := w.last().Steps[4].Detail; !strings.Contains(d, "Claude Code") {
		t.Errorf("%q", d)
	}
}

// TestAProgramThatCannotStart: the sentences for another C library and for another machine.
func TestAProgramThatCannotStart(t *testing.T) {
	raw, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	foreign := bytes.Clone(raw)
	binary.NativeEndian.PutUint16(foreign[18:], 0xf3) // a machine that this is not
	for name, c := range map[string]struct {
		program []byte
		reason  string
	}{
		"no loader":       {bytes.Replace(raw, []byte("ld-linux"), []byte("ld-other"), 1), "no glibc"},
		"another machine": {foreign, "cannot be executed"},
		"it fails":        {[]byte("#!/bin/sh\necho libz.so.1: not found\nexit 127\n"), "does not start"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, func(o *builder.Options) { o.Smoke = []sandbox.Command{smoke} })
			host := filepath.Join(t.TempDir(), "claude")
			if err := os.WriteFile(host, c.program, 0o755); err != nil {
				t.Fatal(err)
			}
			r, _ := request(recipe("true"))
			r.Mounts = []sandbox.Mount{{Host: host, Guest: smoke.Path, ReadOnly: true}}
			f := y.fails(r)
			if f.Failure.Step != "Smoke test" || !strings.Contains(f.Failure.Reason, c.reason) || name == "it fails" && !strings.Contains(f.Failure.Detail, "libz") {
				t.Errorf("%+v", f.Failure)
			}
			if got := y.images(); len(got) != 1 {
				t.Errorf("left: %v", got)
			}
		})
	}
}
