//go:build linux

package bubblewrap_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
)

// initOf reads from the record which process of this machine is a Sandbox's PID 1.
func initOf(t testing.TB, state string, id sandbox.ID) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(state, string(id), "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Init struct{ Pid int } }
	if err := json.Unmarshal(raw, &r); err != nil || r.Init.Pid == 0 {
		t.Fatalf("%s: %v", raw, err)
	}
	return r.Init.Pid
}

// traces are the bwrap processes that run our guest program. What has ended and waits to be collected is none.
func traces(t testing.TB) []string {
	t.Helper()
	var found []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(dir + "/cmdline")
		if err == nil && bytes.Contains(line, []byte("\x00"+guest+"\x00")) {
			found = append(found, dir+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// running tells whether a process is there and has not ended.
func running(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(raw, ')')
	return err == nil && raw[i+2] != 'Z'
}

func stateOf(t testing.TB, b *bubblewrap.Backend, id sandbox.ID) sandbox.State {
	t.Helper()
	infos, err := b.List(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.ID == id {
			if (i.State == sandbox.Stopped) != i.Started.IsZero() {
				t.Errorf("%+v", i)
			}
			return i.State
		}
	}
	return ""
}

// outside are the pids of this machine that belong to a Sandbox, found by what they run.
func outside(t testing.TB, word string) []int {
	t.Helper()
	var found []int
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if raw, err := os.ReadFile(path); err == nil && string(raw) == strings.ReplaceAll(word, " ", "\x00")+"\x00" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

func TestStopAndRemoveLeaveNothing(t *testing.T) {
	if found := traces(t); len(found) != 0 {
		t.Fatalf("an earlier test left %q", found)
	}
	state := stateFolder(t)
	b := backendAt(t, state)
	id := start(t, b, sandbox.Spec{Limits: sandbox.Limits{MemoryBytes: 1 << 30, Processes: 50}})
	must(t, b, id, "setsid sleep 31337 >/dev/null 2>&1 </dev/null & tmux new-session -d 'exec sleep 31338'")
	init := initOf(t, state, id)
	if found := traces(t); len(found) != 1 {
		t.Errorf("%d run: %q", len(found), found)
	}
	if n := len(outside(t, "sleep 31337")); n != 1 {
		t.Errorf("%d daemons run", n)
	}
	if got := stateOf(t, b, id); got != sandbox.Running {
		t.Errorf("it is %q", got)
	}
	began := time.Now()
	if err := b.Stop(ctx(t), id, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("processes that end when asked took %v", took)
	}
	if running(init) || len(outside(t, "sleep 31337")) != 0 || len(outside(t, "sleep 31338")) != 0 {
		t.Error("something still runs")
	}
	if got := stateOf(t, b, id); got != sandbox.Stopped {
		t.Errorf("it is %q", got)
	}
	if err := b.Stop(ctx(t), id, time.Second); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	start(t, b, sandbox.Spec{ID: id})
	if err := b.Remove(ctx(t), id); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(ctx(t), id); err != nil {
		t.Errorf("removing again: %v", err)
	}
	if found := traces(t); len(found) != 0 {
		t.Errorf("left: %q", found)
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".lock" {
		t.Errorf("left: %v, %v", entries, err)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/claude-hub-*-s1", "/sys/fs/cgroup/*/*/claude-hub-*-s1", "/sys/fs/cgroup/*/*/*/claude-hub-*-s1", "/sys/fs/cgroup/claude-hub-*-s1"} {
		if dirs, err := filepath.Glob(pattern); err != nil || len(dirs) != 0 {
			t.Errorf("left: %v, %v", dirs, err)
		}
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{})
	p, err := b.Exec(ctx(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "trap '' TERM HUP; echo up; while :; do sleep 1; done"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	const grace = 300 * time.Millisecond
	began := time.Now()
	if err := b.Stop(ctx(t), id, grace); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < grace {
		t.Errorf("it had %v of its %v", took, grace)
	}
	if _, err := p.Wait(ctx(t)); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("the command's end: %v", err)
	}
}

func TestStartTwiceIsOnce(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	other := backendAt(t, state)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			which := b
			if i%2 == 1 {
				which = other
			}
			errs[i] = which.Start(ctx(t), sandbox.Spec{ID: "s1"})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if found := traces(t); len(found) != 1 {
		t.Errorf("%d run: %q", len(found), found)
	}
	if got := stateOf(t, b, "s1"); got != sandbox.Running {
		t.Errorf("it is %q", got)
	}
}

// TestAdoption: a Runner is killed, and another finds the Sandbox, what runs in it, and can end it.
func TestAdoption(t *testing.T) {
	state := stateFolder(t)
	cmd := runnerCommand(t, state)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if l, err := bufio.NewReader(out).ReadString('\n'); err != nil || l != "up\n" {
		t.Fatalf("%q, %v", l, err)
	}
	init := initOf(t, state, "other")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as asked
	b := backendAt(t, state)
	if got := stateOf(t, b, "other"); got != sandbox.Running {
		t.Fatalf("it is %q", got)
	}
	if err := b.Start(ctx(t), sandbox.Spec{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	if initOf(t, state, "other") != init {
		t.Error("it was started anew")
	}
	// The daemon lives; the dead Runner's exec was killed with its connection.
	for end := time.Now().Add(20 * time.Second); len(outside(t, "sleep 41002")) != 0; {
		if time.Now().After(end) {
			t.Fatal("the exec still runs")
		}
	}
	if n := len(outside(t, "sleep 41001")); n != 1 {
		t.Errorf("%d daemons run", n)
	}
	if got := must(t, b, "other", "echo still here"); got != "still here" {
		t.Errorf("got %q", got)
	}
	if err := b.Remove(ctx(t), "other"); err != nil {
		t.Fatal(err)
	}
	if running(init) || len(outside(t, "sleep 41001")) != 0 || len(traces(t)) != 0 {
		t.Errorf("something still runs: %q", traces(t))
	}
}

// freeze stops a process and waits until each of its threads is.
func freeze(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; {
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		if err != nil {
			t.Fatal(err)
		}
		stopped := len(threads) > 0
		for _, path := range threads {
			raw, err := os.ReadFile(path)
			stopped = stopped && err == nil && raw[bytes.LastIndexByte(raw, ')')+2] == 'T'
		}
		if stopped {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it does not stop")
		}
	}
}

// TestAWedgedSandboxIsSickAndDelaysNobody: its PID 1 is stopped and answers nothing.
func TestAWedgedSandboxIsSickAndDelaysNobody(t *testing.T) {
	state := stateFolder(t)
	b, err := bubblewrap.New(bubblewrap.Options{State: state, Guest: guest, Answer: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	backendAt(t, state) // for its clean-up
	start(t, b, sandbox.Spec{ID: "sick"})
	start(t, b, sandbox.Spec{ID: "well"})
	init := initOf(t, state, "sick")
	freeze(t, init)
	began := time.Now()
	if got := stateOf(t, b, "sick"); got != sandbox.Sick {
		t.Errorf("it is %q", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the list took %v", took)
	}
	if err := b.Start(ctx(t), sandbox.Spec{ID: "sick"}); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("start: %v", err)
	}
	if s, err := b.Stats(ctx(t), "sick"); err != nil || s.Processes != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	stuck, cancel := context.WithCancel(ctx(t))
	held := make(chan error, 1)
	go func() {
		_, err := b.Exec(stuck, "sick", sandbox.Command{Path: "true"})
		held <- err
	}()
	if got := must(t, b, "well", "echo well"); got != "well" {
		t.Errorf("got %q", got)
	}
	start(t, b, sandbox.Spec{ID: "third"})
	cancel()
	if err := <-held; claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("exec: %v", err)
	}
	if err := b.Stop(ctx(t), "sick", 30*time.Second); err != nil { // no grace for who cannot hear
		t.Fatal(err)
	}
	if running(init) {
		t.Error("it still runs")
	}
	if got := stateOf(t, b, "sick"); got != sandbox.Stopped {
		t.Errorf("it is %q", got)
	}
	start(t, b, sandbox.Spec{ID: "sick"})
	if got := must(t, b, "sick", "echo well again"); got != "well again" {
		t.Errorf("got %q", got)
	}
}

// TestItsDeathIsSeen: PID 1 is killed from outside, and the next look is right at once.
func TestItsDeathIsSeen(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	id := start(t, b, sandbox.Spec{})
	p, err := b.Exec(ctx(t), id, sandbox.Command{Path: "sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := syscall.Kill(initOf(t, state, id), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(ctx(t)); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(10 * time.Second); stateOf(t, b, id) != sandbox.Stopped; {
		if time.Now().After(end) {
			t.Fatalf("it is %q", stateOf(t, b, id))
		}
	}
	start(t, b, sandbox.Spec{ID: id})
	if got := must(t, b, id, "echo again"); got != "again" {
		t.Errorf("got %q", got)
	}
}
