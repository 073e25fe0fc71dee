//go:build linux

package runner

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// built is a recipe with a script, on the machine's default base.
func built(setup string) claudehub.Recipe {
	r := claudehub.DefaultRecipe()
	r.Setup, r.Memory = setup, 1<<30
	return r
}

func environment(r claudehub.Recipe) *wire.DesiredEnvironment {
	return &wire.DesiredEnvironment{Recipe: r, EnvironmentRef: claudehub.EnvironmentRef{ID: claudehub.NewEnvironmentID(), Version: 1, Name: "work"}}
}

// TestBuildThatIsAskedFor: it is made whatever Sessions do, its log arrives at the Hub, and a Session then starts from it
// without a build.
func TestBuildThatIsAskedFor(t *testing.T) {
	c := newComputer(t)
	secret := "marker-" + claudehub.NewNonce()
	c.hub.machine.variables = []wire.Variable{{Name: "TOKEN", Value: secret, Secret: true}}
	c.start()
	env := environment(built("echo made by \"$TOKEN\"; echo made > /made; yes line | head -n 100000"))
	id := claudehub.NewBuildID()
	c.hub.wishMachine(func(m *wire.DesiredMachine) {
		m.Builds = append(m.Builds, wire.DesiredBuild{ID: id, Environment: env.EnvironmentRef, Recipe: env.Recipe})
	})
	o := c.hub.awaitBuild(t, "the build", func(o wire.ObservedBuild) bool { return o.ID == id && o.State.Final() })
	if o.State != claudehub.BuildReady || o.Hash != env.Recipe.Hash() || o.Environment != env.ID {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	c.hub.told(t, "its log", func() bool { return strings.Contains(string(c.hub.machine.logs[id]), "Smoke test") })
	c.hub.told(t, "all of its log", func() bool { return int64(len(c.hub.machine.logs[id])) == c.cfg.Builder.LogSize(id) })
	if log := string(c.hub.machine.logs[id]); !strings.Contains(log, "made by ***") || strings.Contains(log, secret) || strings.Count(log, "line\n") != 100000 {
		t.Errorf("the log: %.300s", log)
	}
	session := c.session()
	c.hub.wish(session, func(d *wire.DesiredSession) { d.Environment = env })
	seen := c.hub.awaitPhase(t, session, claudehub.PhaseAwake)
	if got := c.run(session, "cat /made"); got != "made" || seen.Environment == nil || seen.Build != "" {
		t.Errorf("in the Session %q, %+v", got, seen)
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if len(c.hub.machine.builds) != 1 {
		t.Errorf("builds: %+v", c.hub.machine.builds)
	}
}

// gate holds up setup scripts until it is opened.
type gate struct {
	ln   net.Listener
	came chan net.Conn
}

func newGate(t *testing.T) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ln: ln, came: make(chan net.Conn, 10)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			g.came <- conn
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
		close(g.came)
		for conn := range g.came {
			conn.Close()
		}
	})
	return g
}

// script waits at the gate.
func (g *gate) script() string {
	return fmt.Sprintf("bash -c 'read x </dev/tcp/127.0.0.1/%d'", g.ln.Addr().(*net.TCPAddr).Port)
}

// open lets the first that comes through.
func (g *gate) open(t *testing.T) {
	t.Helper()
	select {
	case conn := <-g.came:
		_, _ = conn.Write([]byte("go\n"))
		conn.Close()
	case <-time.After(patience):
		t.Fatal("no script came to the gate")
	}
}

func (c *computer) awaitsEnvironment(id claudehub.SessionID) claudehub.Observed {
	c.t.Helper()
	return c.hub.await(c.t, id, "waiting for its Environment", func(o claudehub.Observed) bool {
		return o.Step != nil && o.Step.Name == stepEnvironment && o.Build != "" && strings.Contains(o.Step.Detail, "Setup script")
	})
}

