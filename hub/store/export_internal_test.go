package store

import (
	"context"
	"os"
	"strings"

	"github.com/pressly/goose/v3"
)

// OpenAt makes the tables of an earlier version, and fills them with what that version had written.
func OpenAt(ctx context.Context, dsn string, version int64, dump string) error {
	sqlText, err := os.ReadFile(dump)
	if err != nil {
		return err
	}
	s, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer s.Close()
	dialect := goose.DialectPostgres
	if strings.HasPrefix(dsn, "sqlite:") {
		dialect = goose.DialectSQLite3
	}
	p, err := s.migrator(dialect)
	if err != nil {
		return err
	}
	if _, err := p.DownTo(ctx, 0); err != nil {
		return err
	}
	if _, err := p.UpTo(ctx, version); err != nil {
		return err
	}
	_, err = s.write.ExecContext(ctx, string(sqlText))
	return err
}
