// Package storetest gives tests an empty store on each kind of database that the Hub supports.
//
// It promises that SQLite and PostgreSQL are the real ones, that each test gets a database of its own, that the local
// time zone is an awkward one (Newfoundland: half an hour off, with daylight saving), and that nothing is left running
// when the test process ends, however it ends. PostgreSQL is the server that CLAUDE_HUB_TEST_POSTGRES names, or
// else a private one, started on first use from the programs of the machine.
package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata" // the awkward zone must be there on any machine

	"go.uber.org/goleak"

	"claude-hub/hub/store"
)

// Main runs a package's tests in the awkward time zone and stops what they started. It fails when a goroutine is left.
func Main(m *testing.M) {
	zone, err := time.LoadLocation("America/St_Johns")
	if err != nil {
		panic(err)
	}
	time.Local = zone
	code := m.Run()
	stopCluster()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}

// Each runs a test on SQLite and on PostgreSQL.
func Each(t *testing.T, test func(t *testing.T, st *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Open(t, PostgresDSN(t))) })
}

// SQLite opens an empty SQLite store.
func SQLite(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, "sqlite:"+filepath.Join(tb.TempDir(), "hub.db"))
}

// Open opens a store and closes it when the test ends.
func Open(tb testing.TB, dsn string) *store.Store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	st, err := store.Open(ctx, dsn)
	if err != nil {
		tb.Fatalf("open %s: %v", dsn, err)
	}
	tb.Cleanup(st.Close)
	return st
}
