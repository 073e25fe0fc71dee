package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	repoURL = "https://github.com/Owner/app.git"
	repo    = "github.com/owner/app"
	secretV = "hunter2-is-the-secret-value"
)

func (r *rig) setEnv(e claudehub.Environment, name, value string, isSecret bool) claudehub.Variable {
	r.t.Helper()
	v, err := r.SetEnvironmentVariable(r.ctx, r.me, e.ID, name, value, isSecret)
	check(r.t, err)
	return v
}

func (r *rig) setRepo(name, value string, isSecret bool) claudehub.Variable {
	r.t.Helper()
	v, err := r.SetRepoVariable(r.ctx, r.me, repo, name, value, isSecret)
	check(r.t, err)
	return v
}

func (r *rig) variablesOf(id claudehub.SessionID) map[string]string {
	r.t.Helper()
	all, err := r.SessionVariables(r.ctx, r.runner, id)
	check(r.t, err)
	out := map[string]string{}
	for _, v := range all.Items {
		out[v.Name] = v.Value
	}
	if d := r.desiredOf(id); d.Variables != all.Revision {
		r.t.Errorf("the Runner is told revision %q and gets %q", d.Variables, all.Revision)
	}
	return out
}

func TestARepositorysVariableWins(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		r.setEnv(e, "BOTH", "environment", false)
		r.setEnv(e, "ENV_ONLY", "a\nb\n\"c\" ✓", false)
		r.setRepo("BOTH", "repo", true)
		s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: repoURL}, Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		if diff := cmp.Diff(map[string]string{"BOTH": "repo", "ENV_ONLY": "a\nb\n\"c\" ✓"}, r.variablesOf(s.ID)); diff != "" {
			t.Error(diff)
		}
		plain := r.create(fleet.NewSession{Title: "x"})
		if got := r.variablesOf(plain.ID); len(got) != 0 || r.desiredOf(plain.ID).Variables != "" {
			t.Errorf("a Session without any gets %v", got)
		}
		// A build gets the Environment's alone.
		b := r.build(e)
		all, err := r.BuildVariables(r.ctx, r.runner, b.ID)
		check(t, err)
		if len(all.Items) != 2 || all.Items[0].Value != "environment" {
			t.Errorf("a build gets %+v", all.Items)
		}
	})
}

func TestSecretsAreWriteOnly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		if v := r.setEnv(e, "TOKEN", secretV, true); v.Value != "" || v.Bytes != len(secretV) || !v.Secret || v.By != r.me {
			t.Errorf("it is answered as %+v", v)
		}
		r.setRepo("TOKEN", secretV, true)
		r.setEnv(e, "PLAIN", "seen", false)
		ofEnv, err := r.EnvironmentVariables(r.ctx, r.me, e.ID)
		check(t, err)
		ofRepo, err := r.RepoVariables(r.ctx, r.me, repo)
		check(t, err)
		for _, v := range append(ofEnv, ofRepo...) {
			if v.Secret && v.Value != "" || !v.Secret && v.Value != "seen" {
				t.Errorf("it is listed as %+v", v)
			}
		}
		// What was plain and becomes secret is seen no more; what was secret is given anew to be seen.
		r.setEnv(e, "PLAIN", "seen", true)
		r.setEnv(e, "TOKEN", "now plain", false)
		ofEnv, err = r.EnvironmentVariables(r.ctx, r.me, e.ID)
		check(t, err)
		if ofEnv[0].Value != "" || ofEnv[1].Value != "now plain" {
			t.Errorf("they are listed as %+v", ofEnv)
		}
	})
}

// A value is nowhere but in what its own Runner is answered: not in the database's files, the log, or the Runner's
// desired state.
func TestAValueIsNowhereElse(t *testing.T) {
	r := newRig(t, openSQLite(t))
	e := r.environment("tools")
	r.setEnv(e, "TOKEN", secretV, true)
	r.setRepo("OTHER", secretV, false)
	s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: repoURL}, Environment: &claudehub.EnvironmentRef{ID: e.ID}})
	r.build(e)
	if got := r.variablesOf(s.ID); got["TOKEN"] != secretV || got["OTHER"] != secretV {
		t.Fatalf("the Runner gets %v", got)
	}
	if file := inFiles(t, r, secretV); file != "" {
		t.Errorf("it is in %s", file)
	}
	snapshot, err := json.Marshal(r.snapshot())
	check(t, err)
	if strings.Contains(string(snapshot), secretV) {
		t.Error("it is in the snapshot")
	}
	log := r.log.String()
	if strings.Contains(log, secretV) {
		t.Error("it is in the log")
	}
	if !strings.Contains(log, "were sent to its Runner") || !strings.Contains(log, string(s.ID)) {
		t.Error("that it was sent is not in the log")
	}
}

