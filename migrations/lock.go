package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite" // also registers the driver of the lock file
	sqlite3 "modernc.org/sqlite/lib"
)

// advisoryKey identifies the lock among the advisory locks of a Postgres database.
// Its value is arbitrary.
const advisoryKey = 0x6c616b65

// lock waits for the exclusive right to change the schema. The returned function
// releases it, and so does the end of the process.
func lock(ctx context.Context, dialect Dialect, db *sql.DB) (release func(), err error) {
	if dialect == SQLite {
		return lockFile(ctx, db)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", advisoryKey); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() {
		// If the unlock fails, the lock ends with the connection, which must not
		// return to the pool.
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", advisoryKey); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}, nil
}

// lockFile locks a second SQLite file next to the database, because the migrations
// themselves lock the database, one transaction after another.
func lockFile(ctx context.Context, db *sql.DB) (release func(), err error) {
	var path string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return nil, err
	}
	if path == "" { // in memory: no other process has access
		return func() {}, nil
	}
	dsn := (&url.URL{Scheme: "file", OmitHost: true, Path: path + ".migrate.lock"}).String()
	guard, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	guard.SetMaxOpenConns(1)
	conn, err := guard.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, guard.Close())
	}
	release = func() {
		_ = conn.Close()
		_ = guard.Close()
	}
	for {
		_, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		var busy *sqlite.Error
		switch {
		case err == nil:
			return release, nil
		case !errors.As(err, &busy) || busy.Code()&0xff != sqlite3.SQLITE_BUSY:
			release()
			return nil, fmt.Errorf("lock file: %w", err)
		}
		select {
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
