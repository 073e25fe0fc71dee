//go:build linux

package microsandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestRigLifecycle(t *testing.T) {
	b := rig(t)
	spec := small(t, "life_1")
	began := time.Now()
	id := start(t, b, spec)
	t.Logf("import %v, start %v", shared.imported.Round(time.Second), time.Since(began).Round(100*time.Millisecond))

	if err := b.Start(long(t), spec); err != nil {
		t.Errorf("a running one was not left as it is: %v", err)
	}
	if err := b.Ping(long(t), id); err != nil {
		t.Error(err)
	}
	sh(t, b, id, "echo system >/etc/marker; echo volume >/workspace/marker; echo gone >/tmp/marker")
	if raw, err := os.ReadFile(filepath.Join(spec.Mounts[0].Host, "marker")); err != nil || string(raw) != "volume\n" {
		t.Errorf("the host sees %q, %v", raw, err)
	}
	if got := state(t, b, id); got != sandbox.Running {
		t.Errorf("it is %s", got)
	}

	began = time.Now()
	if err := b.Stop(long(t), id, times(2*time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Logf("stop %v", time.Since(began).Round(100*time.Millisecond))
	if got := state(t, b, id); got != sandbox.Stopped {
		t.Errorf("it is %s", got)
	}
	if _, err := b.Exec(long(t), id, sandbox.Command{Path: "true"}); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("exec woke it, or: %v", err)
	}
	if err := b.Ping(long(t), id); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("ping woke it, or: %v", err)
	}
	if err := b.Stop(long(t), id, time.Second); err != nil {
		t.Errorf("the second stop: %v", err)
	}
	if s, err := b.Stats(long(t), id); err != nil || s.DiskBytes == 0 || s.MemoryBytes != 0 {
		t.Errorf("%+v, %v", s, err)
	}

	began = time.Now()
	if err := b.Start(long(t), spec); err != nil {
		t.Fatal(err)
	}
	t.Logf("start again %v", time.Since(began).Round(100*time.Millisecond))
	if got := sh(t, b, id, "cat /etc/marker /workspace/marker; ls /tmp"); got != "system\nvolume" {
		t.Errorf("after the sleep: %q", got)
	}

	// Another Spec makes another VM; the mounted folder stays.
	if err := b.Stop(long(t), id, time.Second); err != nil {
		t.Fatal(err)
	}
	spec.Limits.MemoryBytes = 640 << 20
	if err := b.Start(long(t), spec); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, b, id, "cat /etc/marker 2>&1; cat /workspace/marker; awk '/MemTotal/ {print int($2/1024/100)}' /proc/meminfo"); !strings.HasSuffix(got, "volume\n6") || strings.Contains(got, "system") {
		t.Errorf("after the change: %q", got)
	}
	if err := b.Remove(long(t), id); err != nil {
		t.Fatal(err)
	}
	if got := state(t, b, id); got != "" {
		t.Errorf("a removed one is %s", got)
	}
	if _, err := b.Stats(long(t), id); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
	if err := b.Remove(long(t), id); err != nil {
		t.Errorf("the second remove: %v", err)
	}
}

// state is what List says of one Sandbox; "" when it does not name it.
func state(t testing.TB, b sandbox.Backend, id sandbox.ID) sandbox.State {
	t.Helper()
	infos, err := b.List(long(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.ID == id {
			return i.State
		}
	}
	return ""
}
