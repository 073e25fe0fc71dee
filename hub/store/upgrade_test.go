package store_test

import (
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
