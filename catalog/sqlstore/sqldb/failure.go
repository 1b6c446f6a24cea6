package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lakewarden/lakewarden/catalog"
)

// ErrUnique is returned by [Session.Exec] if a unique value is taken. The caller, who knows
// the field, turns it into a [catalog.ExistsError], as [Session.Insert] does.
var ErrUnique = errors.New("unique value taken")

// translate turns a driver error into a sentinel of package catalog. Other errors
// retain their text, for the log, and match no sentinel.
func (d dialect) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	case strings.Contains(err.Error(), "sql: database is closed"):
		// database/sql exports no value for this error.
		return catalog.ErrUnavailable
	}
	switch d.failure(err) {
	case failureUnique:
		return fmt.Errorf("%w: %w", ErrUnique, err)
	case failureReference:
		return catalog.ErrNotFound
	case failureUnavailable:
		return fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
	}
	return fmt.Errorf("catalog database: %w", err)
}

func sqliteFailure(err error) failure {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return failureOther
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return failureUnique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return failureReference
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY:
		return failureUnavailable
	}
	return failureOther
}

func postgresFailure(err error) failure {
	var refused *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &refused) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failureUnavailable
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return failureOther
	}
	switch e.Code {
	case "23505":
		return failureUnique
	case "23503":
		return failureReference
	case "22021", "22P05":
		// The text cannot be stored in any row, and so equals none. Written text was
		// validated before.
		return failureReference
	case "40001", "40P01", "55P03": // lost a race: serialisation, deadlock, lock
		return failureUnavailable
	}
	switch e.Code[:2] {
	case "08", "53", "57": // connection, resources, operator intervention
		return failureUnavailable
	}
	return failureOther
}
