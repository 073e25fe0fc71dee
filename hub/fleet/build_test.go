package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func TestABuildFromTheButtonToItsEnd(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		heard := r.listen("x")
		e := r.environment("tools")
		before := r.snapshot()
		b := r.build(e)
		hear(t, heard, fleet.Nudge)
		if b.State != claudehub.BuildQueued || b.Hash != e.Recipe.Hash() || b.By != r.me || b.Steps == nil {
			t.Errorf("it is %+v", b)
		}
		if again := r.build(e); again.ID != b.ID {
			t.Error("an open build of the same recipe is not shared")
		}
		// A Runner that was away hears of it by the number that it has.
		changes, err := r.DesiredSince(r.ctx, r.runner, before.Seq)
		check(t, err)
		m := changes.Machine
		if m == nil || m.Seq <= before.Seq || len(m.Builds) != 1 || m.Builds[0].ID != b.ID || m.Builds[0].Recipe.Setup != "echo tools" || m.Builds[0].Environment.Name != "tools" {
			t.Fatalf("the Runner hears %+v", m)
		}
		o := observed(b, claudehub.BuildBuilding)
		o.Steps = []claudehub.BuildStep{{Name: "Base image", State: claudehub.StepRunning, Progress: 0.2}}
		r.observeBuild(o)
		if got := r.mustBuild(b.ID); got.State != claudehub.BuildBuilding || len(got.Steps) != 1 {
			t.Errorf("it is %+v", got)
		}
		o = observed(b, claudehub.BuildReady)
		o.Steps = []claudehub.BuildStep{{Name: "Base image", State: claudehub.StepDone, Progress: 1}}
		r.observeBuild(o)
		if got := r.mustBuild(b.ID); got.State != claudehub.BuildReady || got.Steps[0].State != claudehub.StepDone {
			t.Errorf("it is %+v", got)
		}
		if m := r.snapshot().Machine; len(m.Builds) != 0 {
			t.Errorf("what is over is still desired: %+v", m.Builds)
		}
		if next := r.build(e); next.ID == b.ID {
			t.Error("a build that is over is shared")
		}
		all, err := r.Builds(r.ctx, r.me, e.ID)
		check(t, err)
		if len(all) != 2 || all[1].ID != b.ID {
			t.Errorf("%d builds are listed", len(all))
		}
	})
}

func (r *rig) mustBuild(id claudehub.BuildID) claudehub.Build {
	r.t.Helper()
	b, err := r.Build(r.ctx, r.me, id)
	check(r.t, err)
	return b
}

// Buttons pressed at the same moment make one build.
func TestBuildTogether(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		ids := make([]claudehub.BuildID, 6)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				b, err := r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner})
				if err != nil {
					t.Error(err)
				}
				ids[i] = b.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("several builds: %v", ids)
			}
		}
	})
}

func TestCancelABuild(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		b := r.build(e)
		got, err := r.CancelBuild(r.ctx, r.me, b.ID)
		check(t, err)
		if !got.Cancelling || got.State != claudehub.BuildQueued {
			t.Errorf("it is %+v", got)
		}
		seq := r.snapshot().Machine
		if !seq.Builds[0].Cancel {
			t.Error("the Runner does not hear of it")
		}
		_, err = r.CancelBuild(r.ctx, r.me, b.ID)
		check(t, err)
		if again := r.snapshot().Machine.Seq; again != seq.Seq {
			t.Error("pressed twice it counts twice")
		}
		// Who presses Build now does not get the one that is being given up.
		if other := r.build(e); other.ID == b.ID {
			t.Error("a build that is given up is shared")
		}
		r.observeBuild(observed(b, claudehub.BuildCancelled))
		if got := r.mustBuild(b.ID); got.State != claudehub.BuildCancelled || got.Cancelling {
			t.Errorf("it is %+v", got)
		}
		_, err = r.CancelBuild(r.ctx, r.me, b.ID)
		check(t, err)
		done := r.build(r.environment("done"))
		r.observeBuild(observed(done, claudehub.BuildReady))
		_, err = r.CancelBuild(r.ctx, r.me, done.ID)
		wantCode(t, "what is over", err, claudehub.Conflict)
	})
}

