package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"claude-hub/internal/claudehub"
)

var errAbsent = claudehub.Errorf(claudehub.NotFound, "That is not there.")

// fold turns a driver's error into one of ours: NotFound for no row, Conflict for a row that is there already,
// Unavailable for what may pass, Internal for the rest.
func fold(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return errAbsent
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub's database did not answer in time. Try again.")
	}
	var lite *sqlite.Error
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &lite):
		return foldSQLite(lite, err)
	case errors.As(err, &pg):
		return foldPostgres(pg, err)
	case errors.As(err, &connect), errors.Is(err, sql.ErrConnDone):
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub's database does not answer. Try again in a moment.")
	}
	return claudehub.WithCause(claudehub.Internal, err, "The Hub's database failed. The log has the details.")
}

func foldSQLite(e *sqlite.Error, err error) error {
	switch e.Code() & 0xff { // the low byte of an extended code is its kind
	case sqlite3.SQLITE_CONSTRAINT:
		switch e.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
			return errTaken(err)
		case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
			return errDangling(err)
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return claudehub.WithCause(claudehub.Unavailable, err,
			"The Hub's database is held by another program. Try again in a moment.")
	case sqlite3.SQLITE_FULL:
		return errFull(err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
		return claudehub.WithCause(claudehub.Unavailable, err,
			"The Hub cannot read or write its database file. Check the disk and the permissions of the data directory.")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return claudehub.WithCause(claudehub.Internal, err,
			"The Hub's database file is damaged. Stop the Hub and restore the file from a backup.")
	}
	return claudehub.WithCause(claudehub.Internal, err, "The Hub's database failed. The log has the details.")
}

func foldPostgres(e *pgconn.PgError, err error) error {
	switch {
	case e.Code == "23505":
		return errTaken(err)
	case e.Code == "23503":
		return errDangling(err)
	case e.Code == "53100":
		return errFull(err)
	// serialization failure, deadlock, connection trouble, out of resources, shutting down
	case e.Code == "40001", e.Code == "40P01", strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "57P"):
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub's database is busy or restarting. Try again in a moment.")
	}
	return claudehub.WithCause(claudehub.Internal, err, "The Hub's database failed. The log has the details.")
}

func errTaken(err error) error {
	return claudehub.WithCause(claudehub.Conflict, err, "That is there already.")
}

func errDangling(err error) error {
	return claudehub.WithCause(claudehub.NotFound, err, "That belongs to something that is not there.")
}

func errFull(err error) error {
	return claudehub.WithCause(claudehub.Unavailable, err, "The disk of the Hub's database is full. Make room, then try again.")
}
