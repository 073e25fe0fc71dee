package fleet_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

func TestEnvironmentsHaveVersions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		if e.Version != 1 || e.Owner != r.me || e.Archived {
			t.Errorf("it is %+v", e)
		}
		name, recipe := "other", e.Recipe
		renamed, err := r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Name: &name, Recipe: &recipe, Base: 1})
		check(t, err)
		if renamed.Version != 1 || renamed.Name != "other" {
			t.Errorf("the same recipe made version %d of %s", renamed.Version, renamed.Name)
		}
		recipe.CPUs = 4
		second, err := r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Recipe: &recipe, Base: 1})
		check(t, err)
		if second.Version != 2 || second.Recipe.CPUs != 4 || second.Name != "other" {
			t.Errorf("it is %+v", second)
		}
		_, err = r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Recipe: &e.Recipe, Base: 1})
		wantCode(t, "a save over another's", err, claudehub.Conflict)
		if !strings.Contains(claudehub.MessageOf(err), "version 2") {
			t.Errorf("the sentence is %q", claudehub.MessageOf(err))
		}
		versions, err := r.EnvironmentVersions(r.ctx, r.me, e.ID)
		check(t, err)
		if len(versions) != 2 || versions[0].Version != 2 || versions[1].Recipe.CPUs != 2 {
			t.Errorf("the versions are %+v", versions)
		}
		bad := recipe
		bad.CPUs = 0
		_, err = r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Recipe: &bad, Base: 2})
		wantCode(t, "no CPU", err, claudehub.Invalid)
		_, err = r.CreateEnvironment(r.ctx, r.me, "x", bad)
		wantCode(t, "no CPU, new", err, claudehub.Invalid)
		_, err = r.CreateEnvironment(r.ctx, r.me, " ", recipe)
		wantCode(t, "no name", err, claudehub.Invalid)
	})
}

// Two people's pages save at the same moment: one is told, and nothing is mixed.
func TestTwoSavesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		results := make([]error, 6)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				recipe := e.Recipe
				recipe.CPUs = i + 3
				_, results[i] = r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Recipe: &recipe, Base: 1})
			})
		}
		wg.Wait()
		saved := 0
		for _, err := range results {
			if err == nil {
				saved++
			} else {
				wantCode(t, "the others", err, claudehub.Conflict)
			}
		}
		if saved != 1 {
			t.Errorf("%d were saved over version 1", saved)
		}
	})
}

func TestAnArchivedEnvironmentIsNotOffered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		s := r.create(fleet.NewSession{Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		archived, err := r.ArchiveEnvironment(r.ctx, r.me, e.ID)
		check(t, err)
		if !archived.Archived {
			t.Error("it is not archived")
		}
		ref := &claudehub.EnvironmentRef{ID: e.ID}
		_, err = r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: r.runner, Title: "x", Environment: ref})
		wantCode(t, "a new Session", err, claudehub.Conflict)
		_, err = r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner})
		wantCode(t, "a build", err, claudehub.Conflict)
		_, err = r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Base: 1})
		wantCode(t, "a change", err, claudehub.Conflict)
		// The Session that has it goes on, wakes, and its Runner may build for it.
		if d := r.desiredOf(s.ID); d.Environment == nil || d.Environment.Recipe.Setup != "echo tools" {
			t.Errorf("the Session has %+v", d.Environment)
		}
		own := claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 1, Hash: e.Recipe.Hash()}
		if gone := r.observeBuild(observed(own, claudehub.BuildBuilding)); len(gone) > 0 {
			t.Error("its Runner may not build for it")
		}
		list, err := r.Environments(r.ctx, r.me, false)
		check(t, err)
		put, err := r.Environments(r.ctx, r.me, true)
		check(t, err)
		if len(list) != 0 || len(put) != 1 {
			t.Errorf("%d and %d are listed", len(list), len(put))
		}
		back, err := r.UnarchiveEnvironment(r.ctx, r.me, e.ID)
		check(t, err)
		if back.Archived {
			t.Error("it is still archived")
		}
	})
}

