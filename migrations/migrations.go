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

// Dialect names a database; it is also the folder of its files.
type Dialect string

// The databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Files returns the migrations of one database.
func Files(dialect Dialect) (fs.FS, error) { return fs.Sub(files, string(dialect)) }

// Status is where a database stands.
type Status struct {
	// Current is the number of the last migration applied, 0 for none.
	Current int64
	// Latest is the last number that this program knows.
	Latest int64
}

// Apply brings the database to the latest schema and returns where it stands.
// It waits for another Apply on the same database and then finds nothing left
// to do. Each file runs in a transaction of its own, so a failed one leaves
// the schema of the file before it. db needs two connections for Postgres.
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
	if status, err := standing(ctx, provider); err != nil || status.Current == status.Latest {
		return status, err
	}
	if _, err := provider.Up(ctx); err != nil {
		return Status{}, fmt.Errorf("apply migrations: %w", err)
	}
	return standing(ctx, provider)
}

// Check returns nil when the database has exactly the latest schema, else
// [ErrPending] or [ErrUnknownSchema]. It changes no data.
func Check(ctx context.Context, dialect Dialect, db *sql.DB) (Status, error) {
	provider, err := newProvider(dialect, db)
	if err != nil {
		return Status{}, err
	}
	status, err := standing(ctx, provider)
	if err == nil && status.Current < status.Latest {
		err = fmt.Errorf("%w: %d of %d", ErrPending, status.Current, status.Latest)
	}
	return status, err
}

// Rollback takes back every migration above a number. It is for tests and for
// an operator who goes back to an older release; data of later tables is lost.
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

// standing compares the database with the files by number. Files are
// append-only, so the highest number says all.
func standing(ctx context.Context, provider *goose.Provider) (Status, error) {
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
