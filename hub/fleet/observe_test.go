package fleet_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// What a hostile Runner says of a Session and of its machine is bounded, and fits into the database.
func TestHostileStatus(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		o := claudehub.Observed{Phase: claudehub.PhaseAwake, Build: "x", Environment: &claudehub.EnvironmentRef{ID: "javascript:"},
			Figures: claudehub.Figures{CPU: math.Inf(1), CPUs: -1, Memory: math.MinInt64, Disk: math.MaxInt64, MemoryLimit: -1, Freed: 7}}
		for i := range 70_000 {
			o.Ports = append(o.Ports, claudehub.Port{Port: i - 100, Process: strings.Repeat("p\x00", 1000), Local: "evil.example:80", Error: "\xff"})
			o.Checks = append(o.Checks, claudehub.Check{Name: "clock", State: claudehub.CheckOK, Detail: strings.Repeat("d", 9000)}, claudehub.Check{Name: "x", State: "y"})
		}
		o.Ports = append([]claudehub.Port{{Port: 80, Local: "127.0.0.1:41234"}, {Port: 81, Local: "[::1]:5"}, {Port: 82, Local: "10.0.0.1:1"}}, o.Ports...)
		m := claudehub.Machine{MaxAwake: -5, Networks: []claudehub.NetworkPolicy{"open", "anything"}, Storage: claudehub.Storage{
			Sessions: -1, Reclaimed: claudehub.Reclaimed{Request: math.MaxInt64, Error: strings.Repeat("e", 1<<20)}}}
		for range 1000 {
			m.Storage.Items = append(m.Storage.Items, claudehub.StorageItem{Kind: "image", Name: strings.Repeat("n\x00", 5000), Bytes: -1, Sessions: math.MinInt},
				claudehub.StorageItem{Kind: "everything"})
		}
		_, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Machine: m, Sessions: []wire.ObservedSession{{ID: s.ID, Observed: o}}})
		check(t, err)
		got, err := r.Session(r.ctx, r.me, s.ID)
		check(t, err)
		seen := got.Observed
		if seen.Figures != (claudehub.Figures{Freed: 7}) || seen.Environment != nil || seen.Build != "" || len(seen.Ports) != 200 || len(seen.Checks) != 20 {
			t.Errorf("figures %+v, %d ports, %d checks", seen.Figures, len(seen.Ports), len(seen.Checks))
		}
		for i, want := range []string{"127.0.0.1:41234", "[::1]:5", "", ""} {
			if seen.Ports[i].Local != want {
				t.Errorf("port %d is reachable at %q", i, seen.Ports[i].Local)
			}
		}
		b, err := json.Marshal(got)
		check(t, err)
		if len(b) > 1<<20 {
			t.Errorf("the Session has %d KB", len(b)>>10)
		}
		runners, err := r.Runners(r.ctx, r.me)
		check(t, err)
		machine := runners[0].Machine
		if machine.MaxAwake != 0 || len(machine.Networks) != 1 || machine.Storage.Sessions != 0 || machine.Storage.Reclaimed.Request != 0 ||
			len(machine.Storage.Reclaimed.Error) > 2<<10 || len(machine.Storage.Items) > 50 {
			t.Errorf("%d items, %+v", len(machine.Storage.Items), machine.Storage.Reclaimed)
		}
		for _, i := range machine.Storage.Items {
			if i.Kind != "image" || i.Bytes != 0 || i.Sessions != 0 || len(i.Name) > 4<<10 {
				t.Errorf("an item of %s with %d bytes", i.Kind, i.Bytes)
			}
		}
		// The Runner's number that cannot be is not believed: the next Reclaim counts from its own.
		if got, err := r.Reclaim(r.ctx, r.me, r.runner, []string{"image"}); err != nil || got.Reclaim != 1 {
			t.Errorf("%d %v", got.Reclaim, err)
		}
	})
}