func TestSessionsKeepTheirVersion(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		s := r.create(fleet.NewSession{Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		want := &claudehub.EnvironmentRef{ID: e.ID, Version: 1, Name: "tools"}
		if diff := cmp.Diff(want, s.Environment); diff != "" {
			t.Error(diff)
		}
		recipe, name := e.Recipe, "renamed"
		recipe.Setup = "echo again"
		_, err := r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Recipe: &recipe, Name: &name, Base: 1})
		check(t, err)
		d := r.desiredOf(s.ID)
		if d.Environment.Version != 1 || d.Environment.Recipe.Setup != "echo tools" || d.Environment.Name != "renamed" {
			t.Errorf("the Session has %+v", d.Environment)
		}
		// Another version counts from the next wake: nothing is to be done again now.
		moved, err := r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		check(t, err)
		if moved.Environment.Version != 2 || moved.Generation != s.Generation {
			t.Errorf("it is %+v", moved)
		}
		for version, code := range map[int]claudehub.Code{3: claudehub.NotFound, -1: claudehub.NotFound} {
			_, err = r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Environment: &claudehub.EnvironmentRef{ID: e.ID, Version: version}})
			wantCode(t, "a version that is not", err, code)
		}
		none, err := r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Environment: &claudehub.EnvironmentRef{}})
		check(t, err)
		if none.Environment != nil || r.desiredOf(s.ID).Environment != nil {
			t.Error("it still has an Environment")
		}
	})
}

func TestEnvironmentsOfOthersAreAbsent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		b := r.build(e)
		v := "value"
		for what, err := range map[string]error{
			"see":           second(r.Environment(r.ctx, r.stranger, e.ID)),
			"versions":      second(r.EnvironmentVersions(r.ctx, r.stranger, e.ID)),
			"change":        second(r.UpdateEnvironment(r.ctx, r.stranger, e.ID, fleet.EnvironmentUpdate{Base: 1})),
			"archive":       second(r.ArchiveEnvironment(r.ctx, r.stranger, e.ID)),
			"builds":        second(r.Builds(r.ctx, r.stranger, e.ID)),
			"build":         second(r.CreateBuild(r.ctx, r.stranger, fleet.NewBuild{Environment: e.ID, Runner: r.theirs})),
			"build here":    second(r.CreateBuild(r.ctx, r.stranger, fleet.NewBuild{Environment: e.ID, Runner: r.runner})),
			"build there":   second(r.CreateBuild(r.ctx, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.theirs})),
			"see build":     second(r.Build(r.ctx, r.stranger, b.ID)),
			"cancel":        second(r.CancelBuild(r.ctx, r.stranger, b.ID)),
			"look":          second(r.Look(r.ctx, r.stranger, b.ID)),
			"log":           r.BuildLog(r.ctx, r.stranger, b.ID, nil),
			"follow":        r.FollowBuildLog(r.ctx, r.stranger, b.ID, 0, nil),
			"Session":       second(r.CreateSession(r.ctx, r.stranger, fleet.NewSession{Runner: r.theirs, Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})),
			"Variables":     second(r.EnvironmentVariables(r.ctx, r.stranger, e.ID)),
			"set Variable":  second(r.SetEnvironmentVariable(r.ctx, r.stranger, e.ID, "A", v, false)),
			"drop Variable": r.DeleteEnvironmentVariable(r.ctx, r.stranger, e.ID, "A"),
			"reclaim":       second(r.Reclaim(r.ctx, r.stranger, r.runner, []string{"image"})),
			"malformed id":  second(r.Environment(r.ctx, r.me, "env_'; DROP TABLE environments")),
			"Runner's log":  second(r.StoreBuildLog(r.ctx, r.theirs, b.ID, 0, []byte("x"))),
			"Runner's vars": second(r.BuildVariables(r.ctx, r.theirs, b.ID)),
			"no build":      second(r.BuildVariables(r.ctx, r.runner, claudehub.NewBuildID())),
		} {
			wantCode(t, what, err, claudehub.NotFound)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestMostEnvironments(t *testing.T) {
	r := newRig(t, openSQLite(t))
	var last claudehub.Environment
	for range claudehub.MaxEnvironments {
		last = r.environment("e")
	}
	_, err := r.CreateEnvironment(r.ctx, r.me, "one more", claudehub.DefaultRecipe())
	wantCode(t, "one too many", err, claudehub.TooMany)
	_, err = r.ArchiveEnvironment(r.ctx, r.me, last.ID)
	check(t, err)
	r.environment("again")
	_, err = r.UnarchiveEnvironment(r.ctx, r.me, last.ID)
	wantCode(t, "one too many from the archive", err, claudehub.TooMany)
}
