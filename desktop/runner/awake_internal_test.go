//go:build linux

package runner

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func TestWakeSleepWakeArchive(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	if o := c.hub.awaitPhase(t, id, claudehub.PhaseAwake); o.SandboxLink.State != claudehub.LinkUp || o.Generation != 1 {
		t.Errorf("awake as %+v", o)
	}
	c.run(id, "echo work > /workspace/work")
	first := c.life(id)
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	c.nothingRuns(id)
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAwake })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if c.life(id) == first {
		t.Error("a terminal of a new life has the old one's name")
	}
	if got := c.run(id, "cat /workspace/work"); got != "work" {
		t.Errorf("the workspace has %q", got)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantArchived })
	c.hub.awaitPhase(t, id, claudehub.PhaseArchived)
	boxes, err := c.backend.List(t.Context())
	if err != nil || len(boxes) != 0 {
		t.Errorf("Sandboxes left: %v, %v", boxes, err)
	}
	if b, err := os.ReadFile(filepath.Join(c.cfg.Dir, "sessions", string(id), "workspace", "work")); err != nil || string(b) != "work\n" {
		t.Errorf("archived, the workspace has %q, %v", b, err)
	}
}

func (c *computer) nothingRuns(id claudehub.SessionID) {
	c.t.Helper()
	boxes, err := c.backend.List(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, b := range boxes {
		if b.ID == sandbox.ID(id) && b.State != sandbox.Stopped {
			c.t.Errorf("the Sandbox is %s", b.State)
		}
	}
}

// TestAdoption: the next Runner takes up what runs, without a step, and types where the one before did.
func TestAdoption(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	in := wire.Input{Session: id, Author: c.hub.wishes[id].Creator, Terminal: "tab", Life: life, N: 1, Kind: wire.InputKeys, Data: []byte("echo once >> /workspace/out\r")}
	c.hub.say(wire.EventInput, in)
	if r := c.hub.reportOf(t, "tab", 1); r.State != wire.InputApplied {
		t.Fatalf("input: %+v", r)
	}
	c.kill()
	if got := c.run(id, "pgrep -c tmux"); got == "0" {
		t.Fatal("tmux ended with the Runner")
	}
	c.hub.mu.Lock()
	c.hub.phases, c.hub.frames = map[claudehub.SessionID][]string{}, nil
	delete(c.hub.seen, id)
	c.hub.mu.Unlock()
	c.start()
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	// A status may come before the stream is there, and what is said to no stream is lost.
	c.hub.told(t, "the stream", func() bool { return len(c.hub.streams) > 0 })
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true, Terminal: "tab"})
	if again := c.hub.screenOf(t, "the old screen", func(s string) bool { return strings.Contains(s, "echo once") }); again != life {
		t.Errorf("life %s became %s", life, again)
	}
	if r := c.hub.reportOf(t, "tab", 1); r.State != wire.InputApplied {
		t.Errorf("what was applied from this terminal: %+v", r)
	}
	c.hub.say(wire.EventInput, in) // as a browser does that heard nothing
	in.N, in.Data = 2, []byte("echo done >> /workspace/out\r")
	c.hub.say(wire.EventInput, in)
	c.hub.reportOf(t, "tab", 2)
	until(t, "the commands ran", func() bool { return strings.Contains(c.run(id, "cat /workspace/out"), "done") })
	if got := c.run(id, "cat /workspace/out"); got != "once\ndone" {
		t.Errorf("typed: %q", got)
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if got := strings.Join(c.hub.phases[id], ", "); got != "awake" {
		t.Errorf("the second Runner showed: %s", got)
	}
}

// TestInputIsAskedWhoseItIs: the Hub is not believed (promise 5), and nothing is typed into another life.
func TestInputIsAskedWhoseItIs(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	creator := c.hub.wishes[id].Creator
	type1 := func(terminal string, author claudehub.PersonID, life string) wire.InputReport {
		c.hub.say(wire.EventInput, wire.Input{Session: id, Author: author, Terminal: terminal, Life: life, N: 1, Kind: wire.InputKeys,
			Data: []byte("touch /workspace/" + terminal + "\r")})
		return c.hub.reportOf(t, terminal, 1)
	}
	if r := type1("stranger", claudehub.NewPersonID(), life); r.State != wire.InputRefused || r.Why == "" {
		t.Errorf("another person's input: %+v", r)
	}
	if r := type1("nobody", "", life); r.State != wire.InputRefused {
		t.Errorf("nobody's input: %+v", r)
	}
	if r := type1("late", creator, claudehub.NewNonce()); r.State != wire.InputExpired || r.Why == "" {
		t.Errorf("input for another life: %+v", r)
	}
	c.hub.say(wire.EventResize, wire.Resize{Session: id, Author: claudehub.NewPersonID(), Cols: 33, Rows: 11})
	if r := type1("creator", creator, life); r.State != wire.InputApplied {
		t.Errorf("the Creator's input: %+v", r)
	}
	until(t, "the Creator's command ran", func() bool { return c.run(id, "ls /workspace") != "" })
	if got := c.run(id, "ls /workspace"); got != "creator" {
		t.Errorf("typed by: %q", got)
	}
	if got := c.run(id, "tmux -S "+socket(life)+" display -p '#{pane_width}x#{pane_height}'"); got != "120x36" {
		t.Errorf("another person made it %s", got)
	}
}

