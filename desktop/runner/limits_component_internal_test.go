//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// onEnvironment puts a Session on an Environment that has nothing to build.
func onEnvironment(change func(*claudehub.Recipe)) func(*wire.DesiredSession) {
	return func(d *wire.DesiredSession) {
		r := claudehub.DefaultRecipe()
		change(&r)
		d.Environment = &wire.DesiredEnvironment{Recipe: r, EnvironmentRef: claudehub.EnvironmentRef{ID: "env_1", Version: 3, Name: "work"}}
	}
}

// TestSessionsWaitForRoom: one more than there is room for waits, in words, and comes in when another leaves.
func TestSessionsWaitForRoom(t *testing.T) {
	c := newComputer(t)
	c.cfg.MaxAwake = 1
	c.start()
	first, second := c.session(), c.session()
	c.hub.wish(first, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, first, claudehub.PhaseAwake)
	c.hub.wish(second, func(*wire.DesiredSession) {})
	c.hub.await(t, second, "waiting for room", func(o claudehub.Observed) bool {
		return o.Step != nil && o.Step.Name == "Waiting for room: 1 of 1 Sessions are awake"
	})
	c.hub.awaitCard(t, "room for one", func(m claudehub.Machine) bool { return m.MaxAwake == 1 && m.Awake == 1 })
	c.hub.wish(second, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep }) // gives up
	c.hub.awaitPhase(t, second, claudehub.PhaseAsleep)
	c.hub.wish(second, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAwake })
	c.hub.wish(first, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
	c.hub.awaitPhase(t, second, claudehub.PhaseAwake)
}

// TestFailedSessionLeavesItsRoom: what failed takes nothing from those who wait.
func TestFailedSessionLeavesItsRoom(t *testing.T) {
	c := newComputer(t)
	c.cfg.MaxAwake = 1
	c.start()
	first, second := c.session(), c.session()
	c.hub.wish(first, func(d *wire.DesiredSession) { d.Source.GitURL = "http://127.0.0.1:1/no/such" })
	c.hub.awaitPhase(t, first, claudehub.PhaseFailed)
	c.nothingRuns(first)
	c.hub.wish(second, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, second, claudehub.PhaseAwake)
}

// TestRecipeBeyondTheMachine: what the machine does not have is refused with what it has; what its owner does not allow is
// cut down, and said.
func TestRecipeBeyondTheMachine(t *testing.T) {
	r := claudehub.DefaultRecipe()
	env := &claudehub.EnvironmentRef{Name: "work"}
	small := machineSize{cpus: 2, memory: 8 << 30}
	r.CPUs = 16
	if _, _, err := limitsOf(r, env, small, sandbox.Limits{}); err == nil || !strings.Contains(err.Error(), "work asks for 16 CPUs, and this machine has 2") {
		t.Errorf("%v", err)
	}
	r.CPUs, r.Memory = 2, 256<<30
	if _, _, err := limitsOf(r, env, small, sandbox.Limits{}); err == nil || !strings.Contains(err.Error(), "256 GB of memory, and this machine has 8192 MB") {
		t.Errorf("%v", err)
	}
	r.Memory = 6 << 30
	l, said, err := limitsOf(r, env, small, sandbox.Limits{MemoryBytes: 2 << 30, Processes: 7})
	if err != nil || l.MemoryBytes != 2<<30 || l.Processes != 7 || !strings.Contains(said, "at most 2048 MB of memory; work asks for more") {
		t.Errorf("%+v, %q, %v", l, said, err)
	}
	l, said, err = limitsOf(claudehub.DefaultRecipe(), nil, machineSize{cpus: 1, memory: 1 << 30}, sandbox.Limits{})
	if err != nil || said != "" || l.CPUs != 1 || l.MemoryBytes != 1<<30 {
		t.Errorf("the default on a tiny machine: %+v, %q, %v", l, said, err)
	}
}

