//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// typed types a line into a Session's shell.
func (c *computer) typed(id claudehub.SessionID, life string, n uint64, line string) {
	c.t.Helper()
	c.hub.say(wire.EventInput, wire.Input{
		Session: id, Author: c.hub.wishes[id].Creator, Terminal: "tab", Life: life, N: n, Kind: wire.InputPaste, Data: []byte(line),
	})
	c.hub.say(wire.EventInput, wire.Input{
		Session: id, Author: c.hub.wishes[id].Creator, Terminal: "tab", Life: life, N: n + 1, Kind: wire.InputKeys, Data: []byte("\r"),
	})
	if r := c.hub.reportOf(c.t, "tab", n+1); r.State != wire.InputApplied {
		c.t.Fatalf("typed: %+v", r)
	}
}

// processEnv is the environment of a Session's program in the place of Claude, one variable a line.
func (c *computer) processEnv(id claudehub.SessionID) string {
	c.t.Helper()
	return c.run(id, `for p in /proc/[0-9]*; do if tr '\0' ' ' <$p/cmdline | grep -q '^sh -i'; then cat $p/environ; fi; done`)
}

// TestVariablesAreInTheProcessAlone: they are in Claude's environment, whatever is in them, and win over nothing of ours;
// they are in no argument list, no file of the Runner's and no log.
func TestVariablesAreInTheProcessAlone(t *testing.T) {
	c := newComputer(t)
	secret := "marker-" + claudehub.NewNonce()
	large := strings.Repeat("large ", claudehub.MaxVariableValue/6)
	c.hub.machine.variables = []wire.Variable{
		{Name: "TOKEN", Value: secret + "\nsecond line; $(echo no) 'quoted' \"twice\"", Secret: true},
		{Name: "LARGE", Value: large}, {Name: "EMPTY"},
		{Name: "DISABLE_INSTALLATION_CHECKS", Value: "theirs"}, {Name: "PATH", Value: "/theirs"}, {Name: "BAD NAME", Value: "theirs"},
	}
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables = "1" })
	o := c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if !strings.Contains(o.Notice, "PATH") || !strings.Contains(o.Notice, "BAD NAME") {
		t.Errorf("the notice is %q", o.Notice)
	}
	env := "\x00" + c.processEnv(id)
	for _, want := range []string{"\x00TOKEN=" + secret + "\nsecond line; $(echo no) 'quoted' \"twice\"\x00", "\x00LARGE=" + large + "\x00", "\x00EMPTY=\x00"} {
		if !strings.Contains(env, want) {
			t.Errorf("%.60q is not in the environment", want)
		}
	}
	if strings.Contains(env, "theirs") {
		t.Error("a Variable won over one of ours")
	}
	if got := c.run(id, `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; done`); strings.Contains(got, secret) {
		t.Errorf("in an argument list: %s", got)
	}
	if strings.Contains(c.log.text(), secret) {
		t.Error("in the Runner's log")
	}
	err := filepath.WalkDir(c.cfg.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			t.Errorf("in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestVariablesOfANewLife: what is started again in the same Sandbox has them, also by another Runner process, which asks
// for them again; changed ones count at the next wake.
func TestVariablesOfANewLife(t *testing.T) {
	c := newComputer(t)
	c.hub.machine.variables = []wire.Variable{{Name: "WHICH", Value: "first"}}
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables = "1" })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	endShell := func() {
		life := c.life(id)
		c.run(id, "pkill -KILL -f '^sh -i'; true")
		until(t, "another life", func() bool { return c.life(id) != life && strings.Contains(c.processEnv(id), "WHICH=") })
	}
	endShell()
	if c.hub.machine.asked != 1 {
		t.Errorf("asked %d times by one process", c.hub.machine.asked)
	}
	if got := c.processEnv(id); !strings.Contains(got, "WHICH=first") {
		t.Errorf("the second life has %q", got)
	}
	c.kill()
	c.start()
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	endShell()
	if c.hub.machine.asked != 2 {
		t.Errorf("asked %d times by two processes", c.hub.machine.asked)
	}
	c.hub.mu.Lock()
	c.hub.machine.variables[0].Value = "second"
	c.hub.mu.Unlock()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables, d.Desired = "2", claudehub.WantAsleep })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAwake })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if got := c.processEnv(id); !strings.Contains(got, "WHICH=second") {
		t.Errorf("after another wake it has %q", got)
	}
}

// TestVariablesOfAHubThatIsAway: the Session says what it waits for, and starts by itself.
func TestVariablesOfAHubThatIsAway(t *testing.T) {
	c := newComputer(t)
	c.hub.machine.away = true
	c.adjust = func(r *Runner) { r.parts.variablesLimit = 100 * time.Millisecond }
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables = "1" })
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if !strings.Contains(o.Failure.Reason, "its Variables are at the Hub, which cannot be reached") {
		t.Errorf("%+v", o.Failure)
	}
	c.hub.mu.Lock()
	c.hub.machine.away = false
	c.hub.mu.Unlock()
	c.hub.wish(id, func(*wire.DesiredSession) {}) // as after any link
	c.hub.await(t, id, "awake", func(o claudehub.Observed) bool { return o.Phase == claudehub.PhaseAwake })
}
