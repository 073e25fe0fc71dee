package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

func environment(w world, name string) claudehub.Environment {
	now := store.Round(moment)
	r := claudehub.DefaultRecipe()
	r.Setup, r.Allow = "apt-get install -y jq\n# ✓", []string{"*.example.org"}
	return claudehub.Environment{ID: claudehub.NewEnvironmentID(), Owner: w.person.ID, Name: name, Version: 1, Recipe: r, Created: now, Updated: now}
}

func write(t testing.TB, st *store.Store, fn func(context.Context, store.Q) error) {
	t.Helper()
	check(t, st.Write(t.Context(), func(q store.Q) error { return fn(t.Context(), q) }))
}

func wantNone(t testing.TB, what string, err error) {
	t.Helper()
	if claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("%s: %v", what, err)
	}
}

func TestEnvironmentsAndVersions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		e, other := environment(w, "b"), environment(w, "a")
		write(t, st, func(ctx context.Context, q store.Q) error {
			return errors.Join(q.AddEnvironment(ctx, e), q.AddEnvironment(ctx, other))
		})
		got, err := st.Read().Environment(ctx, e.ID)
		check(t, err)
		if diff := cmp.Diff(e, got); diff != "" {
			t.Error(diff)
		}
		all, err := st.Read().Environments(ctx, w.person.ID, false)
		check(t, err)
		if diff := cmp.Diff([]claudehub.Environment{other, e}, all); diff != "" {
			t.Error(diff)
		}

		// A Session runs on version 2, an open build makes version 3; 1 and 4 are forgotten, and never the newest.
		write(t, st, func(ctx context.Context, q store.Q) error {
			for v := 2; v <= 5; v++ {
				e.Version, e.Recipe.CPUs = v, v
				if err := q.AddEnvironmentVersion(ctx, e.ID, claudehub.EnvironmentVersion{Version: v, Recipe: e.Recipe, By: w.person.ID, Created: e.Created}); err != nil {
					return err
				}
			}
			w.session.Environment = &claudehub.EnvironmentRef{ID: e.ID, Version: 2, Name: "b"}
			b := store.Build{Build: claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 3, Runner: w.runner.ID, By: w.person.ID, State: claudehub.BuildBuilding}}
			return errors.Join(q.SetEnvironment(ctx, e), q.SetDesired(ctx, w.session), q.AddBuild(ctx, b), q.PruneEnvironmentVersions(ctx, e.ID, 10))
		})
		versions, err := st.Read().EnvironmentVersions(ctx, e.ID)
		check(t, err)
		var left []int
		for _, v := range versions {
			left = append(left, v.Version)
		}
		if !slices.Equal(left, []int{5, 3, 2}) {
			t.Errorf("versions %v are left", left)
		}
		s, err := st.Read().Session(ctx, w.session.ID)
		check(t, err)
		if diff := cmp.Diff(w.session, s); diff != "" {
			t.Error("the Session with an Environment", diff)
		}
		err = st.Write(ctx, func(q store.Q) error { return q.AddEnvironmentVersion(ctx, e.ID, versions[0]) })
		if claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("a version twice: %v", err)
		}

		e.Archived, e.Name = true, "z"
		write(t, st, func(ctx context.Context, q store.Q) error { return q.SetEnvironment(ctx, e) })
		archived, err := st.Read().Environments(ctx, w.person.ID, true)
		check(t, err)
		n, err := st.Read().CountEnvironments(ctx, w.person.ID)
		check(t, err)
		if diff := cmp.Diff([]claudehub.Environment{e}, archived); diff != "" || n != 1 {
			t.Error(n, diff)
		}
	})
}

func TestBuildsComeBackAndOldOnesGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		e, now := environment(w, "e"), store.Round(moment)
		write(t, st, func(ctx context.Context, q store.Q) error { return q.AddEnvironment(ctx, e) })
		b := store.Build{Again: true, Build: claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 1, Hash: "h", Runner: w.runner.ID,
			By: w.person.ID, State: claudehub.BuildFailed, Cancelling: true, Line: 3, Kept: now, Created: now, Updated: now,
			Failure: &claudehub.Failure{Step: "Setup", Reason: "no", Detail: "a\x00b"},
			Steps:   []claudehub.BuildStep{{Name: "Base", State: claudehub.StepCached, Progress: 0.5, Started: now}}}}
		write(t, st, func(ctx context.Context, q store.Q) error { return q.AddBuild(ctx, b) })
		got, err := st.Read().Build(ctx, b.ID)
		check(t, err)
		if diff := cmp.Diff(b, got); diff != "" {
			t.Error(diff)
		}
		_, err = st.Read().OpenBuildOf(ctx, w.runner.ID, "h")
		wantNone(t, "an open build when it has failed", err)

		// Twelve more, each with a log: four builds stay, two logs of them, and what is open whatever its age.
		var ids []claudehub.BuildID
		for i := range 12 {
			next := b
			next.ID, next.State, next.Created = claudehub.NewBuildID(), claudehub.BuildReady, now.Add(time.Duration(i)*time.Second)
			if i == 0 {
				next.State, next.Cancelling = claudehub.BuildQueued, false
			}
			ids = append(ids, next.ID)
			write(t, st, func(ctx context.Context, q store.Q) error {
				return errors.Join(q.AddBuild(ctx, next), q.AppendBuildLog(ctx, next.ID, 0, []byte("log")), q.PruneBuilds(ctx, e.ID, 4, 2))
			})
		}
		all, err := st.Read().Builds(ctx, e.ID, 100)
		check(t, err)
		var left, logs []int
		for _, b := range all {
			i := slices.Index(ids, b.ID)
			left = append(left, i)
			if chunks, err := st.Read().BuildLog(ctx, b.ID, 0, 1); err != nil || len(chunks) > 0 {
				logs = append(logs, i)
			}
		}
		if !slices.Equal(left, []int{11, 10, 9, 8, 0}) || !slices.Equal(logs, []int{11, 10, 0}) {
			t.Errorf("builds %v and logs %v are left", left, logs)
		}
		open, err := st.Read().OpenBuildOf(ctx, w.runner.ID, "h")
		if err != nil || open.ID != ids[0] {
			t.Errorf("the open build is %v %v", open.ID, err)
		}
	})
}

// A log in pieces of any size, read from anywhere: what comes out is what went in.
func TestBuildLogInPieces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		e := environment(w, "e")
		b := store.Build{Build: claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: 1, Runner: w.runner.ID, By: w.person.ID, State: claudehub.BuildBuilding}}
		write(t, st, func(ctx context.Context, q store.Q) error {
			return errors.Join(q.AddEnvironment(ctx, e), q.AddBuild(ctx, b))
		})
		var want []byte
		for i, n := range []int{1, 5, 70_000, 3, 60_000, 10_000, 100_000, 1, 1, 1} {
			piece := bytes.Repeat([]byte{byte(i), 0, 0xff}, n)[:n]
			write(t, st, func(ctx context.Context, q store.Q) error {
				return q.AppendBuildLog(ctx, b.ID, int64(len(want)), piece)
			})
			want = append(want, piece...)
		}
		for _, from := range []int{0, 1, 6, 7, 70_005, 70_006, 130_009, len(want) - 1, len(want)} {
			var got []byte
			at := int64(from)
			for {
				chunks, err := st.Read().BuildLog(ctx, b.ID, at, 2)
				check(t, err)
				before := at
				for _, c := range chunks {
					if end := c.Start + int64(len(c.Data)); end > at {
						got = append(got, c.Data[at-c.Start:]...)
						at = end
					}
				}
				if at == before {
					break
				}
			}
			if !bytes.Equal(got, want[from:]) {
				t.Errorf("from %d: %d bytes instead of %d", from, len(got), len(want)-from)
			}
		}
		stored, err := st.Read().Build(ctx, b.ID)
		check(t, err)
		if stored.LogBytes != int64(len(want)) {
			t.Errorf("the log has %d bytes", stored.LogBytes)
		}
	})
}

func TestVariablesAndMarks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		now := store.Round(moment)
		v := store.Variable{Owner: w.person.ID, Scope: store.ScopeRepo, Target: "example.org/a", Sealed: []byte{0, 0xff, '\'', '"'}, Revision: "r1",
			Variable: claudehub.Variable{Name: "NAME", Secret: true, Bytes: 7, By: w.person.ID, Updated: now}}
		other := v
		other.Scope, other.Target = store.ScopeEnvironment, "env_x"
		write(t, st, func(ctx context.Context, q store.Q) error {
			return errors.Join(q.PutVariable(ctx, v), q.PutVariable(ctx, other))
		})
		v.Sealed, v.Revision, v.Secret = []byte("again"), "r2", false
		write(t, st, func(ctx context.Context, q store.Q) error { return q.PutVariable(ctx, v) })
		got, err := st.Read().Variables(ctx, w.person.ID, store.ScopeRepo, "example.org/a")
		check(t, err)
		if diff := cmp.Diff([]store.Variable{v}, got); diff != "" {
			t.Error(diff)
		}
		marks, err := st.Read().VariableMarks(ctx, w.person.ID, []string{"example.org/a", "env_x", "none"})
		check(t, err)
		if len(marks) != 2 {
			t.Errorf("the marks are %+v", marks)
		}
		repos, err := st.Read().VariableRepos(ctx, w.person.ID)
		check(t, err)
		if diff := cmp.Diff([]store.RepoCount{{Repo: "example.org/a", Variables: 1}}, repos); diff != "" {
			t.Error(diff)
		}
		write(t, st, func(ctx context.Context, q store.Q) error {
			return q.DeleteVariable(ctx, w.person.ID, store.ScopeRepo, "example.org/a", "NAME")
		})
		err = st.Write(ctx, func(q store.Q) error {
			return q.DeleteVariable(ctx, w.person.ID, store.ScopeRepo, "example.org/a", "NAME")
		})
		wantNone(t, "a Variable that is deleted", err)
	})
}