// Without its row's own place a value opens nowhere: it cannot be moved, in the database, to where another sees it.
func TestAValueCannotBeMoved(t *testing.T) {
	r := newRig(t, openSQLite(t))
	e := r.environment("tools")
	r.setEnv(e, "TOKEN", secretV, true)
	all, err := r.st.Read().AllVariables(r.ctx)
	check(t, err)
	moved := all[0]
	moved.Name, moved.Secret = "PLAIN", false
	check(t, r.st.Write(r.ctx, func(q store.Q) error { return q.PutVariable(r.ctx, moved) }))
	if got, err := r.EnvironmentVariables(r.ctx, r.me, e.ID); claudehub.CodeOf(err) != claudehub.Unavailable || strings.Contains(fmt.Sprint(got, err), secretV) {
		t.Errorf("it is read: %v, %v", got, err)
	}
}

func TestVariablesAreForTheirOwnRunnerWhenItStarts(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e := r.environment("tools")
		r.setEnv(e, "A", "x", false)
		s := r.create(fleet.NewSession{Title: "x", Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		b := r.build(e)
		_, err := r.SessionVariables(r.ctx, r.theirs, s.ID)
		wantCode(t, "another Runner", err, claudehub.NotFound)
		_, err = r.SessionVariables(r.ctx, "", s.ID)
		wantCode(t, "no Runner", err, claudehub.NotFound)
		_, err = r.SessionVariables(r.ctx, r.runner, claudehub.NewSessionID())
		wantCode(t, "no Session", err, claudehub.NotFound)
		_, err = r.Sleep(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.SessionVariables(r.ctx, r.runner, s.ID)
		wantCode(t, "a Session that shall sleep", err, claudehub.Conflict)
		r.observeBuild(observed(b, claudehub.BuildReady))
		_, err = r.BuildVariables(r.ctx, r.runner, b.ID)
		wantCode(t, "a build that is over", err, claudehub.Conflict)
	})
}

// The revision that a Runner is told is another one after each change of what applies, by the log that it reads.
func TestRevisions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		e, other := r.environment("tools"), r.environment("other")
		s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: "git@github.com:owner/app"}, Environment: &claudehub.EnvironmentRef{ID: e.ID}})
		away := r.create(fleet.NewSession{Title: "without"})
		seen := map[string]string{}
		revision := func(what string, do func(), want bool) {
			t.Helper()
			before := r.snapshot()
			do()
			changes, err := r.DesiredSince(r.ctx, r.runner, before.Seq)
			check(t, err)
			var told []claudehub.SessionID
			for _, d := range changes.Sessions {
				told = append(told, d.ID)
			}
			now := r.desiredOf(s.ID).Variables
			was, known := seen[now]
			switch {
			case want && (known || len(told) != 1 || told[0] != s.ID):
				t.Errorf("%s: the revision is that of %q, told are %v", what, was, told)
			case !want && (!known || len(told) != 0):
				t.Errorf("%s: another revision, told are %v", what, told)
			}
			seen[now] = what
		}
		seen[r.desiredOf(s.ID).Variables] = "none"
		revision("nothing", func() {}, false)
		revision("the Environment's", func() { r.setEnv(e, "A", "1", false) }, true)
		revision("again the same", func() { r.setEnv(e, "A", "1", false) }, true)
		revision("the repository's", func() { r.setRepo("B", "1", true) }, true)
		revision("in its place", func() { r.setRepo("A", "2", true) }, true)
		revision("another Environment's", func() { r.setEnv(other, "A", "3", false) }, false)
		revision("one deleted", func() { check(t, r.DeleteRepoVariable(r.ctx, r.me, repo, "B")) }, true)
		revision("one by its address", func() {
			_, err := r.SetRepoVariable(r.ctx, r.me, repoURL, "C", "x", false)
			check(t, err)
		}, true)
		if r.desiredOf(away.ID).Variables != "" {
			t.Error("a Session without any has a revision")
		}
	})
}

