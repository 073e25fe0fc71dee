package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox/agent"
)

// In a microVM somebody else is PID 1, and this program is started in it once by the Backend, through that one's agent.
// It goes to the background and from then on calls the Runner over vsock: what commands print and are given then passes
// nobody who writes it down (ADR 0010).

// vmOptions are what the Backend says.
type vmOptions struct {
	port      uint // vsock port at which the Runner waits for calls
	relayPort uint // vsock port of the Runner's relay; 0 for none
	relayAt   uint // where the relay is to be found in the Sandbox, on its loopback
}

// spare connections wait at the Runner, so that a command does not wait for one.
const spare = 3

// vmLock is an abstract socket: whoever holds it is the one guest of this VM. It goes away with its holder.
const vmLock = "@claude-hub-guest"

// enterVM starts this program anew, in the background, and returns once that one works.
func enterVM(o vmOptions) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "-vm", "-background", "-port", strconv.Itoa(int(o.port)), //nolint:noctx // it outlives us
		"-relay", strconv.Itoa(int(o.relayPort)), "-relay-at", strconv.Itoa(int(o.relayAt)))
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, null
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start in the background: %w", err)
	}
	w.Close()
	said := make([]byte, 512)
	n, _ := r.Read(said) // nothing said is told below
	if got := string(said[:n]); got != "ok" {
		return fmt.Errorf("the guest did not start: %s", got)
	}
	return nil
}

// runVM is the guest in the background. It says on descriptor 3 whether it works, and why not.
func runVM(o vmOptions) error {
	say := os.NewFile(3, "say")
	err := serveVM(o, sync.OnceFunc(func() {
		_, _ = say.WriteString("ok") // whoever waited has gone
		say.Close()
	}))
	if err != nil {
		_, _ = say.WriteString(err.Error())
	}
	return err
}

func serveVM(o vmOptions, works func()) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var listen net.ListenConfig
	lock, err := listen.Listen(ctx, "unix", vmLock)
	if errors.Is(err, syscall.EADDRINUSE) {
		works() // another one does already
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the lock: %w", err)
	}
	defer lock.Close()
	// Orphans of our commands come to us, who collect them, and not to a PID 1 that may not.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid tracing: %w", err)
	}
	unix.Umask(0o022)
	for _, dir := range []string{"/workspace", vmHome} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	if o.relayPort != 0 {
		ln, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.relayAt))))
		if err != nil {
			return fmt.Errorf("listen for the relay: %w", err)
		}
		go forward(ctx, ln, uint32(o.relayPort))
	}
	reaper := process.NewReaper()
	go reaper.Run(ctx)
	works()
	server := &agent.Server{Reaper: reaper, Env: vmEnvironment(), Dir: "/", Version: version(), End: endOthers}
	return server.Call(ctx, func(ctx context.Context) (net.Conn, error) { return dialHost(ctx, uint32(o.port)) }, spare)
}

// vmHome is root's: the one user of a microVM, and who its setup scripts ran as.
const vmHome = "/root"

// vmEnvironment is what every command finds. It holds nothing of the Runner's.
func vmEnvironment() []string {
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	return []string{
		"PATH=" + vmHome + "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + vmHome, "USER=root", "LOGNAME=root", "SHELL=" + shell,
		"LANG=C.UTF-8", "TERM=xterm-256color", "TMPDIR=/tmp",
	}
}

// endOthers tells every process but PID 1 and us to end, and returns when they have.
func endOthers(ctx context.Context) {
	others := func() (pids []int) {
		for _, pid := range agent.Processes() {
			if pid != 1 && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	// A hang-up too, since an interactive shell does not end of SIGTERM; and on, for whatever was stopped.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGCONT} {
		for _, pid := range others() {
			_ = syscall.Kill(pid, sig) // it may have ended
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(others()) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	unix.Sync() // what was written is on its disk before the VM is told to stop
}
