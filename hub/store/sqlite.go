package store

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"claude-hub/internal/claudehub"
)

const (
	readers = 4
	// quickCheck is the size up to which the file is checked whole at each start. That is tens of milliseconds; damage
	// in a larger one shows when it is read.
	quickCheck = 16 << 20
)

// openSQLite opens a file twice: one connection that writes, so that writers wait in line rather than fail, and a few
// that read meanwhile.
func openSQLite(ctx context.Context, path string) (*Store, error) {
	if path == "" {
		return nil, claudehub.Errorf(claudehub.Invalid, "The database sqlite: needs a path after the colon.")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Internal, err, "The path of the database cannot be made absolute.")
	}
	// SQLite would make it readable for all.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(path, err)
	}
	f.Close()
	s := &Store{where: path}
	if s.write, err = sqlx.Open("sqlite", fileURL(path, "immediate", "-2000")); err != nil {
		return nil, unusable(path, err)
	}
	if s.read, err = sqlx.Open("sqlite", fileURL(path, "deferred", "-500")); err != nil {
		s.write.Close()
		return nil, unusable(path, err)
	}
	s.write.SetMaxOpenConns(1)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if err := s.prepareSQLite(ctx, path); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) prepareSQLite(ctx context.Context, path string) error {
	if err := s.checkSQLite(ctx, path); err != nil {
		return err
	}
	return s.migrate(ctx, goose.DialectSQLite3)
}

func (s *Store) checkSQLite(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unusable(path, err)
	}
	verdict := "ok"
	query := `PRAGMA quick_check(1)`
	if info.Size() > quickCheck {
		query = `SELECT 'ok' FROM sqlite_master LIMIT 1`
	}
	err = s.write.GetContext(ctx, &verdict, query)
	switch {
	case err == nil && verdict == "ok":
		return nil
	case err == nil:
		return damaged(path, errors.New(verdict))
	case claudehub.CodeOf(fold(err)) == claudehub.Internal:
		return damaged(path, err)
	}
	return fold(err)
}

// fileURL names the file for the driver. FULL: an answer that was given stays true through a power cut.
func fileURL(path, lock, cache string) string {
	q := url.Values{"_txlock": {lock}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "cache_size(" + cache + ")",
	}}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

func unusable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return claudehub.WithCause(claudehub.Invalid, err,
			"The database %s cannot be opened: permission denied. Choose another data directory, or make this one writable.", path)
	}
	return claudehub.WithCause(claudehub.Invalid, err, "The database %s cannot be opened.", path)
}

func damaged(path string, err error) error {
	return claudehub.WithCause(claudehub.Internal, err, "The database %s is damaged or no database. "+
		"Put a backup in its place, or move it aside, together with %s-wal and %s-shm, to start with an empty one.",
		path, filepath.Base(path), filepath.Base(path))
}