func TestVariablesOutOfBounds(t *testing.T) {
	r := newRig(t, openSQLite(t))
	e := r.environment("tools")
	set := func(name, value string) error {
		_, err := r.SetEnvironmentVariable(r.ctx, r.me, e.ID, name, value, false)
		return err
	}
	wantCode(t, "PATH", set("PATH", "x"), claudehub.Invalid)
	wantCode(t, "200 KB", set("BIG", strings.Repeat("x", 200<<10)), claudehub.TooLarge)
	wantCode(t, "a NUL", set("N", "a\x00"), claudehub.Invalid)
	for i := range 5 {
		check(t, set(fmt.Sprint("BIG", i), strings.Repeat("x", 96<<10)))
	}
	wantCode(t, "too much together", set("BIG5", strings.Repeat("x", 96<<10)), claudehub.TooLarge)
	check(t, set("BIG0", "small again")) // in its own place
	check(t, set("BIG5", strings.Repeat("x", 90<<10)))
	for i := range claudehub.MaxVariables - 6 {
		check(t, set(fmt.Sprint("V", i), ""))
	}
	wantCode(t, "too many", set("ONE_MORE", ""), claudehub.TooMany)
	check(t, r.DeleteEnvironmentVariable(r.ctx, r.me, e.ID, "V0"))
	check(t, set("ONE_MORE", ""))
	wantCode(t, "deleted twice", r.DeleteEnvironmentVariable(r.ctx, r.me, e.ID, "V0"), claudehub.NotFound)
	wantCode(t, "a name with a NUL", r.DeleteEnvironmentVariable(r.ctx, r.me, e.ID, "V\x00"), claudehub.NotFound)
}

func TestRepositories(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.create(fleet.NewSession{Source: claudehub.Source{GitURL: repoURL}})
		r.create(fleet.NewSession{Source: claudehub.Source{GitURL: "git@github.com:owner/app"}})
		r.create(fleet.NewSession{Source: claudehub.Source{GitURL: "http://127.0.0.1:3000/a/b"}})
		r.setRepo("A", "1", false)
		_, err := r.SetRepoVariable(r.ctx, r.me, "example.org/z/z", "A", "1", false)
		check(t, err)
		_, err = r.SetRepoVariable(r.ctx, r.stranger, "example.org/theirs/z", "A", "1", false)
		check(t, err)
		got, err := r.Repos(r.ctx, r.me)
		check(t, err)
		want := []fleet.RepoVariables{{Repo: "127.0.0.1:3000/a/b"}, {Repo: "example.org/z/z", Variables: 1}, {Repo: repo, Variables: 1}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		// A stranger's repository of the same name is another thing.
		if all, err := r.RepoVariables(r.ctx, r.stranger, repo); err != nil || len(all) != 0 {
			t.Errorf("a stranger sees %v, %v", all, err)
		}
		for _, bad := range []string{"", "x", "/x", "github.com/", "a b/c", "a/\x00", strings.Repeat("a/", 300)} {
			_, err := r.RepoVariables(r.ctx, r.me, bad)
			wantCode(t, bad, err, claudehub.Invalid)
		}
	})
}

func TestWithoutAKeysetNoVariable(t *testing.T) {
	r := newRig(t, openSQLite(t))
	e := r.environment("tools")
	r.keys = nil
	r.restart()
	_, err := r.SetEnvironmentVariable(r.ctx, r.me, e.ID, "A", "x", false)
	wantCode(t, "set", err, claudehub.Unavailable)
	_, err = r.Reseal(r.ctx)
	wantCode(t, "reseal", err, claudehub.Unavailable)
}

// The Runner's answer is what wire says, with an empty list for none.
func TestVariablesAsJSON(t *testing.T) {
	r := newRig(t, openSQLite(t))
	s := r.create(fleet.NewSession{Title: "x"})
	all, err := r.SessionVariables(r.ctx, r.runner, s.ID)
	check(t, err)
	b, err := json.Marshal(all)
	check(t, err)
	if string(b) != `{"revision":"","items":[]}` {
		t.Errorf("%s", b)
	}
	if diff := cmp.Diff(wire.Variables{Items: []wire.Variable{}}, all); diff != "" {
		t.Error(diff)
	}
}
