package fleet_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// clock is a time that only tests move. Every look at it is a microsecond later, so that order shows.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Microsecond)
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// rig is a Fleet with one person and one Runner of theirs, and a stranger with another.
type rig struct {
	*fleet.Fleet
	t        testing.TB
	ctx      context.Context //nolint:containedctx // of the test, which the rig does not outlive
	st       *store.Store
	bus      *bus.Bus
	clock    *clock
	me       claudehub.PersonID
	runner   claudehub.RunnerID
	stranger claudehub.PersonID
	theirs   claudehub.RunnerID
	keys     *secret.Box
	log      *syncLog
	far      *farGitHub
}

// syncLog collects what is logged.
type syncLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t testing.TB, st *store.Store) *rig {
	t.Helper()
	b, err := bus.Start(t.Context(), bus.Options{})
	check(t, err)
	t.Cleanup(b.Close)
	keys, err := secret.Create(filepath.Join(t.TempDir(), "keyset.json"))
	check(t, err)
	r := &rig{t: t, ctx: t.Context(), st: st, bus: b, keys: keys, log: &syncLog{}, far: &farGitHub{readers: map[string]bool{}}, clock: &clock{t: time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC)}}
	r.restart()
	p, err := r.LocalPerson(r.ctx)
	check(t, err)
	r.me, r.stranger = p.ID, claudehub.NewPersonID()
	check(t, st.Write(r.ctx, func(q store.Q) error {
		return q.AddPerson(r.ctx, claudehub.Person{ID: r.stranger, Login: "stranger", Name: "S", Created: r.clock.now()})
	}))
	r.runner, r.theirs = r.addRunner(r.me, "laptop"), r.addRunner(r.stranger, "laptop")
	return r
}

// restart is a Hub that was killed and started again on the same database.
func (r *rig) restart() {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.Fleet = fleet.New(r.st, r.bus, log, fleet.Options{Now: r.clock.now, Secrets: r.keys, Sighter: r.far})
	check(r.t, r.Recover(r.ctx))
}

func (r *rig) addRunner(owner claudehub.PersonID, name string) claudehub.RunnerID {
	r.t.Helper()
	got, _, err := r.AddRunner(r.ctx, owner, name)
	check(r.t, err)
	return got.ID
}

func (r *rig) create(n fleet.NewSession) claudehub.Session {
	r.t.Helper()
	if n.Runner == "" {
		n.Runner = r.runner
	}
	s, err := r.CreateSession(r.ctx, r.me, n)
	check(r.t, err)
	return s
}

// observe is a status of the Runner about one Session.
func (r *rig) observe(id claudehub.SessionID, o claudehub.Observed) {
	r.t.Helper()
	reply, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Sessions: []wire.ObservedSession{{ID: id, Observed: o}}})
	check(r.t, err)
	if len(reply.Gone) > 0 {
		r.t.Fatalf("%v are gone", reply.Gone)
	}
}

func (r *rig) prompt(id claudehub.SessionID, text string) claudehub.Prompt {
	r.t.Helper()
	p, err := r.AddPrompt(r.ctx, r.me, id, text, "")
	check(r.t, err)
	return p
}

func (r *rig) promptState(id claudehub.SessionID, p claudehub.PromptID) claudehub.PromptState {
	r.t.Helper()
	all, err := r.Prompts(r.ctx, r.me, id)
	check(r.t, err)
	for _, q := range all {
		if q.ID == p {
			return q.State
		}
	}
	r.t.Fatalf("prompt %s is lost", p)
	return ""
}

func (r *rig) report(events ...wire.Event) {
	r.t.Helper()
	reply, err := r.StoreEvents(r.ctx, r.runner, wire.Events{Events: events})
	check(r.t, err)
	if len(reply.Stored) != len(events) {
		r.t.Fatalf("%d of %d events are answered", len(reply.Stored), len(events))
	}
}

func promptEvent(p claudehub.Prompt, state claudehub.PromptState) wire.Event {
	return wire.Event{ID: claudehub.NewEventID(), Session: p.Session, Kind: wire.ReportPrompt, Prompt: p.ID, State: state}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, what string, err error, code claudehub.Code) {
	t.Helper()
	if claudehub.CodeOf(err) != code {
		t.Errorf("%s: code %q instead of %q (%v)", what, claudehub.CodeOf(err), code, err)
	}
}

func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, st *store.Store) { test(t, newRig(t, st)) })
}

// heard collects what a stream of the Runner hears.
func (r *rig) listen(instance string) <-chan wireMessage {
	r.t.Helper()
	c := make(chan wireMessage, 1000)
	stop, err := r.Listen(r.ctx, r.runner, instance, func(kind string, data []byte) { c <- wireMessage{kind, string(data)} })
	check(r.t, err)
	r.t.Cleanup(stop)
	return c
}

type wireMessage struct{ kind, data string }

func hear(t testing.TB, c <-chan wireMessage, kind string) string {
	t.Helper()
	for {
		select {
		case m := <-c:
			if m.kind == kind {
				return m.data
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %q came", kind)
		}
	}
}

func (r *rig) environment(name string) claudehub.Environment {
	r.t.Helper()
	recipe := claudehub.DefaultRecipe()
	recipe.Setup = "echo " + name
	e, err := r.CreateEnvironment(r.ctx, r.me, name, recipe)
	check(r.t, err)
	return e
}

func (r *rig) build(e claudehub.Environment) claudehub.Build {
	r.t.Helper()
	b, err := r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner})
	check(r.t, err)
	return b
}

// observeBuild is a status of the Runner about builds; it returns those that are gone.
func (r *rig) observeBuild(all ...wire.ObservedBuild) []claudehub.BuildID {
	r.t.Helper()
	reply, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Builds: all})
	check(r.t, err)
	return reply.GoneBuilds
}

func observed(b claudehub.Build, state claudehub.BuildState) wire.ObservedBuild {
	return wire.ObservedBuild{ID: b.ID, Environment: b.Environment, Version: b.Version, Hash: b.Hash, State: state}
}

func (r *rig) snapshot() wire.Snapshot {
	r.t.Helper()
	s, err := r.Snapshot(r.ctx, r.runner)
	check(r.t, err)
	return s
}

func (r *rig) desiredOf(id claudehub.SessionID) wire.DesiredSession {
	r.t.Helper()
	for _, d := range r.snapshot().Sessions {
		if d.ID == id {
			return d
		}
	}
	r.t.Fatalf("the Runner does not know of %s", id)
	return wire.DesiredSession{}
}