// Reports doubled, late and in any order: a state never goes back.
func TestFinalStatesStay(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		states := []claudehub.BuildState{claudehub.BuildQueued, claudehub.BuildBuilding, claudehub.BuildReady, claudehub.BuildFailed, claudehub.BuildCancelled}
		for i, final := range states[2:] {
			b := r.build(r.environment(fmt.Sprint("e", i)))
			o := observed(b, final)
			o.Failure, o.Line, o.Kept = &claudehub.Failure{Step: "Setup", Reason: "it ended with 1"}, 3, r.clock.now().Add(time.Hour)
			r.observeBuild(o)
			before := r.mustBuild(b.ID)
			for _, state := range states {
				late := observed(b, state)
				late.Steps = []claudehub.BuildStep{{Name: "late"}}
				if state == final {
					late.Kept = o.Kept
				}
				r.observeBuild(late)
			}
			if diff := cmp.Diff(before, r.mustBuild(b.ID)); diff != "" {
				t.Errorf("%s changed %s", final, diff)
			}
			if (before.Failure != nil) != (final == claudehub.BuildFailed) || (before.Kept.IsZero()) == (final == claudehub.BuildFailed) {
				t.Errorf("%s has %+v", final, before)
			}
		}
	})
}

func TestBuildsThatTheRunnerBegan(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e, unused := r.environment("tools"), r.environment("unused")
		s := r.create(fleet.NewSession{Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		own := claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 1, Hash: e.Recipe.Hash()}
		o := observed(own, claudehub.BuildBuilding)
		o.Session = s.ID
		if gone := r.observeBuild(o); len(gone) > 0 {
			t.Fatal("it is gone")
		}
		got := r.mustBuild(own.ID)
		if got.State != claudehub.BuildBuilding || got.By != r.me || got.Runner != r.runner {
			t.Errorf("it is %+v", got)
		}
		// It is shared with who presses Build, and can be cancelled.
		if b := r.build(e); b.ID != own.ID {
			t.Error("it is not shared")
		}
		_, err := r.CancelBuild(r.ctx, r.me, own.ID)
		check(t, err)

		theirs, err := r.CreateEnvironment(r.ctx, r.stranger, "theirs", claudehub.DefaultRecipe())
		check(t, err)
		for name, change := range map[string]func(*wire.ObservedBuild){
			"an Environment that no Session has":                        func(o *wire.ObservedBuild) { o.Environment = unused.ID },
			"another's Environment":                                     func(o *wire.ObservedBuild) { o.Environment = theirs.ID },
			"no Environment":                                            func(o *wire.ObservedBuild) { o.Environment = "x" },
			"the default recipe, for a Session that has an Environment": func(o *wire.ObservedBuild) { o.Environment, o.Version = "", 0 },
			"the default recipe, for no Session":                        func(o *wire.ObservedBuild) { o.Environment, o.Version, o.Session = "", 0, "" },
			"no such version":                                           func(o *wire.ObservedBuild) { o.Version = 7 },
			"no hash":                                                   func(o *wire.ObservedBuild) { o.Hash = "<script>" },
			"no state":                                                  func(o *wire.ObservedBuild) { o.State = "exploded" },
			"no id":                                                     func(o *wire.ObservedBuild) { o.ID = "bld_'" },
		} {
			o := observed(own, claudehub.BuildBuilding)
			o.ID = claudehub.NewBuildID()
			change(&o)
			if gone := r.observeBuild(o); len(gone) != 1 || gone[0] != o.ID {
				t.Errorf("%s: gone are %v", name, gone)
			}
		}
		// A Session without an Environment may need an image too.
		plain := r.create(fleet.NewSession{Title: "plain"})
		o = observed(claudehub.Build{ID: claudehub.NewBuildID(), Hash: claudehub.DefaultRecipe().Hash()}, claudehub.BuildBuilding)
		o.Session = plain.ID
		if gone := r.observeBuild(o); len(gone) > 0 {
			t.Error("a build of the default recipe is gone")
		}
		if got := r.mustBuild(o.ID); got.Environment != "" || got.By != r.me {
			t.Errorf("it is %+v", got)
		}
		if _, err := r.BuildVariables(r.ctx, r.runner, o.ID); err != nil {
			t.Error(err)
		}
		// Another Runner's build, told by this one.
		mine := r.addRunner(r.me, "second")
		other, err := r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: mine})
		check(t, err)
		if gone := r.observeBuild(observed(other, claudehub.BuildReady)); len(gone) != 1 {
			t.Error("another Runner's build was changed")
		}
		if got := r.mustBuild(other.ID); got.State != claudehub.BuildQueued {
			t.Errorf("it is %s", got.State)
		}
	})
}

