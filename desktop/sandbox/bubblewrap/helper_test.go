//go:build linux

package bubblewrap_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
)

// help is the test binary's other life: a program inside a Sandbox, or a Runner beside this one.
func help(name string) int {
	switch name {
	case "attempts":
		attempts()
		return 0
	case "runner":
		return runner()
	}
	fmt.Fprintln(os.Stderr, "unknown helper", name)
	return 99
}

// helper mounts the test binary into a Sandbox.
func helper(t testing.TB) sandbox.Mount {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Mount{Host: self, Guest: "/opt/helper", ReadOnly: true}
}

func call(trap uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	b, _ := unix.BytePtrFromString(s) // constants without NUL
	return uintptr(unsafe.Pointer(b))
}

// attempts tries what a Sandbox must not do, and some of what it must, and prints how each went.
func attempts() {
	runtime.LockOSThread()
	socket := func(family, kind, protocol int) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	dir, _ := os.MkdirTemp("", "") // the attempts that need it fail without
	for _, p := range []string{"a", "b"} {
		_ = os.Mkdir(filepath.Join(dir, p), 0o755)
	}
	_ = os.WriteFile(filepath.Join(dir, "a", "x"), nil, 0o644)
	for _, try := range []struct {
		name string
		err  error
	}{
		{"mount", call(unix.SYS_MOUNT, text("tmpfs"), text("/tmp"), text("tmpfs"), 0, 0)},
		{"umount", call(unix.SYS_UMOUNT2, text("/tmp"), unix.MNT_DETACH)},
		{"fsopen", call(unix.SYS_FSOPEN, text("tmpfs"), 0)},
		{"unshare-user", call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
		{"clone-user", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0)},
		{"clone3", call(unix.SYS_CLONE3, 0, 0)},
		{"setns", call(unix.SYS_SETNS, 0, 0)},
		{"chroot", call(unix.SYS_CHROOT, text("/tmp"))},
		{"bpf", call(unix.SYS_BPF, 0, 0, 0)},
		{"perf", call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)},
		{"userfaultfd", call(unix.SYS_USERFAULTFD, 0)},
		{"keyctl", call(unix.SYS_KEYCTL, 0, 0, 0)},
		{"add_key", call(unix.SYS_ADD_KEY, text("user"), text("x"), text("y"), 1, 0)},
		{"kexec", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0)},
		{"init_module", call(unix.SYS_INIT_MODULE, 0, 0, text(""))},
		{"io_uring", call(unix.SYS_IO_URING_SETUP, 1, 0)},
		{"sethostname", call(unix.SYS_SETHOSTNAME, text("x"), 1)},
		{"settime", call(unix.SYS_CLOCK_SETTIME, 0, 0)},
		{"unknown", call(100000)},
		{"x32", call(0x40000000 | 39)},
		{"tiocsti", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, text("x"))},
		{"tiocsti-high", call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, text("x"))},
		{"tiocsetd", call(unix.SYS_IOCTL, 0, unix.TIOCSETD, text("x"))},
		{"trace-agent", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1)},
		{"vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"packet", socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{"raw", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"netlink-audit", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
		{"netlink-route", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
		{"inet", socket(unix.AF_INET, unix.SOCK_STREAM, 0)},
		{"inet6", socket(unix.AF_INET6, unix.SOCK_STREAM, 0)},
		{"unix", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
		{"rename", os.Rename(filepath.Join(dir, "a", "x"), filepath.Join(dir, "b", "x"))},
		{"trace-child", traceChild()},
	} {
		answer := "ok"
		if try.err != nil {
			answer = try.err.Error()
		}
		fmt.Printf("%s: %s\n", try.name, answer)
	}
	if name := os.Getenv("HUB_TEST_ABSTRACT"); name != "" {
		conn, err := net.Dial("unix", name)
		if err == nil {
			conn.Close()
		}
		fmt.Println("abstract:", err)
	}
}

// traceChild is what a debugger does.
func traceChild() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := syscall.PtraceDetach(cmd.Process.Pid); err != nil {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
			return err
		}
		if err := syscall.PtraceDetach(cmd.Process.Pid); err != nil {
			return err
		}
	}
	_ = cmd.Wait()
	return nil
}

// runner is a Runner in a process of its own: it starts a Sandbox, lets an exec run in it, says so, and waits to be killed.
func runner() int {
	b, err := bubblewrap.New(bubblewrap.Options{State: os.Getenv("HUB_TEST_STATE"), Guest: os.Getenv("HUB_TEST_GUEST")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	spec := sandbox.Spec{ID: "other"}
	if dir := os.Getenv("HUB_TEST_WORKSPACE"); dir != "" {
		spec.Mounts = []sandbox.Mount{{Host: dir, Guest: "/workspace"}}
	}
	if n, err := strconv.Atoi(os.Getenv("HUB_TEST_PROCESSES")); err == nil {
		spec.Limits.Processes = n
	}
	if rootfs := os.Getenv("HUB_TEST_ROOTFS"); rootfs != "" {
		if err := b.Import(ctx, rootfs, "base", nil); err != nil {
			fmt.Println(err)
			return 1
		}
		spec.Image, spec.Build = "base", true
	}
	if os.Getenv("HUB_TEST_DYING") != "" {
		fmt.Println("starting")
		fmt.Println(b.Start(ctx, spec))
		return 0
	}
	for _, f := range b.Check(ctx) {
		if !f.OK && f.Fatal {
			fmt.Println("fatal", f)
			return 1
		}
	}
	if err := b.Start(ctx, spec); err != nil {
		fmt.Println(err)
		return 1
	}
	if script := os.Getenv("HUB_TEST_SCRIPT"); script != "" {
		defer func() {
			if err := b.Remove(context.WithoutCancel(ctx), spec.ID); err != nil {
				fmt.Println(err)
			}
		}()
		p, err := b.Exec(ctx, spec.ID, sandbox.Command{Path: "sh", Args: []string{"-c", script}})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer p.Close()
		_ = p.Stdin().Close()
		if _, err := os.Stdout.ReadFrom(p.Stdout()); err != nil {
			fmt.Println(err)
			return 1
		}
		if _, err := os.Stdout.ReadFrom(p.Stderr()); err != nil {
			fmt.Println(err)
			return 1
		}
		code, err := p.Wait(ctx)
		fmt.Println("code", code, err)
		return 0
	}
	p, err := b.Exec(ctx, spec.ID, sandbox.Command{Path: "sh", Args: []string{"-c", "setsid sleep 41001 >/dev/null 2>&1 </dev/null & until grep -q sleep /proc/$!/comm; do :; done; echo up; exec sleep 41002"}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	line := make([]byte, 3)
	if _, err := p.Stdout().Read(line); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("up")
	select {}
}

// runnerCommand is a runner, to be started.
func runnerCommand(t testing.TB, state string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, "HUB_TEST_HELPER=runner", "HUB_TEST_STATE="+state, "HUB_TEST_GUEST="+guest)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// answers reads what attempts printed.
func answers(out string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(out) {
		name, answer, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m[name] = answer
	}
	return m
}