// TestKilledIsBroughtBack: what ends without the person's wish comes back by itself, in a terminal of a new life.
func TestKilledIsBroughtBack(t *testing.T) {
	for name, kill := range map[string]func(*computer, claudehub.SessionID){
		"Sandbox": func(c *computer, id claudehub.SessionID) {
			if err := c.backend.Stop(c.t.Context(), sandbox.ID(id), 0); err != nil {
				c.t.Error(err)
			}
		},
		"tmux":        func(c *computer, id claudehub.SessionID) { c.run(id, "pkill -KILL tmux") },
		"Claude":      func(c *computer, id claudehub.SessionID) { c.run(id, "pkill -KILL -f '^sh -i'") },
		"frozen tmux": func(c *computer, id claudehub.SessionID) { c.run(id, "pkill -STOP tmux") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newComputer(t)
			c.illTime = 2 * time.Second
			c.start()
			id := c.session()
			c.hub.wish(id, func(*wire.DesiredSession) {})
			c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
			c.run(id, "echo work > /workspace/work")
			life := c.life(id)
			kill(c, id)
			until(t, "a new life", func() bool { return c.life(id) != life })
			c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
			if got := c.run(id, "cat /workspace/work; pgrep -c -f '^sh -i'"); got != "work\n1" {
				t.Errorf("brought back: %q", got)
			}
		})
	}
}

// TestUnwritableStageStopsAPrompt: what cannot be written down is not done, since nobody would know that it was.
func TestUnwritableStageStopsAPrompt(t *testing.T) {
	c := newComputer(t)
	c.pasteTime = 2 * time.Second
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	// As a full disk does, at the first stage that matters.
	_, err := c.state.db.ExecContext(t.Context(), `CREATE TRIGGER full BEFORE UPDATE ON prompts BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
	if err != nil {
		t.Fatal(err)
	}
	p := c.hub.prompt(id, "echo typed-twice")
	c.hub.awaitPrompt(t, p, claudehub.PromptDelivered)
	until(t, "it was tried", func() bool { return strings.Count(c.log.text(), "disk full") >= 3 })
	if got := c.run(id, "tmux -S "+socket(life)+" capture-pane -p"); strings.Contains(got, "typed-twice") {
		t.Errorf("it was written to Claude, and nothing says so: %s", got)
	}
	if _, err := c.state.db.ExecContext(t.Context(), "DROP TRIGGER full"); err != nil {
		t.Fatal(err)
	}
	// A shell has no input box to show it in.
	c.hub.awaitPrompt(t, p, claudehub.PromptFailed)
	if got := c.run(id, "tmux -S "+socket(life)+" capture-pane -p"); strings.Count(got, "typed-twice") != 1 {
		t.Errorf("the screen has:\n%s", got)
	}
}

// TestNothingStartsBesideAnotherProcess: a copy of a Runner's state, on another machine say, must not start its Sessions
// while the Hub says that another process has the lease; a Hub that is away stops nothing.
func TestNothingStartsBesideAnotherProcess(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.kill()
	if err := c.backend.Stop(t.Context(), sandbox.ID(id), time.Second); err != nil {
		t.Fatal(err)
	}
	refuse := func(status int) {
		c.hub.mu.Lock()
		defer c.hub.mu.Unlock()
		c.hub.refuse, c.hub.refused = status, 0
	}
	refuse(http.StatusConflict)
	c.start()
	c.hub.told(t, "tries", func() bool { return c.hub.refused >= 4 })
	c.nothingRuns(id)

	refuse(http.StatusServiceUnavailable) // the other one is gone, and so is the Hub
	until(t, "the Sandbox runs", func() bool {
		boxes, err := c.backend.List(t.Context())
		return err == nil && len(boxes) == 1 && boxes[0].State == sandbox.Running
	})
	refuse(0)
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
}
