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
	if err := syscall.Kill(init, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
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

// TestAReusedPidIsNeverKilled: the record names a process that is not the one it was written for.
func TestAReusedPidIsNeverKilled(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	stranger := os.Getpid()
	for name, forge := range map[string]func(map[string]any){
		"another start time": func(r map[string]any) { r["init"].(map[string]any)["pid"] = stranger },
		"another boot":       func(r map[string]any) { r["boot"] = "an older one" },
	} {
		t.Run(name, func(t *testing.T) {
			start(t, b, sandbox.Spec{ID: "p"})
			path := filepath.Join(state, "p", "record.json")
			real := initOf(t, state, "p")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var r map[string]any
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			forge(r)
			r["monitor"].(map[string]any)["pid"] = stranger
			forged, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, forged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := stateOf(t, b, "p"); got != sandbox.Stopped {
				t.Errorf("it is %q", got)
			}
			if err := b.Stop(ctx(t), "p", 0); err != nil { // would be the end of this test
				t.Fatal(err)
			}
			if !running(real) {
				t.Error("a process that the record does not name was killed")
			}
			if err := syscall.Kill(real, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(10 * time.Second); running(real) && time.Now().Before(end); {
			}
		})
	}
}

// TestADamagedRecord: the Sandbox can still be seen, used and stopped.
func TestADamagedRecord(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	id := start(t, b, sandbox.Spec{})
	init := initOf(t, state, id)
	path := filepath.Join(state, string(id), "record.json")
	for _, text := range []string{"", "{", `{"version":99}`, "null", "\x00\x00"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		infos, err := b.List(ctx(t))
		if err != nil || len(infos) != 1 || infos[0].State != sandbox.Running {
			t.Errorf("%q: %v, %v", text, infos, err)
		}
	}
	if got := must(t, b, id, "echo usable"); got != "usable" {
		t.Errorf("got %q", got)
	}
	if err := b.Remove(ctx(t), id); err != nil {
		t.Fatal(err)
	}
	if running(init) {
		t.Error("it still runs")
	}
}

// TestHalfAStartIsClearedAway: what is on disk when a Runner died between two steps.
func TestHalfAStartIsClearedAway(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	dir := filepath.Join(state, "half")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent.sock", "log", "record-123"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := stateOf(t, b, "half"); got != sandbox.Stopped {
		t.Errorf("it is %q", got)
	}
	start(t, b, sandbox.Spec{ID: "half"})
	if got := must(t, b, "half", "echo whole"); got != "whole" {
		t.Errorf("got %q", got)
	}
	if err := b.Remove(ctx(t), "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}

func TestAFailedStartLeavesNothingAndSaysWhy(t *testing.T) {
	state := stateFolder(t)
	dir := t.TempDir()
	liar := filepath.Join(dir, "bwrap")
	for name, c := range map[string]struct{ program, says string }{
		"bwrap fails":        {"echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1", "Operation not permitted"},
		"bwrap says nothing": {"exit 3", "No Sandbox can start on this machine"},
		"guest dies":         {`for a; do case $a in -probe) exec bwrap "$@";; esac; done; echo oops >&2; echo '{"child-pid": '$$'}' >&4; exit 5`, "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo bubblewrap 0.8.0; exit; fi\nPATH=/usr/bin:/bin\n" + c.program + "\n"
			if err := os.WriteFile(liar, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			b, err := bubblewrap.New(bubblewrap.Options{State: state, Guest: guest, Bwrap: liar})
			if err != nil {
				t.Fatal(err)
			}
			err = b.Start(ctx(t), sandbox.Spec{ID: "f", Limits: sandbox.Limits{Processes: 10}})
			if !strings.Contains(claudehub.MessageOf(err), c.says) {
				t.Errorf("got %v", err)
			}
			if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
				t.Errorf("left: %v, %v", infos, err)
			}
			if dirs, err := filepath.Glob("/sys/fs/cgroup/*/claude-hub-*-f"); err != nil || len(dirs) != 0 {
				t.Errorf("left: %v, %v", dirs, err)
			}
		})
	}
}

// TestACancelledStartLeavesNothing, wherever it is cut.
func TestACancelledStartLeavesNothing(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	for _, after := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 6 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond} {
		c, cancel := context.WithTimeout(context.Background(), after)
		err := b.Start(c, sandbox.Spec{ID: "c"})
		cancel()
		if err == nil {
			if err := b.Remove(ctx(t), "c"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
			t.Errorf("after %v left: %v, %v", after, infos, err)
		}
		if found := traces(t); len(found) != 0 {
			t.Errorf("after %v left: %q", after, found)
		}
	}
}

// TestARunnerThatDiesWhileItStartsASandbox, at any moment, leaves one that is found or none at all.
func TestARunnerThatDiesWhileItStartsASandbox(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	adopted := 0
	for after := time.Duration(0); after < 45*time.Millisecond; after += 3 * time.Millisecond {
		cmd := runnerCommand(t, state, "HUB_TEST_DYING=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if l, err := bufio.NewReader(out).ReadString('\n'); err != nil || l != "starting\n" {
			t.Fatalf("%q, %v", l, err)
		}
		time.Sleep(after) // the moment of death is what varies
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, as asked
		for end := time.Now().Add(20 * time.Second); ; {
			if stateOf(t, b, "other") == sandbox.Running {
				adopted++
				if n := len(traces(t)); n != 1 {
					t.Errorf("after %v: %d run", after, n)
				}
				break
			}
			if len(traces(t)) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("after %v nobody knows of %q", after, traces(t))
			}
		}
		if err := b.Remove(ctx(t), "other"); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); len(traces(t)) != 0; { // one just begun ends by itself
			if time.Now().After(end) {
				t.Fatalf("after %v left: %q", after, traces(t))
			}
		}
	}
	t.Logf("%d of 15 were adopted", adopted)
}

func TestLimitsAreInForce(t *testing.T) {
	b := newBackend(t)
	inForce := false
	for _, f := range b.Check(ctx(t)) {
		inForce = inForce || f.Name == "limits" && f.OK
	}
	if !inForce {
		t.Fatal("this machine cannot set limits; run the tests as root or in a delegated cgroup")
	}
	limits := sandbox.Limits{MemoryBytes: 200 << 20, Processes: 20}
	start(t, b, sandbox.Spec{ID: "forks", Limits: limits})
	if r := sh(t, b, "forks", "for i in $(seq 40); do sleep 5 & done; wait"); !strings.Contains(r.err, "ork") {
		t.Errorf("40 processes started: %+v", r)
	}
	start(t, b, sandbox.Spec{ID: "eats", Limits: limits})
	if r := sh(t, b, "eats", "head -c 400M /dev/zero | tail -c 400M | wc -c"); strings.TrimSpace(r.out) == strconv.Itoa(400<<20) {
		t.Errorf("400 MiB were taken: %+v", r)
	}
	if got := must(t, b, "eats", "echo fine"); got != "fine" {
		t.Errorf("got %q", got)
	}
}

func TestAPathThatIsTooLong(t *testing.T) {
	state := filepath.Join(stateFolder(t), strings.Repeat("x", 80))
	b := backendAt(t, state)
	err := b.Start(ctx(t), sandbox.Spec{ID: "0123456789abcdef"})
	if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), "too long") {
		t.Errorf("got %v", err)
	}
	for _, f := range b.Check(ctx(t)) {
		if f.Name == "state folder" && (f.OK || !f.Fatal || f.Fix == "") {
			t.Errorf("the doctor says %+v", f)
		}
	}
}
