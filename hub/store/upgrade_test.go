package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

// TestAnEarlierDatabaseIsBroughtHere opens what the program with the first migration alone had written: nothing is lost,
// everything new has the value that says "as before", and it can be written to.
func TestAnEarlierDatabaseIsBroughtHere(t *testing.T) {
	for name, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), "postgres": storetest.PostgresDSN(t),
	} {
		t.Run(name, func(t *testing.T) {
			check(t, store.OpenAt(t.Context(), dsn, 1, filepath.Join("testdata", "version1.sql")))
			earlier(t, storetest.Open(t, dsn))
		})
	}
}

// TestTheSecondVersionIsBroughtHere is the same for the program before there were identities.
func TestTheSecondVersionIsBroughtHere(t *testing.T) {
	for name, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), "postgres": storetest.PostgresDSN(t),
	} {
		t.Run(name, func(t *testing.T) {
			check(t, store.OpenAt(t.Context(), dsn, 2, filepath.Join("testdata", "version2.sql")))
			second(t, storetest.Open(t, dsn))
		})
	}
}

func second(t *testing.T, st *store.Store) {
	ctx, q := t.Context(), st.Read()
	p, err := q.LocalPerson(ctx)
	check(t, err)
	if p.Login != "local" || p.Role != claudehub.RoleAdmin || p.GitHub != 0 || !p.Removed.IsZero() || p.Avatar != "" {
		t.Errorf("the person is %+v", p)
	}
	in, whose, err := q.SignInByHash(ctx, "c85011d73a8ae37ea0ae1c43c1366f034290dd5955fcf3e4a25b67fdb87e3d97")
	check(t, err)
	if whose != p || in.UserAgent != "Firefox" {
		t.Errorf("the browser %+v is %+v's", in, whose)
	}
	runners, err := q.Runners(ctx, p.ID)
	check(t, err)
	if len(runners) != 1 || runners[0].Lease.Host != "mac" || runners[0].MachineSeq != 2 || !runners[0].Revoked.IsZero() || !runners[0].LastUsed.IsZero() || runners[0].Address != "" {
		t.Fatalf("the Runners are %+v", runners)
	}
	known, err := q.RunnerTokenOf(ctx, runners[0].ID)
	check(t, err)
	if found, err := q.RunnerByToken(ctx, known.Hash); err != nil || found.Runner != runners[0].ID || found.Next != "" || found.Owner != p {
		t.Errorf("its token is %+v's, %v", found, err)
	}
	sessions, err := q.SessionsOf(ctx, p.ID, false)
	check(t, err)
	if len(sessions) != 1 || sessions[0].Title != "fix the test" || sessions[0].Environment == nil || sessions[0].Environment.Name != "tools" {
		t.Errorf("the Sessions are %+v", sessions)
	}
	check(t, st.Write(ctx, func(q store.Q) error {
		token := store.APIToken{Person: p.ID, Hash: "h", APIToken: claudehub.APIToken{ID: "tok_1", Name: "ci", Scopes: claudehub.Scopes, Created: p.Created}}
		return errors.Join(q.AddAPIToken(ctx, token), q.SetChecked(ctx, p.ID, []byte("sealed"), p.Created), q.SetNextRunnerToken(ctx, runners[0].ID, "next", p.Created))
	}))
	if got, whose, err := q.APITokenByHash(ctx, "h"); err != nil || whose.ID != p.ID || len(got.Scopes) != len(claudehub.Scopes) {
		t.Errorf("what was written is %+v of %+v, %v", got, whose, err)
	}
	if sealed, err := q.Credential(ctx, p.ID); err != nil || string(sealed) != "sealed" {
		t.Errorf("the credential is %q, %v", sealed, err)
	}
}

func earlier(t *testing.T, st *store.Store) {
	ctx := t.Context()
	p, err := st.Read().PersonByLogin(ctx, "local")
	check(t, err)
	runners, err := st.Read().Runners(ctx, p.ID)
	check(t, err)
	if len(runners) != 1 || runners[0].Seq != 3 || runners[0].MachineSeq != 0 || runners[0].Reclaim != 0 || len(runners[0].ReclaimWhat) != 0 ||
		runners[0].Machine.Hostname != "mac" || runners[0].Machine.CPUs != 8 {
		t.Fatalf("the Runner is %+v", runners)
	}
	awake, err := st.Read().SessionsOf(ctx, p.ID, false)
	check(t, err)
	archived, err := st.Read().SessionsOf(ctx, p.ID, true)
	check(t, err)
	if len(awake) != 1 || len(archived) != 1 {
		t.Fatalf("%d and %d Sessions", len(awake), len(archived))
	}
	for _, s := range append(awake, archived...) {
		if s.Kind != claudehub.KindClaude || s.Environment != nil || s.Build != "" || s.Forwards == nil || len(s.Forwards) != 0 ||
			s.Observed.Ports == nil || s.Observed.Checks == nil || !s.Deleted.IsZero() {
			t.Errorf("the Session is %+v", s)
		}
	}
	s := awake[0]
	if s.Title != "fix the test" || s.Observed.Doing != "Bash: go test" || s.Request != "k" || archived[0].Title != "Größe" {
		t.Errorf("the Session is %+v", s)
	}
	prompts, err := st.Read().OpenPrompts(ctx, s.ID)
	check(t, err)
	if len(prompts) != 1 || prompts[0].Text != "fix the test" {
		t.Errorf("the prompts are %+v", prompts)
	}
	s.Forwards = []claudehub.Forward{{Port: 8080}}
	check(t, st.Write(ctx, func(q store.Q) error { return q.SetDesired(ctx, s) }))
	again, err := st.Read().Session(ctx, s.ID)
	check(t, err)
	if len(again.Forwards) != 1 {
		t.Errorf("what was written is %+v", again.Forwards)
	}
}
