package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"claude-hub/internal/claudehub"
)

const postgresConns = 16

func openPostgres(ctx context.Context, dsn string) (*Store, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The cause may quote the password.
		return nil, claudehub.Errorf(claudehub.Invalid,
			"The PostgreSQL database URL cannot be read. It looks like postgres://user@host:5432/name?sslmode=verify-full.")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	db := sqlx.NewDb(stdlib.OpenDB(*cfg), "pgx")
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns / 4)
	s := &Store{where: cfg.Host + "/" + cfg.Database, write: db, read: db, row: " FOR UPDATE", chain: chainLock}
	if err := db.PingContext(ctx); err != nil {
		s.Close()
		return nil, claudehub.WithCause(claudehub.Unavailable, err,
			"The PostgreSQL database %s does not let the Hub in. Check that it runs, and the user, password and name in the database URL.", s.where)
	}
	if err := s.migrate(ctx, goose.DialectPostgres); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}