// Figures that hardly move are not written each time, and what is shown is never older than a minute.
func TestSmallFiguresAreNotStored(t *testing.T) {
	r := newRig(t, openSQLite(t))
	s := r.create(newSession())
	figures := claudehub.Figures{CPU: 0.5, Memory: 1 << 30, Disk: 1 << 30}
	at := func(change func(*claudehub.Observed)) time.Time {
		t.Helper()
		o := claudehub.Observed{Phase: claudehub.PhaseAwake, Figures: figures}
		change(&o)
		r.observe(s.ID, o)
		got, err := r.Session(r.ctx, r.me, s.ID)
		check(t, err)
		return got.Updated
	}
	first := at(func(*claudehub.Observed) {})
	if !at(func(o *claudehub.Observed) {
		o.Figures.CPU, o.Figures.Memory, o.Figures.Disk = 0.55, 1<<30+1<<20, 1<<30+1<<20
	}).Equal(first) {
		t.Error("a small change was stored")
	}
	for what, change := range map[string]func(*claudehub.Observed){
		"memory": func(o *claudehub.Observed) { o.Figures.Memory = 2 << 30 },
		"a port": func(o *claudehub.Observed) { o.Ports = []claudehub.Port{{Port: 3000}} },
		"a check": func(o *claudehub.Observed) {
			o.Checks = []claudehub.Check{{Name: "clock", State: claudehub.CheckRunning}}
		},
		"freed": func(o *claudehub.Observed) { o.Figures.Freed = 1 },
	} {
		before := at(func(*claudehub.Observed) {})
		if at(change).Equal(before) {
			t.Errorf("%s was not stored", what)
		}
	}
	before := at(func(*claudehub.Observed) {})
	r.clock.move(2 * time.Minute)
	if at(func(o *claudehub.Observed) { o.Figures.CPU = 0.55 }).Equal(before) {
		t.Error("what is shown is two minutes old")
	}
}

func devcontainerEvent(s claudehub.SessionID, d wire.Devcontainer, at time.Time) wire.Event {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return wire.Event{ID: claudehub.NewEventID(), Session: s, Kind: wire.ReportDevcontainer, At: at, Text: string(b)}
}

func TestDevcontainersThatRunnersFind(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: repoURL}})
		empty := r.create(newSession())
		now := r.clock.now()
		good := wire.Devcontainer{Path: ".devcontainer/devcontainer.json", JSON: `{"image": "debian:bookworm"} // x`, Files: map[string]string{"a/install.sh": "echo \x00"}}
		newer := good
		newer.JSON = `{"image": "debian:trixie"}`
		large, huge, nameless := good, good, good
		large.Files = map[string]string{"a": strings.Repeat("x", wire.MaxDevcontainerFile+1)}
		huge.Files = map[string]string{}
		for i := range 5 {
			huge.Files[strings.Repeat("f", i+1)] = strings.Repeat("x", wire.MaxDevcontainerFile)
		}
		nameless.Path = ""
		r.report(devcontainerEvent(s.ID, newer, now), devcontainerEvent(s.ID, good, now.Add(-time.Hour)), devcontainerEvent(empty.ID, good, now),
			devcontainerEvent(s.ID, large, now), devcontainerEvent(s.ID, huge, now), devcontainerEvent(s.ID, nameless, now),
			wire.Event{ID: claudehub.NewEventID(), Session: s.ID, Kind: wire.ReportDevcontainer, Text: "{"})
		seeds, err := r.Seeds(r.ctx, r.me)
		check(t, err)
		if len(seeds) != 1 || seeds[0].Repo != repo || seeds[0].Path != good.Path {
			t.Fatalf("the seeds are %+v", seeds)
		}
		if theirs, err := r.Seeds(r.ctx, r.stranger); err != nil || len(theirs) != 0 {
			t.Errorf("a stranger sees %v, %v", theirs, err)
		}
		for _, by := range []string{repo, repoURL} {
			seed, err := r.SeedFromRepo(r.ctx, r.me, by, "")
			check(t, err)
			if seed.Recipe.Base.Ref != "debian:trixie" {
				t.Errorf("the recipe is %+v", seed.Recipe)
			}
		}
		for what, err := range map[string]error{
			"a stranger":   second(r.SeedFromRepo(r.ctx, r.stranger, repo, "")),
			"another repo": second(r.SeedFromRepo(r.ctx, r.me, "example.org/no/no", "")),
			"another path": second(r.SeedFromRepo(r.ctx, r.me, repo, "x")),
			"a NUL":        second(r.SeedFromRepo(r.ctx, r.me, repo, "x\x00")),
		} {
			wantCode(t, what, err, claudehub.NotFound)
		}
		_, err = r.SeedFrom(large)
		wantCode(t, "a large file by hand", err, claudehub.TooLarge)
		if history, err := r.History(r.ctx, r.me, s.ID); err != nil || len(history) != 0 {
			t.Errorf("the history has %v, %v", history, err)
		}
	})
}
