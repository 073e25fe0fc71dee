//go:build linux

package microsandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// vmPid is the process of a VM.
func vmPid(t testing.TB, id sandbox.ID) int {
	t.Helper()
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		raw, _ := os.ReadFile(p)
		args := strings.Split(string(raw), "\x00")
		name := slices.Index(args, "--name") + 1
		if len(args) > 3 && args[1] == "sandbox" && name > 0 && args[name] == msbName(id) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no VM of %s runs", id)
	return 0
}

func TestRigKilledVM(t *testing.T) {
	b := rig(t)
	spec := small(t, "killed")
	id := start(t, b, spec)
	sh(t, b, id, "echo kept >/etc/kept; sync")
	p, err := b.Exec(long(t), id, sandbox.Command{Path: "sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := syscall.Kill(vmPid(t, id), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(long(t)); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("a command in it ended with %v", err)
	}
	eventually(t, "it is still there", func() bool { return state(t, b, id) == sandbox.Stopped })
	if _, err := b.Exec(long(t), id, sandbox.Command{Path: "true"}); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
	if err := b.Start(long(t), spec); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, b, id, "cat /etc/kept"); got != "kept" {
		t.Errorf("its system is another: %q", got)
	}
	if err := syscall.Kill(vmPid(t, id), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(long(t), id, time.Second); err != nil {
		t.Errorf("to stop a killed one: %v", err)
	}
}

// TestRigKilledMidCreate kills msb at several moments of a create; the next Start puts all of it right.
func TestRigKilledMidCreate(t *testing.T) {
	b := rig(t)
	for _, after := range []time.Duration{150 * time.Millisecond, 400 * time.Millisecond, time.Second} {
		spec := small(t, "mid")
		ctx, cancel := context.WithCancel(long(t))
		done := make(chan error, 1)
		go func() { done <- b.Start(ctx, spec) }()
		time.Sleep(times(after))
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		killed := 0
		for _, f := range found {
			raw, _ := os.ReadFile(f)
			if args := strings.Split(string(raw), "\x00"); len(args) > 4 && strings.HasSuffix(args[0], "msb") && args[1] == "create" {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
				_ = syscall.Kill(pid, syscall.SIGKILL)
				killed++
			}
		}
		err := <-done
		cancel()
		t.Logf("after %v %d processes were killed; Start said %v", times(after), killed, err)
		if killed > 0 && err == nil {
			t.Error("a killed create passed for a good one")
		}
		if err != nil && state(t, b, spec.ID) != "" {
			t.Errorf("a failed start left a Sandbox that is %s", state(t, b, spec.ID))
		}
		id := start(t, b, spec)
		if got := sh(t, b, id, "echo well"); got != "well" {
			t.Errorf("got %q", got)
		}
		if err := b.Remove(long(t), id); err != nil {
			t.Error(err)
		}
	}
}

// TestRigRunnerGone: a Sandbox outlives the process that started it, and the next one works with it.
func TestRigRunnerGone(t *testing.T) {
	if workspace := os.Getenv("HUB_TEST_RUNNER"); workspace != "" { // see below
		startAndStay(t, workspace)
	}
	b := rig(t)
	spec := small(t, "orphan")
	t.Cleanup(func() { _ = b.Remove(long(t), spec.ID) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestRigRunnerGone$", "-test.v")
	cmd.Env = append(os.Environ(), "CLAUDE_HUB_RIG_STATE="+shared.dir, "HUB_TEST_RUNNER="+spec.Mounts[0].Host)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Log(until(t, out, "it is up"))
	// Two processes at once: this one sees it, and does not take the other's calls.
	if got := state(t, b, spec.ID); got != sandbox.Running {
		t.Errorf("it is %s", got)
	}
	if err := b.Ping(long(t), spec.ID); err != nil {
		t.Errorf("ping beside the other: %v", err)
	}
	if _, err := b.Exec(long(t), spec.ID, sandbox.Command{Path: "true"}); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("exec beside the other: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	began := time.Now()
	if got := sh(t, b, spec.ID, "cat /etc/mine; pgrep -f 'sleep 727[2]' >/dev/null && echo daemon; pgrep -f 'sleep 717[1]' >/dev/null || echo no child"); got != "mine\ndaemon\nno child" {
		t.Errorf("got %q", got)
	}
	t.Logf("the next one's first command took %v", time.Since(began).Round(time.Millisecond))
}

// startAndStay is the process that starts a Sandbox and works in it, until it is killed.
func startAndStay(t *testing.T, workspace string) {
	b := rig(t)
	spec := small(t, "orphan")
	spec.Mounts[0].Host = workspace
	if err := b.Start(long(t), spec); err != nil {
		t.Fatal(err)
	}
	p, err := b.Exec(long(t), spec.ID, sandbox.Command{Path: "sh", Args: []string{"-c",
		"echo mine >/etc/mine; setsid sleep 7272 >/dev/null 2>&1 </dev/null & until grep -q sleep /proc/$!/comm; do :; done; echo started; sleep 7171"}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, p.Stdout(), "started")
	_, _ = os.Stdout.WriteString("it is up\n")
	select {}
}

// TestRigTwoVMsOneWedged: a VM whose process is stopped holds up its own callers, to their deadlines, and nobody else.
func TestRigTwoVMsOneWedged(t *testing.T) {
	b := rig(t)
	good, bad := start(t, b, small(t, "good")), start(t, b, small(t, "bad"))
	pid := vmPid(t, bad)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan error, 3)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { return b.Ping(ctx, bad) },
		func(ctx context.Context) error {
			_, err := b.Exec(ctx, bad, sandbox.Command{Path: "true"})
			return err
		},
		func(ctx context.Context) error {
			_, err := b.Dial(ctx, bad, 80)
			return err
		},
	} {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), times(2*time.Second))
			defer cancel()
			began := time.Now()
			err := call(ctx)
			if took := time.Since(began); took > times(3*time.Second) {
				err = errors.Join(errors.New("it took "+took.String()), err)
			} else if claudehub.CodeOf(err) == claudehub.Unavailable {
				err = nil
			} else {
				err = errors.Join(errors.New("the wedged one answered, or said something else"), err)
			}
			stuck <- err
		}()
	}
	for range 3 {
		began := time.Now()
		if got := sh(t, b, good, "echo here"); got != "here" {
			t.Errorf("got %q", got)
		}
		if err := b.Ping(long(t), good); err != nil {
			t.Error(err)
		}
		if _, err := b.Stats(long(t), good); err != nil {
			t.Error(err)
		}
		t.Logf("the good one's three calls took %v", time.Since(began).Round(time.Millisecond))
	}
	for range 3 {
		if err := <-stuck; err != nil {
			t.Error(err)
		}
	}
	if got := state(t, b, bad); got != sandbox.Sick {
		t.Errorf("the wedged one is %s", got)
	}
	if s, err := b.Stats(long(t), bad); err != nil || s.MemoryBytes == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	began := time.Now()
	if err := b.Stop(long(t), bad, time.Second); err != nil {
		t.Errorf("to stop it: %v", err)
	}
	t.Logf("to stop the wedged one took %v", time.Since(began).Round(time.Millisecond))
	if got := state(t, b, bad); got != sandbox.Stopped {
		t.Errorf("then it is %s", got)
	}
	if got := state(t, b, good); got != sandbox.Running {
		t.Errorf("the good one is %s", got)
	}
}
