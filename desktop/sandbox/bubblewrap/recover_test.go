//go:build linux

package bubblewrap_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
)

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
	pidfd, err := unix.PidfdOpen(initOf(t, state, id), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
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
	awaitEnd(t, pidfd)
}

// awaitEnd waits for a process that is about to end.
func awaitEnd(t testing.TB, pidfd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 10_000)
	for errors.Is(err, unix.EINTR) { // Go's runtime sends itself signals
		n, err = unix.Poll(fds, 10_000)
	}
	if n != 1 || err != nil {
		t.Fatalf("it still runs: %v", err)
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

func TestCPUsAreLimited(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	start(t, b, sandbox.Spec{ID: "one", Limits: sandbox.Limits{CPUs: 1}})
	raw, err := os.ReadFile(filepath.Join(state, "one", "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Cgroups []string }
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Cgroups) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	limit, err := os.ReadFile(filepath.Join(r.Cgroups[0], "cpu.cfs_quota_us"))
	if errors.Is(err, os.ErrNotExist) {
		limit, err = os.ReadFile(filepath.Join(r.Cgroups[0], "cpu.max"))
	}
	if err != nil || strings.Fields(string(limit))[0] != "100000" {
		t.Errorf("%q, %v", limit, err)
	}
	// Two that are busy for a second get one together.
	began := time.Now()
	must(t, b, "one", "for i in 1 2; do timeout 1 sh -c 'while :; do :; done' & done; wait")
	s, err := b.Stats(ctx(t), "one")
	if took := time.Since(began); err != nil || s.CPU > took+took/4 {
		t.Errorf("%v in %v, %v", s.CPU, took, err)
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