// TestDefaultIsBuiltOnATinyMachine: the build that a Session without an Environment waits for is bound like the Session
// itself; one that somebody described is refused.
func TestDefaultIsBuiltOnATinyMachine(t *testing.T) {
	p := &parts{size: machineSize{cpus: 1, memory: 1 << 30}}
	r, err := p.bound(wire.DesiredBuild{Recipe: claudehub.DefaultRecipe()})
	if err != nil || r.CPUs != 1 || r.Memory != 1<<30 {
		t.Errorf("%d CPUs, %d bytes, %v", r.CPUs, r.Memory, err)
	}
	env := claudehub.EnvironmentRef{ID: claudehub.NewEnvironmentID(), Version: 1, Name: "work"}
	if _, err := p.bound(wire.DesiredBuild{Environment: env, Recipe: claudehub.DefaultRecipe()}); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("%v", err)
	}
}

// TestNetworkThatCannotBeEnforced: the Session does not start with another network than it is to have.
func TestNetworkThatCannotBeEnforced(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Network = claudehub.NetworkInternet }))
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if o.Failure.Step != stepSandbox || !strings.Contains(o.Failure.Reason, "network") && !strings.Contains(o.Failure.Reason, "bubblewrap") {
		t.Errorf("%+v", o.Failure)
	}
	c.nothingRuns(id)
}

// TestEnvironmentIsShownAndChangesAtTheNextWake: what a Session runs on is what was desired when it woke.
func TestEnvironmentIsShownAndChangesAtTheNextWake(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Memory = 1 << 30 }))
	o := c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if o.Environment == nil || o.Environment.Version != 3 || o.Figures.MemoryLimit != 1<<30 {
		t.Fatalf("%+v", o)
	}
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Memory = 2 << 30 }))
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Environment.Version = 4 })
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantAsleep, 2 })
	o = c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	if o.Environment == nil || o.Environment.Version != 3 {
		t.Errorf("asleep it ran on %+v", o.Environment)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantAwake, 3 })
	o = c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if o.Environment == nil || o.Environment.Version != 4 || o.Figures.MemoryLimit != 2<<30 {
		t.Errorf("after the wake %+v", o)
	}
}

// TestFigures: what a Session takes is reported, rounded, and its disk asleep as well.
func TestFigures(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.figuresTime, r.parts.diskLook = 200*time.Millisecond, 100*time.Millisecond }
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.run(id, "head -c 100000000 /dev/urandom > /workspace/file; setsid sh -c 'while :; do :; done' >/dev/null 2>&1 & exit 0")
	o := c.hub.await(t, id, "busy", func(o claudehub.Observed) bool { return o.Figures.CPU > 0.4 })
	if o.Figures.MemoryLimit != 4<<30 || o.Figures.Memory%memoryGrain != 0 || o.Figures.CPUs == 0 || o.Figures.DiskLimit != 20<<30 {
		t.Errorf("%+v", o.Figures)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
	o = c.hub.await(t, id, "its disk", func(o claudehub.Observed) bool {
		return o.Phase == claudehub.PhaseAsleep && o.Figures.Disk > 90_000_000
	})
	if o.Figures.CPU != 0 || o.Figures.Memory != 0 || o.Figures.Disk%diskGrain != 0 || o.Figures.Disk > 160_000_000 {
		t.Errorf("asleep it takes %+v", o.Figures)
	}
	c.hub.awaitCard(t, "the same on the machine's card", func(m claudehub.Machine) bool { return m.Storage.Sessions == o.Figures.Disk })
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantArchived })
	c.hub.awaitCard(t, "archived on it", func(m claudehub.Machine) bool { return m.Storage.Archived > 90_000_000 })
}

func TestRoundDisk(t *testing.T) {
	const mib = 1 << 20
	for n, want := range map[int64]int64{-1: 0, 0: 0, 1: mib, mib + mib/2: 2 * mib, 17*mib + 1: 17 * mib, 64*mib - 1: 64 * mib, 70 * mib: 64 * mib, 73 * mib: 80 * mib} {
		if got := roundDisk(n); got != want {
			t.Errorf("%d is shown as %d, not %d", n, got, want)
		}
	}
}

