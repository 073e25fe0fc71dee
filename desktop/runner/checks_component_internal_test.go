//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// movedClocks are a machine's, whose sleep a test decides.
type movedClocks struct {
	mu   sync.Mutex
	real clocks
	by   time.Duration
}

func newMovedClocks() *movedClocks { return &movedClocks{real: systemClocks()} }

func (m *movedClocks) read() (time.Time, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wall, running := m.real()
	return wall.Add(m.by), running
}

// sleep moves the wall clock, and not that of running programs.
func (m *movedClocks) sleep(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by += d
}

func (c *computer) withClocks() *movedClocks {
	m := newMovedClocks()
	c.adjust = func(r *Runner) {
		r.clocks = m.read
		r.parts.clockLook, r.parts.agentPatience = 20*time.Millisecond, 500*time.Millisecond
	}
	return m
}

// checked waits until all checks have been made.
func (c *computer) checked(id claudehub.SessionID, since time.Time) claudehub.Observed {
	c.t.Helper()
	return c.hub.await(c.t, id, "checked", func(o claudehub.Observed) bool {
		if o.Phase != claudehub.PhaseAwake || len(o.Checks) == 0 || o.Checked.Before(since) {
			return false
		}
		for _, k := range o.Checks {
			if k.State == claudehub.CheckRunning {
				return false
			}
		}
		return len(o.Checks) == len(checks) || o.Checks[len(o.Checks)-1].State == claudehub.CheckRepaired
	})
}

func states(all []claudehub.Check) string {
	var s []string
	for _, k := range all {
		s = append(s, k.Name+" "+string(k.State))
	}
	return strings.Join(s, ", ")
}

// TestMachineSlept: nothing is done to a Session that came through it, and everything that was looked at is shown.
func TestMachineSlept(t *testing.T) {
	c := newComputer(t)
	m := c.withClocks()
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	life, began := c.life(id), now()
	m.sleep(5 * time.Second) // shorter than counts
	m.sleep(time.Hour)
	o := c.checked(id, began)
	if got := states(o.Checks); got != "clock ok, agent ok, network ok, tmux ok, claude ok" {
		t.Errorf("%s: %+v", got, o.Checks)
	}
	if c.life(id) != life || o.Notice != "" {
		t.Errorf("life %s became %s: %q", life, c.life(id), o.Notice)
	}
	began = now()
	m.sleep(-2 * time.Hour) // a clock that was put back
	c.checked(id, began)
}

// boxProcesses are the processes of a Sandbox, as this machine numbers them: those with its volume among their mounts.
func (c *computer) boxProcesses(id claudehub.SessionID) (pids []int) {
	c.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range all {
		b, _ := os.ReadFile(path) // it may have ended
		if strings.Contains(string(b), "/sessions/"+string(id)+"/workspace") {
			pid, err := strconv.Atoi(strings.Split(path, "/")[2])
			if err != nil {
				c.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *computer) signal(pids []int, sig syscall.Signal) {
	c.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.t.Fatal(err)
		}
	}
}

// TestSandboxThatDidNotComeThrough: one that gives no sign of life is started again, with the conversation, and the steps
// are shown; one that was only stopped for a while goes on.
func TestSandboxThatDidNotComeThrough(t *testing.T) {
	c := newComputer(t)
	m := c.withClocks()
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	life := c.life(id)
	pids := c.boxProcesses(id)
	if len(pids) < 3 {
		t.Fatalf("the Sandbox has processes %v", pids)
	}
	c.signal(pids, syscall.SIGSTOP)
	c.signal(pids, syscall.SIGCONT)
	began := now()
	m.sleep(time.Hour)
	if o := c.checked(id, began); !strings.Contains(states(o.Checks), "agent ok") || c.life(id) != life {
		t.Fatalf("it was well, and %s: %+v", states(o.Checks), o.Checks)
	}
	began = now()
	c.signal(c.boxProcesses(id), syscall.SIGSTOP)
	m.sleep(time.Hour)
	c.hub.await(t, id, "found ill", func(o claudehub.Observed) bool { return strings.Contains(states(o.Checks), "agent failed") })
	o := c.checked(id, began)
	if !strings.Contains(states(o.Checks), "agent repaired") || c.life(id) == life || !strings.Contains(o.Notice, "The machine slept") {
		t.Errorf("%s, %q", states(o.Checks), o.Notice)
	}
}

// vm is a Sandbox with a clock of its own, as far as date tells.
type vm struct {
	sandbox.Backend
	mu   sync.Mutex
	off  time.Duration
	sets []string
}

func (v *vm) Exec(ctx context.Context, id sandbox.ID, cmd sandbox.Command) (sandbox.Process, error) {
	if cmd.Path == "date" {
		v.mu.Lock()
		if cmd.Args[0] == "-s" {
			v.sets, v.off = append(v.sets, cmd.Args[1]), 0
			cmd = sandbox.Command{Path: "true"}
		} else {
			cmd = sandbox.Command{Path: "echo", Args: []string{fmt.Sprint(time.Now().Add(v.off).Unix())}}
		}
		v.mu.Unlock()
	}
	return v.Backend.Exec(ctx, id, cmd)
}

// TestClockIsPutRight: a guest's clock that stood while the machine slept is set.
func TestClockIsPutRight(t *testing.T) {
	c := newComputer(t)
	m := c.withClocks()
	guest := &vm{Backend: c.backend}
	c.cfg.Backend = guest
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	began := now()
	guest.mu.Lock()
	guest.off = -time.Hour
	guest.mu.Unlock()
	m.sleep(time.Hour)
	o := c.checked(id, began)
	if got := states(o.Checks); !strings.HasPrefix(got, "clock repaired") || !strings.HasPrefix(o.Checks[0].Detail, "was 1h0m") {
		t.Errorf("%s: %+v", got, o.Checks)
	}
	guest.mu.Lock()
	defer guest.mu.Unlock()
	if len(guest.sets) != 1 || !strings.HasPrefix(guest.sets[0], "@") {
		t.Errorf("set to %v", guest.sets)
	}
}
