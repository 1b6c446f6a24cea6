package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Dialect names a database and the folder of its files.
type Dialect string

// The databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Files returns the migrations of one database.
func Files(dialect Dialect) (fs.FS, error) { return fs.Sub(files, string(dialect)) }

// Status reports which migrations a database has.
type Status struct {
	// Current is the number of the last applied migration, or 0.
	Current int64
	// Latest is the highest number that this program knows.
	Latest int64
}

// Apply migrates the database to the latest schema and returns its status. If
// another Apply runs on the same database it waits, and then finds nothing to do.
// Each file runs in its own transaction, so a failed one leaves the schema of the
// file before it. db needs two connections for Postgres.
func Apply(ctx context.Context, dialect Dialect, db *sql.DB) (Status, error) {
	provider, err := newProvider(dialect, db)
	if err != nil {
		return Status{}, err
	}
	release, err := lock(ctx, dialect, db)
	if err != nil {
		return Status{}, fmt.Errorf("lock the schema: %w", err)
	}
	defer release()
	if status, err := readStatus(ctx, provider); err != nil || status.Current == status.Latest {
		return status, err
	}
	if _, err := provider.Up(ctx); err != nil {
		return Status{}, fmt.Errorf("apply migrations: %w", err)
	}
	return readStatus(ctx, provider)
}

// Check returns nil if the database has exactly the latest schema, otherwise
// [ErrPending] or [ErrUnknownSchema]. It changes no data.
func Check(ctx context.Context, dialect Dialect, db *sql.DB) (Status, error) {
	provider, err := newProvider(dialect, db)
	if err != nil {
		return Status{}, err
	}
	status, err := readStatus(ctx, provider)
	if err == nil && status.Current < status.Latest {
		err = fmt.Errorf("%w: %d of %d", ErrPending, status.Current, status.Latest)
	}
	return status, err
}

// Rollback reverts every migration above a number. It is for tests, and for
// operators who return to an older release. The data of tables that it drops is
// lost.
func Rollback(ctx context.Context, dialect Dialect, db *sql.DB, to int64) error {
	provider, err := newProvider(dialect, db)
	if err != nil {
		return err
	}
	release, err := lock(ctx, dialect, db)
	if err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	defer release()
	if _, err := provider.DownTo(ctx, to); err != nil {
		return fmt.Errorf("roll back migrations: %w", err)
	}
	return nil
}

func newProvider(dialect Dialect, db *sql.DB) (*goose.Provider, error) {
	source, err := Files(dialect)
	if err != nil {
		return nil, err
	}
	name := goose.DialectPostgres
	if dialect == SQLite {
		name = goose.DialectSQLite3
	}
	provider, err := goose.NewProvider(name, db, source, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read %s migrations: %w", dialect, err)
	}
	return provider, nil
}

// readStatus compares the database with the files by number. Files are append-only, so
// the highest number is sufficient.
func readStatus(ctx context.Context, provider *goose.Provider) (Status, error) {
	sources := provider.ListSources()
	status := Status{Latest: sources[len(sources)-1].Version}
	current, err := provider.GetDBVersion(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("read the schema's number: %w", err)
	}
	status.Current = current
	if current > status.Latest {
		return status, fmt.Errorf("%w: %d, this program knows %d", ErrUnknownSchema, current, status.Latest)
	}
	return status, nil
}
