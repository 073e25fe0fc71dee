package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

func refused(t *testing.T, dsn string, code claudehub.Code, words ...string) {
	t.Helper()
	st, err := store.Open(t.Context(), dsn)
	if err == nil {
		st.Close()
		t.Fatal("it opened")
	}
	if claudehub.CodeOf(err) != code {
		t.Errorf("code %q", claudehub.CodeOf(err))
	}
	for _, w := range words {
		if !strings.Contains(claudehub.MessageOf(err), w) {
			t.Errorf("no %q in %q", w, claudehub.MessageOf(err))
		}
	}
}

func TestOpenRefusesWithASentence(t *testing.T) {
	dir := t.TempDir()
	noise := filepath.Join(dir, "noise.db")
	check(t, os.WriteFile(noise, []byte(strings.Repeat("not a database ", 1000)), 0o600))
	refused(t, "sqlite:"+noise, claudehub.Internal, noise, "damaged", "backup")

	// Damage in the middle of a real one.
	hurt := filepath.Join(dir, "hurt.db")
	st := storetest.Open(t, "sqlite:"+hurt)
	populate(t, st)
	st.Close()
	data, err := os.ReadFile(hurt)
	check(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	check(t, os.WriteFile(hurt, data, 0o600))
	refused(t, "sqlite:"+hurt, claudehub.Internal, hurt, "damaged", "backup")

	refused(t, "sqlite:"+filepath.Join(dir, "none", "hub.db"), claudehub.Invalid, "cannot be opened")
	refused(t, "sqlite:", claudehub.Invalid, "path")
	refused(t, "mysql://x", claudehub.Invalid, "sqlite:PATH")
	refused(t, "postgres://u:p%zz@h/d", claudehub.Invalid, "postgres://")
	refused(t, "postgres://u@localhost:1/d?connect_timeout=2", claudehub.Unavailable, "localhost")
}

func TestOpenSaysNothingOfThePassword(t *testing.T) {
	for _, dsn := range []string{"postgres://u:hunter2@127.0.0.1:1/d?connect_timeout=2", "postgres://u:hunter2@h:bad/d"} {
		_, err := store.Open(t.Context(), dsn)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	for driver, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), "pgx": storetest.PostgresDSN(t),
	} {
		storetest.Open(t, dsn).Close()
		db, err := sql.Open(driver, strings.TrimPrefix(dsn, "sqlite:"))
		check(t, err)
		_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)`)
		check(t, err)
		db.Close()
		refused(t, dsn, claudehub.Invalid, "newer", "999")
	}
}

func TestDatabaseFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%e.db")
	populate(t, storetest.Open(t, "sqlite:"+path))
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(p)
		check(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
	}
}

// Hubs and the command line may open a new database at the same moment.
func TestOpenTogether(t *testing.T) {
	for _, dsn := range []string{"sqlite:" + filepath.Join(t.TempDir(), "hub.db"), storetest.PostgresDSN(t)} {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				st, err := store.Open(context.Background(), dsn)
				if err != nil {
					t.Error(err)
					return
				}
				defer st.Close()
				if _, err := st.Read().PersonByLogin(context.Background(), "x"); claudehub.CodeOf(err) != claudehub.NotFound {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