// What a hostile Runner says of builds is bounded, and fits into the database.
func TestHostileBuilds(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.build(r.environment("tools"))
		o := observed(b, claudehub.BuildFailed)
		for range 5000 {
			o.Steps = append(o.Steps, claudehub.BuildStep{Name: strings.Repeat("x\x00", 5000), Detail: "\xff", Progress: math.Inf(1), LogFrom: -1, State: "?"})
		}
		o.Failure = &claudehub.Failure{Detail: strings.Repeat("y", 10<<20)}
		o.Line, o.Kept = math.MinInt, r.clock.now().Add(1000*time.Hour)
		r.observeBuild(o)
		got := r.mustBuild(b.ID)
		if len(got.Steps) != 50 || got.Line != 0 || got.Steps[0].Progress != -1 || got.Steps[0].LogFrom != 0 || got.Steps[0].State != claudehub.StepWaiting ||
			len(got.Steps[0].Name) > 4<<10 || len(got.Failure.Detail) > 65<<10 || got.Kept.Sub(r.clock.now()) > 2*claudehub.KeepFailed {
			t.Errorf("%d steps, line %d, a name of %d bytes", len(got.Steps), got.Line, len(got.Steps[0].Name))
		}
		// Builds without end: at most 50 are open.
		e := r.environment("many")
		r.create(fleet.NewSession{Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		var many []wire.ObservedBuild
		for range 60 {
			many = append(many, observed(claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 1, Hash: e.Recipe.Hash()}, claudehub.BuildBuilding))
		}
		if gone := r.observeBuild(many...); len(gone) != 10 {
			t.Errorf("%d are refused", len(gone))
		}
		_, err := r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: r.environment("more").ID, Runner: r.runner})
		wantCode(t, "one more", err, claudehub.TooMany)
	})
}

// A step that moves on by little is not written each time.
func TestSmallProgressIsNotStored(t *testing.T) {
	r := newRig(t, openSQLite(t))
	b := r.build(r.environment("tools"))
	o := observed(b, claudehub.BuildBuilding)
	at := func(p float64) time.Time {
		o.Steps = []claudehub.BuildStep{{Name: "Base image", State: claudehub.StepRunning, Progress: p}}
		r.observeBuild(o)
		return r.mustBuild(b.ID).Updated
	}
	first := at(0.5)
	if !at(0.505).Equal(first) {
		t.Error("half a percent was stored")
	}
	if at(0.52).Equal(first) {
		t.Error("two percent were not stored")
	}
}

func TestAnOldRunnerIsNotAskedToBuild(t *testing.T) {
	r := newRig(t, openSQLite(t))
	_, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Machine: claudehub.Machine{Protocol: 1}})
	check(t, err)
	e := r.environment("x")
	_, err = r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner})
	wantCode(t, "a build", err, claudehub.Conflict)
	// It would run the Session on its default recipe and say nothing.
	ref := &claudehub.EnvironmentRef{ID: e.ID}
	_, err = r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: r.runner, Title: "x", Environment: ref})
	wantCode(t, "a Session on an Environment", err, claudehub.Conflict)
	_, err = r.UpdateSession(r.ctx, r.me, r.create(newSession()).ID, fleet.SessionUpdate{Environment: ref})
	wantCode(t, "a Session moved to one", err, claudehub.Conflict)
}

