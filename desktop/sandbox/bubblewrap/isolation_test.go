//go:build linux

package bubblewrap_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
)

// TestWhatASandboxSees compares everything that it can see with the list of what it may.
func TestWhatASandboxSees(t *testing.T) {
	b := newBackend(t)
	t.Setenv("HUB_TEST_SECRET", "must not get in")
	id := start(t, b, sandbox.Spec{})
	t.Run("environment", func(t *testing.T) {
		got := strings.Split(must(t, b, id, "env"), "\n")
		slices.Sort(got)
		want := []string{
			"HOME=/home/claude", "LANG=C.UTF-8", "LOGNAME=claude",
			"PATH=/home/claude/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"PWD=/workspace", "SHELL=/bin/sh", "TERM=xterm-256color", "TMPDIR=/tmp", "USER=claude",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("privileges", func(t *testing.T) {
		status := must(t, b, id, "cat /proc/self/status")
		for _, want := range []string{
			"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
			"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Uid:\t1000\t1000\t1000\t1000",
		} {
			if !strings.Contains(status, want+"\n") {
				t.Errorf("no %q in %s", want, status)
			}
		}
	})
	t.Run("processes", func(t *testing.T) {
		got := must(t, b, id, `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; echo; done`)
		for line := range strings.Lines(got) {
			if !regexp.MustCompile(`^(/\.claude-hub/guest .*|sh -c .*|tr .*|)\n?$`).MatchString(line) {
				t.Errorf("saw %q", line)
			}
		}
		if !strings.HasPrefix(got, "/.claude-hub/guest ") {
			t.Errorf("PID 1 is not ours: %q", got)
		}
	})
	t.Run("files", func(t *testing.T) {
		root := must(t, b, id, "ls -A /")
		allowed := []string{".claude-hub", "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "tmp", "usr", "var", "workspace"}
		for name := range strings.FieldsSeq(root) {
			if !slices.Contains(allowed, name) {
				t.Errorf("saw /%s", name)
			}
		}
		for _, empty := range []string{"/home/claude", "/tmp", "/run", "/var/tmp", "/workspace", "/dev/shm"} {
			if got := must(t, b, id, "ls -A "+empty); got != "" {
				t.Errorf("%s holds %q", empty, got)
			}
		}
		if got := must(t, b, id, "ls -A /etc/ssl /var /home"); strings.Contains(got, "private") || strings.Contains(got, "lib") {
			t.Errorf("saw %q", got)
		}
		if got := must(t, b, id, "ls /dev/pts"); got != "ptmx" {
			t.Errorf("terminals of others: %q", got)
		}
	})
	t.Run("users", func(t *testing.T) {
		if got := must(t, b, id, "cut -d: -f1 /etc/passwd /etc/group | sort -u | xargs; id -un; hostname"); got != "claude nobody nogroup root tty\nclaude\nsandbox" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("sockets", func(t *testing.T) {
		if got := must(t, b, id, "ls -l /proc/self/fd"); strings.Contains(got, "socket:") {
			t.Errorf("a command inherited a socket: %s", got)
		}
		if r := sh(t, b, id, "readlink /proc/1/fd/*; cat /proc/1/fd/0; cat /proc/1/environ; cat /proc/1/maps; head -c1 /proc/1/mem"); r.code == 0 || r.out != "" {
			t.Errorf("the agent can be looked into: %+v", r)
		}
	})
}

func TestWhatASandboxCannotWrite(t *testing.T) {
	b := newBackend(t)
	ro, rw := t.TempDir(), t.TempDir()
	id := start(t, b, sandbox.Spec{Mounts: []sandbox.Mount{
		{Host: rw, Guest: "/workspace"}, {Host: ro, Guest: "/opt/claude", ReadOnly: true}, {Host: ro, Guest: "/workspace/inner", ReadOnly: true},
	}})
	for _, path := range []string{
		"/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/home/x", "/var/x", "/opt/x", "/opt/claude/x", "/workspace/inner/x",
		"/.claude-hub/guest", "/.claude-hub/x", "/etc/ssl/certs/x", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness",
		"/proc/sysrq-trigger", "/proc/sys/kernel/hostname",
	} {
		if r := sh(t, b, id, fmt.Sprintf("echo x > %s", path)); r.code == 0 {
			t.Errorf("%s was written", path)
		}
	}
	for _, path := range []string{"/workspace/x", "/home/claude/x", "/tmp/x", "/run/x", "/var/tmp/x", "/dev/shm/x"} {
		must(t, b, id, fmt.Sprintf("echo x > %s && cat %s", path, path))
	}
	info, err := os.Stat(filepath.Join(rw, "x"))
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(rw, "x"), &st); err != nil {
		t.Fatal(err)
	}
	if int(st.Uid) != os.Getuid() || info.Mode().Perm() != 0o644 {
		t.Errorf("the file belongs to %d with mode %v; the Runner is %d", st.Uid, info.Mode(), os.Getuid())
	}
	if got := must(t, b, id, "stat -c %U /workspace/x"); got != "claude" {
		t.Errorf("inside it belongs to %q", got)
	}
}

// TestWhatASandboxCannotDo: each call is tried by a program inside.
func TestWhatASandboxCannotDo(t *testing.T) {
	b := newBackend(t)
	name := fmt.Sprintf("@hub-test-%d", os.Getpid())
	ln, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	id := start(t, b, sandbox.Spec{Mounts: []sandbox.Mount{helper(t)}})
	r := run(t, b, id, sandbox.Command{
		Path: "/opt/helper", TTY: true, Cols: 80, Rows: 24,
		Env: []string{"HUB_TEST_HELPER=attempts", "HUB_TEST_ABSTRACT=" + name},
	}, "")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	got := answers(strings.ReplaceAll(r.out, "\r", ""))
	denied, absent, family := unix.EPERM.Error(), unix.ENOSYS.Error(), unix.EAFNOSUPPORT.Error()
	for name, want := range map[string]string{
		"mount": denied, "umount": denied, "fsopen": denied, "unshare-user": denied, "clone-user": denied, "clone3": absent,
		"setns": denied, "chroot": denied, "bpf": denied, "perf": denied, "userfaultfd": denied, "keyctl": denied,
		"add_key": denied, "kexec": denied, "init_module": denied, "io_uring": absent, "sethostname": denied,
		"settime": denied, "unknown": absent, "x32": absent, "tiocsti": denied, "tiocsti-high": denied, "tiocsetd": denied,
		"trace-agent": denied, "vsock": family, "packet": family, "netlink-audit": family,
		"netlink-route": "ok", "inet": "ok", "inet6": "ok", "unix": "ok", "rename": "ok", "trace-child": "ok",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if got["raw"] == "ok" {
		t.Error("a raw socket was opened")
	}
	closed := false
	for _, f := range b.Check(ctx(t)) {
		closed = closed || f.Name == "abstract sockets" && f.OK
	}
	if reached := got["abstract"] == "<nil>"; reached == closed {
		t.Errorf("the doctor says that abstract sockets are closed: %v; a Sandbox got: %s", closed, got["abstract"])
	}
}

// TestOthersAreOutOfSight: neither another Sandbox, nor the state, nor this process.
func TestOthersAreOutOfSight(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	mine, theirs := t.TempDir(), t.TempDir()
	start(t, b, sandbox.Spec{ID: "a", Mounts: []sandbox.Mount{{Host: theirs, Guest: "/workspace"}}})
	start(t, b, sandbox.Spec{ID: "b", Mounts: []sandbox.Mount{{Host: mine, Guest: "/workspace"}}})
	must(t, b, "a", "echo secret > /workspace/f; echo secret > /tmp/f; setsid sleep 1000 >/dev/null 2>&1 </dev/null &")
	for _, path := range []string{state, theirs, "/tmp/f", "/workspace/f", "/root", fmt.Sprintf("/proc/%d", os.Getpid())} {
		if r := sh(t, b, "b", "ls "+path); r.code == 0 {
			t.Errorf("it sees %s: %q", path, r.out)
		}
	}
	if got := must(t, b, "b", `grep -l sleep /proc/[0-9]*/comm || true`); got != "" {
		t.Errorf("it sees %q", got)
	}
	if r := sh(t, b, "b", "ls /proc/1/root/ /proc/1/cwd/"); r.code == 0 {
		t.Errorf("it looks through the agent: %q", r.out)
	}
}

func TestMountsThatAreRefused(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(state), link); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, mounts := range map[string][]sandbox.Mount{
		"root":                 {{Host: dir, Guest: "/"}},
		"relative":             {{Host: dir, Guest: "work"}},
		"not clean":            {{Host: dir, Guest: "/a/../usr"}},
		"system":               {{Host: dir, Guest: "/usr/bin"}},
		"proc":                 {{Host: dir, Guest: "/proc"}},
		"agent":                {{Host: dir, Guest: "/.claude-hub"}},
		"host relative":        {{Host: "x", Guest: "/w"}},
		"host missing":         {{Host: dir + "/none", Guest: "/w"}},
		"twice":                {{Host: dir, Guest: "/w"}, {Host: dir, Guest: "/w"}},
		"the state":            {{Host: state, Guest: "/w"}},
		"around the state":     {{Host: "/", Guest: "/w"}},
		"around it, by a link": {{Host: link, Guest: "/w"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := b.Start(ctx(t), sandbox.Spec{ID: "m", Mounts: mounts})
			if err == nil {
				t.Fatal("it started")
			}
			if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
				t.Errorf("left behind: %v, %v", infos, err)
			}
		})
	}
	for _, id := range []sandbox.ID{"", "a/b", "..", ".lock", "a b", sandbox.ID(strings.Repeat("x", 65))} {
		if err := b.Start(ctx(t), sandbox.Spec{ID: id}); err == nil {
			t.Errorf("%q was taken for an id", id)
		}
	}
}