// TestDiskQuota: above its limit a Session is stopped with what to do; woken again it may be cleaned up, and is stopped
// when it grows.
func TestDiskQuota(t *testing.T) {
	c := newComputer(t)
	var run *Runner
	c.adjust = func(r *Runner) {
		run = r
		r.parts.diskLook, r.parts.diskTime = 50*time.Millisecond, 50*time.Millisecond
	}
	c.start()
	id := c.session()
	// A limit of a gigabyte is the smallest; files that take no time to make have to do.
	grow := func(name string, size string) { c.run(id, "fallocate -l "+size+" /workspace/"+name) }
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Disk = claudehub.MinDisk }))
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	grow("a", "950M")
	c.hub.await(t, id, "told in time", func(o claudehub.Observed) bool { return strings.Contains(o.Notice, "more than 90%") })
	grow("b", "200M")
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if o.Failure.Step != stepDisk || !strings.Contains(o.Failure.Reason, "it may have 1024 MB") || !strings.Contains(o.Failure.Fix, "node_modules") || !o.Failure.Retry {
		t.Errorf("%+v", o.Failure)
	}
	c.nothingRuns(id)
	wakeAgain := func(generation int64) {
		t.Helper()
		c.hub.wish(id, func(d *wire.DesiredSession) { d.Generation = generation })
		c.hub.await(t, id, "awake again", func(o claudehub.Observed) bool { return o.Phase == claudehub.PhaseAwake && o.Generation == generation })
	}
	wakeAgain(2)
	grow("small", "8M")
	c.hub.await(t, id, "told that it is over", func(o claudehub.Observed) bool { return strings.Contains(o.Notice, "over its disk limit") })
	grow("c", "100M")
	c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	wakeAgain(3)
	c.run(id, "rm /workspace/b /workspace/c")
	until(t, "forgiven", func() bool { return run.find(id).facts().Over == 0 })
	c.run(id, "rm /workspace/a")
	c.hub.await(t, id, "no longer told", func(o claudehub.Observed) bool { return o.Notice == "" })
}

// TestFullMachine: nothing is begun on a disk that is nearly full.
func TestFullMachine(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.freeDisk = func(context.Context) (int64, error) { return 900 << 20, nil } }
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if !strings.Contains(o.Failure.Reason, "disk has 900 MB left") || !o.Failure.Retry {
		t.Errorf("%+v", o.Failure)
	}
}

// TestLeakingClaude: a Claude that takes most of the memory is started again, and its person is told.
func TestLeakingClaude(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) {
		r.parts.figuresTime, r.parts.alarmTime, r.parts.leakFloor = 100*time.Millisecond, 200*time.Millisecond, 100<<20
	}
	c.start()
	id := c.session()
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Memory = claudehub.MinMemory }))
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.run(id, "echo kept > /workspace/kept")
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	c.typed(id, life, 1, `for i in a b c d e f; do eval "$i=\$(head -c 60000000 /dev/zero | tr '\\0' x)"; done`) // in the shell itself
	until(t, "another life", func() bool { return c.life(id) != life })
	o := c.hub.await(t, id, "awake again", func(o claudehub.Observed) bool {
		return o.Phase == claudehub.PhaseAwake && strings.Contains(o.Notice, "Claude Code itself had come to use")
	})
	if o.Failure != nil {
		t.Errorf("%+v", o.Failure)
	}
	if b, err := os.ReadFile(filepath.Join(c.cfg.Dir, "sessions", string(id), "workspace", "kept")); err != nil || string(b) != "kept\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestMemoryAlarm: a person is told, once, when something in the Session nears the limit; Claude, which is not it, goes on.
func TestMemoryAlarm(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.figuresTime, r.parts.alarmTime = 100*time.Millisecond, 300*time.Millisecond }
	c.start()
	id := c.session()
	c.hub.wish(id, onEnvironment(func(r *claudehub.Recipe) { r.Memory = claudehub.MinMemory }))
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	life := c.life(id)
	c.run(id, `setsid perl -e 'open F, "/dev/zero"; sysread F, $x, 475000000; sleep 1000' >/dev/null 2>&1 & exit 0`)
	o := c.hub.await(t, id, "the alarm", func(o claudehub.Observed) bool { return strings.Contains(o.Notice, "of the 512 MB of memory") })
	if o.Phase != claudehub.PhaseAwake || c.life(id) != life {
		t.Errorf("life %s became %s: %+v", life, c.life(id), o)
	}
	c.run(id, "pkill perl")
	c.hub.await(t, id, "less memory", func(o claudehub.Observed) bool { return o.Figures.Memory < 100<<20 })
	notices := 0
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	for _, e := range c.hub.events {
		if e.Kind == wire.ReportNotice {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("%d notices", notices)
	}
}
