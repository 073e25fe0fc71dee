package microsandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestMsbIsFoundAndAsked(t *testing.T) {
	t.Run("nowhere", func(t *testing.T) {
		b := backend(t, "")
		b.program = ""
		t.Setenv("PATH", "/nonexistent")
		_, err := b.tool(soon(t))
		refused(t, err, claudehub.Unavailable, "doctor --install")
	})
	t.Run("installed comes before PATH", func(t *testing.T) {
		b := backend(t, "")
		b.program = ""
		write(t, b.installed(), "#!/bin/sh\necho msb "+Pinned+"\n")
		if got, err := b.tool(soon(t)); err != nil || got != b.installed() {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("another version", func(t *testing.T) {
		b := backend(t, "")
		write(t, b.program, "#!/bin/sh\necho msb 0.7.2\n")
		_, err := b.tool(soon(t))
		refused(t, err, claudehub.Unavailable, "version 0.7.2")
	})
	t.Run("upgraded underneath", func(t *testing.T) {
		b := backend(t, "")
		if _, err := b.tool(soon(t)); err != nil {
			t.Fatal(err)
		}
		write(t, b.program, "#!/bin/sh\necho msb 0.7.2 and more\n")
		_, err := b.tool(soon(t))
		refused(t, err, claudehub.Unavailable, "version 0.7.2")
	})
	t.Run("does not run", func(t *testing.T) {
		b := backend(t, "")
		write(t, b.program, "#!/bin/sh\necho no such library >&2; exit 127\n")
		_, err := b.tool(soon(t))
		refused(t, err, claudehub.Unavailable, "does not run here")
	})
	t.Run("not there", func(t *testing.T) {
		b := backend(t, "")
		b.program += "-gone"
		_, err := b.tool(soon(t))
		refused(t, err, claudehub.Unavailable, "cannot be used")
	})
}

func TestMsbGetsNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "secret")
	b := backend(t, "env")
	out, err := b.msb(soon(t), call{args: []string{"x"}})
	if err != nil || contains(string(out), "secret") || !contains(string(out), "MSB_HOME="+b.home()) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestALockedDatabaseIsWaitedFor(t *testing.T) {
	const locked = `echo 'error: database error: Execution Error: error returned from database: (code: 5) database is locked' >&2; exit 1`
	b := backend(t, `n=$(cat "$MSB_HOME/n" 2>/dev/null || echo 0); echo $((n+1)) >"$MSB_HOME/n"; [ $n -ge 2 ] || { `+locked+`; }; echo fine`)
	if out, err := b.msb(soon(t), call{args: []string{"ls"}}); err != nil || string(out) != "fine\n" {
		t.Errorf("%q, %v", out, err)
	}
	b = backend(t, locked)
	_, err := b.msb(soon(t), call{args: []string{"ls"}, timeout: time.Second})
	refused(t, err, claudehub.Unavailable, "")
	if m := claudehub.MessageOf(err); !contains(m, "database") && !contains(m, "did not finish") {
		t.Errorf("got %q", m)
	}
}

func TestMsbHasADeadline(t *testing.T) {
	b := backend(t, "trap '' INT; exec sleep 60")
	began := time.Now()
	_, err := b.msb(soon(t), call{args: []string{"stop"}, timeout: 50 * time.Millisecond})
	refused(t, err, claudehub.Unavailable, `did not finish "stop"`)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.msb(ctx, call{args: []string{"stop"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's own deadline: %v", err)
	}
}

// TestSentences are msb's own words, as 0.6.18 says them, and what a person reads.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		stderr string
		code   claudehub.Code
		words  string
	}{
		{"error: image error: image not cached: docker.io/no/such:1", claudehub.NotFound, "Build the Environment again"},
		{"error: failed to start \"s1\"\n  → image: trampoline rootfs: strict stat virtualization requires xattr write support on the mount root", claudehub.Unavailable, "extended attributes"},
		{"error: failed to start \"t1\"\n  → other: file mount opt_exp: failed to open host file /share/exp: strict stat virtualization requires xattr read support on the mount root", claudehub.Unavailable, "extended attributes"},
		{"error: io error: No space left on device (os error 28)", claudehub.Unavailable, "disk of this machine is full"},
		{"error: sandbox already exists: sandbox 'c1' already exists; remove it", claudehub.Conflict, "none of this Runner's"},
		{"error: failed to start \"x3\"\n  → other: sandbox process exited (signal: 6 (SIGABRT)) before agent relay became available", claudehub.Unavailable, "doctor"},
		{"error: corrupt layer", claudehub.Unavailable, "damaged"},
		{"error: failed to start\n  → other: Cannot allocate memory (os error 12)", claudehub.Unavailable, "free memory"},
		{"error: failed to start \"s\"\n  → vm: something new", claudehub.Internal, `msb says "vm: something new"`},
	} {
		err := sentence(soon(t), &failure{"create", 1, c.stderr}, "The Sandbox did not start")
		refused(t, err, c.code, c.words)
	}
	refused(t, sentence(soon(t), &failure{"create", -1, ""}, "The Sandbox did not start"), claudehub.Unavailable, "killed msb")
	if got := tail([]byte("numeric field: \x1b[31m\xff\xfe")); contains(got, "\x1b") || contains(got, "\xff") {
		t.Errorf("raw bytes are shown: %q", got)
	}
}

func TestInstall(t *testing.T) {
	npm := func(t *testing.T, version string) {
		t.Helper()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "npm"), `#!/bin/sh
for a; do case "$prev" in --prefix) root=$a;; esac; prev=$a; last=$a; done
case "$last" in @superradcompany/microsandbox-*@`+Pinned+`) ;; *) echo "asked for $last" >&2; exit 1;; esac
p="$root/node_modules/@superradcompany/microsandbox-x"; mkdir -p "$p/bin" "$p/lib"
printf '#!/bin/sh\necho msb `+version+`\n' >"$p/bin/msb"; echo >"$p/lib/libkrunfw.so"; echo >"$p/big.node"
`)
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	t.Run("good", func(t *testing.T) {
		npm(t, Pinned)
		b := backend(t, "")
		b.program = ""
		for range 2 { // the second time over the first
			if err := b.Install(soon(t)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := b.tool(soon(t)); err != nil || got != b.installed() {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := os.Stat(filepath.Join(b.state, "msb", "big.node")); err == nil {
			t.Error("what nobody needs was kept")
		}
		if left, _ := filepath.Glob(filepath.Join(b.tmp(), "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("another version", func(t *testing.T) {
		npm(t, "0.5.0")
		refused(t, backend(t, "").Install(soon(t)), claudehub.Unavailable, "npm fetched msb 0.5.0")
	})
	t.Run("npm fails", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "npm"), "#!/bin/sh\necho no network >&2; exit 1\n")
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		refused(t, backend(t, "").Install(soon(t)), claudehub.Unavailable, "npm could not fetch")
	})
	t.Run("no npm", func(t *testing.T) {
		t.Setenv("PATH", "/nonexistent")
		refused(t, backend(t, "").Install(soon(t)), claudehub.Unavailable, "Install Node.js")
	})
}
