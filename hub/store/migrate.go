package store

import (
	"context"
	"embed"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"claude-hub/internal/claudehub"
)

//go:embed migrations/*.sql
var migrations embed.FS

func (s *Store) migrate(ctx context.Context, dialect goose.Dialect) error {
	p, err := s.migrator(dialect)
	if err != nil {
		return claudehub.WithCause(claudehub.Internal, err, "The Hub's own database migrations cannot be read.")
	}
	sources := p.ListSources()
	newest := sources[len(sources)-1].Version
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return s.notMigrated(err)
	}
	if have > newest {
		return claudehub.Errorf(claudehub.Invalid, "The database %s was written by a newer claude-hub (its version is %d, this program knows %d). "+
			"Start the newer program, or restore a backup from before the update.", s.where, have, newest)
	}
	if have == newest {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		// Another process may have done the same at this moment.
		if now, again := p.GetDBVersion(ctx); again != nil || now != newest {
			return s.notMigrated(err)
		}
	}
	return nil
}

func (s *Store) migrator(dialect goose.Dialect) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if dialect == goose.DialectPostgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60)) // each second, a minute long
		if err != nil {
			return nil, err
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(dialect, s.write.DB, files, opts...)
}

func (s *Store) notMigrated(err error) error {
	return claudehub.WithCause(claudehub.CodeOf(fold(err)), err, "The database %s cannot be brought to this version's tables. "+
		"Nothing was changed by the step that failed; the log has the cause.", s.where)
}
