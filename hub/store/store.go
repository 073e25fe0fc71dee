package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
)

// Store is an open database.
type Store struct {
	where string // for sentences: never with a password
	write *sqlx.DB
	read  *sqlx.DB // the same as write on PostgreSQL
	row   string   // what a SELECT needs at its end to keep other writers from its rows
	chain string   // the statement that lets one transaction at a time lengthen the audit log; none where there is one writer
}

// Open opens a database and brings it to this version's tables. The name is "sqlite:PATH" or "postgres://…".
func Open(ctx context.Context, dsn string) (*Store, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, rest)
	case "postgres", "postgresql":
		return openPostgres(ctx, dsn)
	default:
		return nil, claudehub.Errorf(claudehub.Invalid,
			"The database has to be sqlite:PATH or postgres://…; what is configured starts with neither.")
	}
}

// Close ends all connections.
func (s *Store) Close() {
	if s.read != s.write {
		s.read.Close()
	}
	s.write.Close()
}

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.Read().get(ctx, &one, `SELECT 1`)
}

// Q is what queries are asked of: the database, or one transaction.
type Q struct {
	ext   sqlx.ExtContext
	row   string
	notes *[]claudehub.AuditEntry // of the transaction; nil outside of one that writes
}

// Read is for single queries outside a transaction.
func (s *Store) Read() Q { return Q{ext: s.read} }

// View runs fn on one unchanging state of the database.
func (s *Store) View(ctx context.Context, fn func(Q) error) error {
	return s.transaction(ctx, s.read, &sql.TxOptions{ReadOnly: true, Isolation: s.viewLevel()}, Q{}, fn)
}

// Write runs fn in a transaction: all of it happens when Write returns nil, and nothing of it otherwise. What fn noted for
// the audit log is written last.
func (s *Store) Write(ctx context.Context, fn func(Q) error) error {
	q := Q{row: s.row, notes: new([]claudehub.AuditEntry)}
	return s.transaction(ctx, s.write, nil, q, func(q Q) error {
		if err := fn(q); err != nil {
			return err
		}
		return q.appendNotes(ctx, s.chain)
	})
}

// viewLevel: a deferred transaction of SQLite is a snapshot as it is; its driver refuses to be asked for a level.
func (s *Store) viewLevel() sql.IsolationLevel {
	if s.read == s.write {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func (s *Store) transaction(ctx context.Context, db *sqlx.DB, opt *sql.TxOptions, q Q, fn func(Q) error) error {
	tx, err := db.BeginTxx(ctx, opt)
	if err != nil {
		return fold(err)
	}
	q.ext = tx
	// Also when fn panics. After a commit it does nothing.
	defer func() { _ = tx.Rollback() }()
	if err := fn(q); err != nil {
		return err
	}
	return fold(tx.Commit())
}

func (q Q) get(ctx context.Context, dest any, query string, args ...any) error {
	return fold(sqlx.GetContext(ctx, q.ext, dest, q.ext.Rebind(query), args...))
}

func (q Q) all(ctx context.Context, dest any, query string, args ...any) error {
	return fold(sqlx.SelectContext(ctx, q.ext, dest, q.ext.Rebind(query), args...))
}

// exec tells how many rows it changed.
func (q Q) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := q.ext.ExecContext(ctx, q.ext.Rebind(query), args...)
	if err != nil {
		return 0, fold(err)
	}
	n, err := res.RowsAffected()
	return n, fold(err)
}

// must is exec for a statement that is wrong when it finds no row.
func (q Q) must(ctx context.Context, query string, args ...any) error {
	n, err := q.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return errAbsent
	}
	return err
}
