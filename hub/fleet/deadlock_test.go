package fleet_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Everything that takes several rows at once, side by side: nobody is told that the database is busy, and each change
// is there in the end.
func TestWritersDoNotWaitForEachOther(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		second := r.addRunner(r.me, "second")
		for _, runner := range []claudehub.RunnerID{r.runner, second} {
			check(t, r.AcquireLease(r.ctx, runner, "instance", "host", false))
		}
		e := r.environment("tools")
		for _, runner := range []claudehub.RunnerID{r.runner, second, r.runner, second} {
			r.create(fleet.NewSession{Runner: runner, Source: claudehub.Source{GitURL: repoURL}, Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		}
		b := r.build(e)
		var wg sync.WaitGroup
		run := func(what string, do func(i int) error) {
			wg.Go(func() {
				for i := range 12 {
					if err := do(i); err != nil {
						t.Errorf("%s: %v", what, err)
						return
					}
				}
			})
		}
		run("rename", func(i int) error {
			name := fmt.Sprint("name ", i)
			_, err := r.UpdateEnvironment(r.ctx, r.me, e.ID, fleet.EnvironmentUpdate{Name: &name, Base: 1})
			return err
		})
		run("Environment's Variable", func(i int) error {
			_, err := r.SetEnvironmentVariable(r.ctx, r.me, e.ID, fmt.Sprint("E", i), "x", true)
			return err
		})
		run("repository's Variable", func(i int) error {
			_, err := r.SetRepoVariable(r.ctx, r.me, repo, fmt.Sprint("R", i), "x", false)
			return err
		})
		run("another Environment", func(i int) error {
			_, err := r.CreateEnvironment(r.ctx, r.me, fmt.Sprint("e", i), claudehub.DefaultRecipe())
			return err
		})
		run("Session", func(i int) error {
			_, err := r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: second, Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
			return err
		})
		run("log", func(i int) error {
			_, err := r.StoreBuildLog(r.ctx, r.runner, b.ID, int64(10*i), []byte("0123456789"))
			return err
		})
		run("status", func(i int) error {
			o := observed(b, claudehub.BuildBuilding)
			o.Steps = []claudehub.BuildStep{{Name: fmt.Sprint(i), State: claudehub.StepRunning}}
			_, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Builds: []wire.ObservedBuild{o}})
			return err
		})
		run("reclaim", func(int) error {
			_, err := r.Reclaim(r.ctx, r.me, second, []string{"image"})
			return err
		})
		run("leases", func(int) error { r.Sweep(r.ctx); return nil })
		run("tidy", func(int) error { r.Tidy(r.ctx); return nil })
		wg.Wait()
		if got := r.mustBuild(b.ID); got.LogBytes != 120 {
			t.Errorf("the log has %d bytes", got.LogBytes)
		}
		ofRepo, err := r.RepoVariables(r.ctx, r.me, repo)
		check(t, err)
		ofEnv, err := r.EnvironmentVariables(r.ctx, r.me, e.ID)
		check(t, err)
		all, err := r.Environments(r.ctx, r.me, false)
		check(t, err)
		if len(ofRepo) != 12 || len(ofEnv) != 12 || len(all) != 13 {
			t.Errorf("%d and %d Variables, %d Environments", len(ofRepo), len(ofEnv), len(all))
		}
		if log := r.log.String(); strings.Contains(log, "level=ERROR") {
			t.Errorf("the log: %s", log)
		}
	})
}