// TestWakeBuildsWhatIsMissing: the build is shown with the Sessions, which share it, and who leaves takes nothing from
// the other.
func TestWakeBuildsWhatIsMissing(t *testing.T) {
	c := newComputer(t)
	c.start()
	g := newGate(t)
	env := environment(built(g.script() + "; echo made > /made"))
	first, second := c.session(), c.session()
	c.hub.wish(first, func(d *wire.DesiredSession) { d.Environment = env })
	a := c.awaitsEnvironment(first)
	c.hub.wish(second, func(d *wire.DesiredSession) { d.Environment = env })
	if b := c.awaitsEnvironment(second); a.Build != b.Build {
		t.Errorf("two builds: %s and %s", a.Build, b.Build)
	}
	if o := c.hub.awaitBuild(t, "the build", func(o wire.ObservedBuild) bool { return o.ID == a.Build }); o.Session != first || o.State != claudehub.BuildBuilding {
		t.Errorf("%+v", o)
	}
	c.hub.wish(first, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
	c.hub.awaitPhase(t, first, claudehub.PhaseAsleep)
	g.open(t)
	if o := c.hub.awaitPhase(t, second, claudehub.PhaseAwake); o.Build != "" {
		t.Errorf("it still waits for %s", o.Build)
	}
	if got := c.run(second, "cat /made"); got != "made" {
		t.Errorf("in the Session %q", got)
	}
}

// TestBuildThatFails: the Session says where, and what to do; the build has the line, and its Sandbox can be looked into
// with the same terminal, until it is given up.
func TestBuildThatFails(t *testing.T) {
	c := newComputer(t)
	c.start()
	env := environment(built("echo one > /one\necho before\nfalse\n"))
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Environment = env })
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if o.Failure.Step != stepEnvironment || o.Failure.Fix == "" || !o.Failure.Retry || o.Build == "" {
		t.Errorf("%+v", o)
	}
	b := c.hub.awaitBuild(t, "failed", func(b wire.ObservedBuild) bool { return b.State == claudehub.BuildFailed })
	if b.Line != 3 || b.Kept.IsZero() || b.ID != o.Build {
		t.Errorf("%+v", b)
	}
	look := c.session()
	c.hub.wish(look, func(d *wire.DesiredSession) { d.Kind, d.Build = claudehub.KindLook, b.ID })
	c.hub.awaitPhase(t, look, claudehub.PhaseAwake)
	c.hub.say(wire.EventAttach, wire.Attach{Session: look, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "a shell", func(s string) bool { return strings.Contains(s, "$") || strings.Contains(s, "#") })
	c.typed(look, life, 1, "cat /one && env; exit")
	c.hub.screenOf(t, "what the script left", func(s string) bool { return strings.Contains(s, "one") })
	until(t, "another shell after the exit", func() bool { return c.life(look) != "" && c.life(look) != life })
	c.hub.awaitPhase(t, look, claudehub.PhaseAwake)
	if env := c.inBox(string(b.ID), `for p in /proc/[0-9]*; do tr '\0' '\n' <$p/environ; done; true`); strings.Contains(env, standInToken) || strings.Contains(env, "CLAUDE_CODE") {
		t.Errorf("the shell has %s", env)
	}
	c.kill()
	c.start() // it is there for the next Runner process
	c.hub.awaitPhase(t, look, claudehub.PhaseAwake)
	c.hub.wish(look, func(d *wire.DesiredSession) { d.Desired = claudehub.WantArchived })
	c.hub.awaitPhase(t, look, claudehub.PhaseArchived)
	c.hub.awaitBuild(t, "nothing kept", func(o wire.ObservedBuild) bool { return o.ID == b.ID && o.Kept.IsZero() })
	if boxes, err := c.backend.List(t.Context()); err != nil || len(boxes) != 0 {
		t.Errorf("left: %+v, %v", boxes, err)
	}
	c.hub.wish(look, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantAwake, 2 })
	if o := c.hub.awaitPhase(t, look, claudehub.PhaseFailed); !strings.Contains(o.Failure.Reason, "Sandbox of the failed build is gone") {
		t.Errorf("%+v", o.Failure)
	}
}

// TestBuildIsCancelled: whoever waits for it is told, and nothing runs on.
func TestBuildIsCancelled(t *testing.T) {
	c := newComputer(t)
	c.start()
	g := newGate(t)
	env := environment(built(g.script()))
	id, build := c.session(), claudehub.NewBuildID()
	c.hub.wishMachine(func(m *wire.DesiredMachine) {
		m.Builds = append(m.Builds, wire.DesiredBuild{ID: build, Environment: env.EnvironmentRef, Recipe: env.Recipe})
	})
	c.hub.awaitBuild(t, "under way", func(o wire.ObservedBuild) bool { return o.State == claudehub.BuildBuilding })
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Environment = env })
	c.awaitsEnvironment(id)
	c.hub.wishMachine(func(m *wire.DesiredMachine) { m.Builds[0].Cancel = true })
	c.hub.awaitBuild(t, "cancelled", func(o wire.ObservedBuild) bool { return o.ID == build && o.State == claudehub.BuildCancelled })
	if o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed); o.Failure.Reason != "The build was cancelled." {
		t.Errorf("%+v", o.Failure)
	}
	if boxes, err := c.backend.List(t.Context()); err != nil || len(boxes) != 0 {
		t.Errorf("left: %+v, %v", boxes, err)
	}
}

