//go:build linux

package bubblewrap_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
)

// guest is the real guest program, built once, statically as it is shipped.
var guest string

// TestMain builds the guest program, unless the test binary was started as a helper in or beside a Sandbox.
func TestMain(m *testing.M) {
	if helper := os.Getenv("HUB_TEST_HELPER"); helper != "" {
		os.Exit(help(helper))
	}
	dir, err := os.MkdirTemp("", "hub-guest-")
	if err != nil {
		panic(err)
	}
	guest = filepath.Join(dir, "claude-hub-guest")
	build := exec.Command("go", "build", "-o", guest, "claude-hub/desktop/cmd/claude-hub-guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build guest: %v\n%s", err, out))
	}
	if err := os.Chmod(dir, 0o755); err != nil { // another user's Runner must reach it too
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// newBackend is a Backend on a short state folder of its own, whose Sandboxes are gone at the test's end.
func newBackend(t testing.TB) *bubblewrap.Backend {
	t.Helper()
	return backendAt(t, stateFolder(t))
}

// stateFolder is short enough for sockets, which t.TempDir is not for a test with a long name.
func stateFolder(t testing.TB) string {
	t.Helper()
	state, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	return state
}

func backendAt(t testing.TB, state string) *bubblewrap.Backend {
	t.Helper()
	b, err := bubblewrap.New(bubblewrap.Options{State: state, Guest: guest})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		infos, err := b.List(context.Background())
		if err != nil {
			t.Error(err)
		}
		for _, i := range infos {
			if err := b.Remove(context.Background(), i.ID); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

func ctx(t testing.TB) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return c
}

func start(t testing.TB, b *bubblewrap.Backend, spec sandbox.Spec) sandbox.ID {
	t.Helper()
	if spec.ID == "" {
		spec.ID = "s1"
	}
	if err := b.Start(ctx(t), spec); err != nil {
		t.Fatal(err)
	}
	return spec.ID
}

type result struct {
	out, err string
	code     int
}

// run runs a command to its end.
func run(t testing.TB, b *bubblewrap.Backend, id sandbox.ID, cmd sandbox.Command, stdin string) result {
	t.Helper()
	p, err := b.Exec(ctx(t), id, cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	go func() {
		_, _ = io.WriteString(p.Stdin(), stdin)
		_ = p.Stdin().Close()
	}()
	errs := make(chan string, 1)
	go func() {
		raw, _ := io.ReadAll(p.Stderr())
		errs <- string(raw)
	}()
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	r := result{out: string(out), err: <-errs}
	if r.code, err = p.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

func sh(t testing.TB, b *bubblewrap.Backend, id sandbox.ID, script string) result {
	t.Helper()
	return run(t, b, id, sandbox.Command{Path: "sh", Args: []string{"-c", script}}, "")
}

// must is sh for a script that has to succeed; it returns what it printed, without the last line end.
func must(t testing.TB, b *bubblewrap.Backend, id sandbox.ID, script string) string {
	t.Helper()
	r := sh(t, b, id, script)
	if r.code != 0 {
		t.Fatalf("%s: code %d, %s", script, r.code, r.err)
	}
	return strings.TrimSuffix(r.out, "\n")
}
