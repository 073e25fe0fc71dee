//go:build linux

package bubblewrap

import (
	"os"
	"path/filepath"
	"testing"

	"claude-hub/desktop/sandbox"
)

func TestMountLine(t *testing.T) {
	kind, point, root, options := mountLine("35 24 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:15 master:2 - cgroup cgroup rw,memory\n")
	if kind != "cgroup" || point != "/sys/fs/cgroup/memory" || root != "/" || len(options) != 2 || options[1] != "memory" {
		t.Errorf("got %q %q %q %q", kind, point, root, options)
	}
	for _, line := range []string{"", "\n", " - ", "35 24 0:30 / - cgroup2", "35 24 0:30 / /x rw"} {
		if kind, _, _, _ := mountLine(line); kind != "" {
			t.Errorf("%q is a mount of kind %q", line, kind)
		}
	}
}

func TestOwnPath(t *testing.T) {
	const own = "9:name=systemd:/\n8:cpu,cpuacct:/a\n4:memory:/process/x:y\n0::/user.slice/me\n"
	for controller, want := range map[string]string{"memory": "/process/x:y", "cpuacct": "/a", "": "/user.slice/me", "pids": "/"} {
		if got := ownPath(own, controller); got != want {
			t.Errorf("%q: %q, want %q", controller, got, want)
		}
	}
}

func TestPlace(t *testing.T) {
	top := t.TempDir()
	if err := os.MkdirAll(filepath.Join(top, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ root, own, want string }{
		{"/", "/a/b", "a/b"},
		{"/docker/1", "/docker/1/a", "a"},
		{"/docker/1", "/docker/1", "."},
		{"/", "/not/here", "."},
		{"/docker/1", "/elsewhere", "."},
	} {
		if got := place(top, c.root, c.own); got != filepath.Join(top, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestDelegated plays a unified tree with plain files: what the kernel would refuse is not played.
func TestDelegated(t *testing.T) {
	top := t.TempDir()
	slice := filepath.Join(top, "app.slice")
	own := filepath.Join(slice, "claude-hub.service")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := delegated(top, own); got != "" {
		t.Errorf("without cgroup files: %q", got)
	}
	for _, dir := range []string{slice, own} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := delegated(top, own); got != "" {
		t.Errorf("without controllers: %q", got)
	}
	if err := os.WriteFile(filepath.Join(slice, "cgroup.subtree_control"), []byte("memory"), 0o444); err != nil {
		t.Fatal(err)
	}
	b := bounds{memory: slice, processes: slice, cpu: slice, v2: true}
	limits := limitsOf(1<<20, 10)
	limits.CPUs = 3
	dirs, err := b.enclose("/state", "s1", limits)
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	for name, want := range map[string]string{"memory.max": "1048576", "pids.max": "10", "cpu.max": "300000 100000"} {
		if raw, err := os.ReadFile(filepath.Join(dirs[0], name)); err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	if err := enter(dirs, 42); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(dirs[0], "cgroup.procs")); err != nil || string(raw) != "42" {
		t.Errorf("%q, %v", raw, err)
	}
	if none, err := b.enclose("/state", "s2", limitsOf(0, 0)); err != nil || len(none) != 0 {
		t.Errorf("without limits: %v, %v", none, err)
	}
}

func limitsOf(memory int64, processes int) sandbox.Limits {
	return sandbox.Limits{MemoryBytes: memory, Processes: processes}
}