func TestBuildLogByOffset(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.build(r.environment("tools"))
		put := func(offset int64, text string, want int64) {
			t.Helper()
			reply, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, offset, []byte(text))
			check(t, err)
			if reply.Offset != want {
				t.Errorf("%q at %d: the Hub has %d", text, offset, reply.Offset)
			}
		}
		put(0, "hello ", 6)
		put(0, "hello ", 6)       // again
		put(8, "gap", 6)          // not taken, and told from where
		put(3, "lo world\n", 12)  // half of it again
		put(12, "", 12)           // a question
		put(0, "HELLO WORLD", 12) // what is there stays
		if got := r.logOf(b.ID); got != "hello world\n" {
			t.Errorf("the log is %q", got)
		}
		_, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, -1, nil)
		wantCode(t, "a negative offset", err, claudehub.TooLarge)
		_, err = r.StoreBuildLog(r.ctx, r.runner, b.ID, 12, make([]byte, wire.MaxLogChunk+1))
		wantCode(t, "a large piece", err, claudehub.TooLarge)
		// Also after its end, since that comes another way.
		r.observeBuild(observed(b, claudehub.BuildReady))
		put(12, "bye\n", 16)
		at := int64(16)
		piece := bytes.Repeat([]byte("x"), wire.MaxLogChunk)
		for ; at < claudehub.MaxBuildLog; at += int64(len(piece)) { // the last one with room for the line that says what is left out
			put(at, string(piece), at+int64(len(piece)))
		}
		_, err = r.StoreBuildLog(r.ctx, r.runner, b.ID, at, piece)
		wantCode(t, "more than is kept", err, claudehub.TooLarge)
		if got := r.logOf(b.ID); int64(len(got)) != at || !strings.HasPrefix(got, "hello world\nbye\nxxx") {
			t.Errorf("the log has %d bytes", len(got))
		}
	})
}

func (r *rig) logOf(id claudehub.BuildID) string {
	r.t.Helper()
	var b strings.Builder
	check(r.t, r.BuildLog(r.ctx, r.me, id, func(data []byte) error { b.Write(data); return nil }))
	return b.String()
}

// Who follows sees every byte once, in order, from wherever it begins, and the end only after all of it.
func TestFollowABuildLog(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.build(r.environment("tools"))
		_, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, 0, []byte("0123456789"))
		check(t, err)
		began := make(chan struct{}, 2)
		follow := func(from int64) (got string, err error) {
			next := from
			err = r.FollowBuildLog(r.ctx, r.me, b.ID, from, func(offset int64, data []byte) error {
				if offset != next {
					t.Errorf("from %d: %d after %d", from, offset, next)
				}
				next = offset + int64(len(data))
				got += string(data)
				select {
				case began <- struct{}{}:
				default:
				}
				return nil
			})
			return got, err
		}
		results := make([]string, 2)
		var wg sync.WaitGroup
		for i, from := range []int64{0, 7} {
			wg.Go(func() {
				var err error
				if results[i], err = follow(from); err != nil {
					t.Error(err)
				}
			})
		}
		<-began
		want := "0123456789"
		for i := range 20 {
			piece := strings.Repeat(fmt.Sprint(i), 9000)
			_, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, int64(len(want)), []byte(piece))
			check(t, err)
			want += piece
		}
		r.observeBuild(observed(b, claudehub.BuildReady))
		_, err = r.StoreBuildLog(r.ctx, r.runner, b.ID, int64(len(want)), []byte("last"))
		check(t, err)
		want += "last"
		r.clock.move(10 * time.Second) // it has settled
		r.observeBuild()
		wg.Wait()
		if results[0] != want || results[1] != want[7:] {
			t.Errorf("%d and %d bytes of %d came", len(results[0]), len(results[1]), len(want))
		}
		if got, err := follow(int64(len(want))); got != "" || err != nil {
			t.Errorf("from the end on %q, %v", got, err)
		}
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		if err := r.FollowBuildLog(ctx, r.me, r.build(r.environment("other")).ID, 0, nil); err != nil {
			t.Errorf("who hangs up gets %v", err)
		}
	})
}

func TestOldLogsAreForgotten(t *testing.T) {
	r := newRig(t, openSQLite(t))
	b := r.build(r.environment("tools"))
	_, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, 0, []byte("log"))
	check(t, err)
	r.observeBuild(observed(b, claudehub.BuildReady))
	r.clock.move(31 * 24 * time.Hour)
	r.Tidy(r.ctx)
	err = r.BuildLog(r.ctx, r.me, b.ID, func([]byte) error { return nil })
	wantCode(t, "an old log", err, claudehub.Expired)
	if got := r.mustBuild(b.ID); got.LogBytes != 3 {
		t.Errorf("it is %+v", got)
	}
}