// TestBuildOutlivesTheRunner: a Runner that was killed during a build makes it when it is back; the log goes on, and
// a Hub that was away meanwhile gets it all.
func TestBuildOutlivesTheRunner(t *testing.T) {
	c := newComputer(t)
	c.start()
	g := newGate(t)
	env := environment(built("echo begun; " + g.script() + "; echo done"))
	id := claudehub.NewBuildID()
	c.hub.wishMachine(func(m *wire.DesiredMachine) {
		m.Builds = append(m.Builds, wire.DesiredBuild{ID: id, Environment: env.EnvironmentRef, Recipe: env.Recipe})
	})
	c.hub.told(t, "the log's beginning", func() bool { return strings.Contains(string(c.hub.machine.logs[id]), "begun") })
	c.kill()
	(<-g.came).Close()
	c.start()
	c.hub.told(t, "the script begins again", func() bool { return c.hub.machine.asked == 2 })
	c.hub.mu.Lock()
	c.hub.down = true
	c.hub.mu.Unlock()
	g.open(t)
	until(t, "it is ready here", func() bool {
		for _, o := range c.cfg.Builder.Past() {
			if o.ID == id {
				return true
			}
		}
		return false
	})
	c.hub.mu.Lock()
	c.hub.down = false
	c.hub.mu.Unlock()
	c.hub.awaitBuild(t, "ready", func(o wire.ObservedBuild) bool { return o.ID == id && o.State == claudehub.BuildReady })
	c.hub.told(t, "its log", func() bool { return int64(len(c.hub.machine.logs[id])) == c.cfg.Builder.LogSize(id) })
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if log := string(c.hub.machine.logs[id]); !strings.Contains(log, "begins again") || !strings.Contains(log, "done") {
		t.Errorf("its log: %s", log)
	}
}

// TestBuildsThatTheHubDoesNotKnow: they are forgotten, with their logs.
func TestBuildsThatTheHubDoesNotKnow(t *testing.T) {
	c := newComputer(t)
	c.start()
	env := environment(built("true"))
	id := claudehub.NewBuildID()
	c.hub.wishMachine(func(m *wire.DesiredMachine) {
		m.Builds = append(m.Builds, wire.DesiredBuild{ID: id, Environment: env.EnvironmentRef, Recipe: env.Recipe})
	})
	c.hub.awaitBuild(t, "ready", func(o wire.ObservedBuild) bool { return o.State == claudehub.BuildReady })
	c.hub.mu.Lock()
	c.hub.machine.unknown[id] = true
	c.hub.mu.Unlock()
	c.kill()
	c.start() // it tells all that it knows
	until(t, "forgotten", func() bool {
		all, err := c.state.Builds(t.Context())
		return err == nil && len(all) == 0 && c.cfg.Builder.LogSize(id) == 0
	})
}

// TestImageThatIsGone: a Session whose image was removed meanwhile has it made again.
func TestImageThatIsGone(t *testing.T) {
	c := newComputer(t)
	c.start()
	env := environment(built("echo made > /made"))
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Environment = env })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantAsleep, 2 })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	must(t, c.backend.Remove(t.Context(), sandbox.ID(id)))
	images, err := c.backend.Images(t.Context())
	must(t, err)
	removed := 0
	for _, i := range images {
		if strings.HasPrefix(string(i.Image), "env-") {
			must(t, c.backend.RemoveImage(t.Context(), i.Image))
			removed++
		}
	}
	if removed != 1 {
		t.Fatalf("images: %+v", images)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantAwake, 3 })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if got := c.run(id, "cat /made"); got != "made" {
		t.Errorf("in the Session %q", got)
	}
}

// inBox runs a shell command in a Sandbox that is no Session's own.
func (c *computer) inBox(box, script string) string {
	c.t.Helper()
	return c.run(claudehub.SessionID(box), "cd /; "+script)
}