func TestSeedsTheNewestWins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		now := store.Round(moment)
		put := func(repo, path, body string, at time.Time) {
			write(t, st, func(ctx context.Context, q store.Q) error {
				return q.PutSeed(ctx, store.Seed{Owner: w.person.ID, Repo: repo, Path: path, Body: body, Updated: at})
			})
		}
		put("a", ".devcontainer/x/devcontainer.json", "far", now)
		put("a", ".devcontainer.json", "new", now.Add(time.Second))
		put("a", ".devcontainer.json", "late", now)
		s, err := st.Read().Seed(ctx, w.person.ID, "a", "")
		if err != nil || s.Body != "new" || !s.Updated.Equal(now.Add(time.Second)) {
			t.Errorf("%+v %v", s, err)
		}
		if s, err = st.Read().Seed(ctx, w.person.ID, "a", ".devcontainer/x/devcontainer.json"); err != nil || s.Body != "far" {
			t.Errorf("%+v %v", s, err)
		}
		_, err = st.Read().Seed(ctx, w.person.ID, "b", "")
		wantNone(t, "no seed", err)
		for i := range 5 {
			put(fmt.Sprint("r", i), "p", "x", now.Add(time.Duration(i)*time.Minute))
		}
		write(t, st, func(ctx context.Context, q store.Q) error { return q.PruneSeeds(ctx, w.person.ID, 3) })
		all, err := st.Read().Seeds(ctx, w.person.ID)
		check(t, err)
		if len(all) != 3 || all[0].Repo != "r2" || all[0].Body != "" {
			t.Errorf("%+v", all)
		}
	})
}

func TestADeletedSessionIsFoundNoMore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		s := w.session
		s.Desired = claudehub.WantDeleted
		write(t, st, func(ctx context.Context, q store.Q) error { return q.SetDesired(ctx, s) })
		if all, err := st.Read().SessionsOf(ctx, w.person.ID, true); err != nil || len(all) != 1 {
			t.Errorf("on its way it is in the archive: %v %v", all, err)
		}
		if n, err := st.Read().CountSessions(ctx, w.runner.ID); err != nil || n != 0 {
			t.Errorf("on its way it counts: %d %v", n, err)
		}
		write(t, st, func(ctx context.Context, q store.Q) error { return q.SetDeleted(ctx, s.ID, moment) })
		_, err := st.Read().Session(ctx, s.ID)
		wantNone(t, "the Session", err)
		_, err = st.Read().SessionByRequest(ctx, w.person.ID, "req")
		wantNone(t, "by its request", err)
		_, err = st.Read().Reach(ctx, s.ID)
		wantNone(t, "the way to it", err)
		for _, archived := range []bool{true, false} {
			if all, err := st.Read().SessionsOf(ctx, w.person.ID, archived); err != nil || len(all) != 0 {
				t.Errorf("the lists have %v %v", all, err)
			}
		}
		if all, err := st.Read().SessionsSince(ctx, w.runner.ID, -1); err != nil || len(all) != 0 {
			t.Errorf("the log has %v %v", all, err)
		}
		if _, err := st.Read().DeletedSession(ctx, s.ID); err != nil {
			t.Error(err)
		}
		write(t, st, func(ctx context.Context, q store.Q) error { return q.RemoveDeleted(ctx, moment.Add(time.Second)) })
		_, err = st.Read().DeletedSession(ctx, s.ID)
		wantNone(t, "the row", err)
	})
}

// Machine and Sessions share one log: every number is taken once.
func TestMachineNumbersAreOfTheSameLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		var mu sync.Mutex
		taken := map[int64]bool{1: true}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 10 {
					var seq int64
					err := st.Write(ctx, func(q store.Q) (err error) {
						if i%2 == 0 {
							seq, err = q.NextMachineSeq(ctx, w.runner.ID)
						} else {
							seq, err = q.NextSeq(ctx, w.runner.ID)
						}
						return err
					})
					mu.Lock()
					if err != nil || taken[seq] {
						t.Errorf("number %d twice, or %v", seq, err)
					}
					taken[seq] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		r, err := st.Read().Runner(ctx, w.runner.ID)
		check(t, err)
		if r.Seq != 41 || r.MachineSeq < 21 {
			t.Errorf("the log ends at %d, the machine at %d", r.Seq, r.MachineSeq)
		}
	})
}
