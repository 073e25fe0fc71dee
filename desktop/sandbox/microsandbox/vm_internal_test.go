package microsandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestVMName(t *testing.T) {
	for want, args := range map[string][]string{
		"ch-1-x": {"/opt/msb", "sandbox", "--name", "ch-1-x", "--sandbox-id", "2"},
		"y":      {"msb", "sandbox", "--a", "b", "--name", "y"},
	} {
		if got := vmName(args); got != want {
			t.Errorf("%q of %q", got, args)
		}
	}
	for _, args := range [][]string{nil, {"msb"}, {"msb", "run", "-d", "--name", "x"}, {"msb", "sandbox", "--name"}, {"sh", "-c", "msb sandbox --name x"}} {
		if got := vmName(args); got != "" {
			t.Errorf("%q of %q", got, args)
		}
	}
}

// fakeVM is a process that looks like a Sandbox's VM, and has no agent.
func fakeVM(t *testing.T, b *Backend, id sandbox.ID) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "sandbox", "--name", b.vm(id))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
}

// TestAVMWithoutRecord: it is told, so that somebody can stop it, and it can be stopped; no msb is needed for that.
func TestAVMWithoutRecord(t *testing.T) {
	b := backend(t, `case "$1" in rm) exit 0;; esac; echo "error: not expected: $*" >&2; exit 1`)
	fakeVM(t, b, "lost")
	write(t, b.box("asleep").record(), `{"version":1,"made":"x","image":"i"}`)
	write(t, b.box("broken").record(), `{"vers`)
	infos, err := b.List(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	states := map[sandbox.ID]sandbox.State{}
	for _, i := range infos {
		states[i.ID] = i.State
	}
	if len(states) != 3 || states["lost"] != sandbox.Sick || states["asleep"] != sandbox.Stopped || states["broken"] != sandbox.Stopped {
		t.Errorf("got %v", states)
	}
	for _, call := range []func() error{
		func() error { return b.Ping(soon(t), "asleep") },
		func() error { _, err := b.Exec(soon(t), "asleep", sandbox.Command{Path: "true"}); return err },
		func() error { _, err := b.Dial(soon(t), "asleep", 1); return err },
		func() error { _, err := b.Stats(soon(t), "gone"); return err },
		func() error { _, err := b.RelayURL(soon(t), "gone"); return err },
	} {
		if err := call(); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("got %v", err)
		}
	}
	if s, err := b.Stats(soon(t), "lost"); err != nil || s.MemoryBytes == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.Stop(soon(t), "lost", time.Second); err != nil {
		t.Fatal(err)
	}
	if pid, err := b.pid("lost"); err != nil || pid != 0 {
		t.Errorf("it runs as %d, %v", pid, err)
	}
	for _, id := range []sandbox.ID{"lost", "asleep", "broken"} {
		if err := b.Remove(soon(t), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if infos, err := b.List(soon(t)); err != nil || len(infos) != 0 {
		t.Errorf("%v, %v", infos, err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.state, "lock", "*")); len(left) != 0 {
		t.Errorf("locks are left: %v", left)
	}
}

func TestIDs(t *testing.T) {
	b := backend(t, "")
	for _, id := range []sandbox.ID{"", "a/b", "..", "a b", "é"} {
		for _, err := range []error{
			b.Start(soon(t), sandbox.Spec{ID: id}), b.Stop(soon(t), id, 0), b.Remove(soon(t), id), b.Ping(soon(t), id), b.Commit(soon(t), id, "x"),
		} {
			if claudehub.CodeOf(err) != claudehub.Invalid {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}

func TestDoctor(t *testing.T) {
	b := backend(t, `echo '[]'`)
	names := map[string]sandbox.Finding{}
	for _, f := range b.Check(soon(t)) {
		if f.Name == "" || f.Detail == "" || !f.OK && f.Fix == "" {
			t.Errorf("a line that helps nobody: %+v", f)
		}
		names[f.Name] = f
	}
	for _, name := range []string{"msb", "guest program", "msb's state", "disk", "memory"} {
		if !names[name].OK {
			t.Errorf("%s: %+v", name, names[name])
		}
	}
	b = backend(t, `echo "error: database is locked" >&2; exit 1`)
	b.patience = 0.05
	if f := b.checkDatabase(soon(t)); f.OK || !f.Fatal || f.Fix == "" {
		t.Errorf("got %+v", f)
	}
}
