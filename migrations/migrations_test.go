package migrations_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database creates an empty database and returns a function that opens pools on it.
func database(t *testing.T, dialect migrations.Dialect) (open func() *sql.DB) {
	driver, source := "pgx", ""
	if dialect == migrations.SQLite {
		driver = "sqlite"
		source = "file:" + filepath.Join(t.TempDir(), "catalog.db") + "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"
	} else {
		source = pgtest.URL(t)
	}
	return func() *sql.DB {
		db, err := sql.Open(driver, source)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
}

func each(t *testing.T, test func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB)) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(dialect), func(t *testing.T) { test(t, dialect, database(t, dialect)) })
	}
}

// shape returns a description of the schema as the database reports it.
func shape(t *testing.T, dialect migrations.Dialect, db *sql.DB) string {
	t.Helper()
	query := `SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_master
		WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY 1`
	if dialect == migrations.Postgres {
		query = `SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || COALESCE(collation_name, '')
			FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'
			UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'goose%' ORDER BY 1`
	}
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return strings.Join(lines, "\n")
}

func TestFromEmptyAndTwice(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		db := open()
		_, err := migrations.Check(t.Context(), dialect, db)
		require.ErrorIs(t, err, migrations.ErrPending)
		status, err := migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		require.Equal(t, status.Latest, status.Current)
		require.Positive(t, status.Current)
		first := shape(t, dialect, db)
		require.Contains(t, first, "memberships")

		again, err := migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		require.Equal(t, status, again)
		require.Equal(t, first, shape(t, dialect, db))
		checked, err := migrations.Check(t.Context(), dialect, db)
		require.NoError(t, err)
		require.Equal(t, status, checked)
	})
}

func TestUpDownUp(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		db := open()
		status, err := migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		first := shape(t, dialect, db)
		for to := status.Latest - 1; to >= 0; to-- {
			require.NoError(t, migrations.Rollback(t.Context(), dialect, db, to))
			_, err = migrations.Check(t.Context(), dialect, db)
			require.ErrorIs(t, err, migrations.ErrPending)
		}
		require.Empty(t, shape(t, dialect, db), "the tables are dropped")
		_, err = migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		require.Equal(t, first, shape(t, dialect, db))
	})
}

func TestManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		const n = 8
		errs := make([]error, n)
		statuses := make([]migrations.Status, n)
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range n {
			db := open()
			all.Go(func() {
				<-start
				statuses[i], errs[i] = migrations.Apply(t.Context(), dialect, db)
			})
		}
		close(start)
		all.Wait()
		for i := range n {
			require.NoError(t, errs[i])
			require.Equal(t, statuses[0], statuses[i])
		}
		var rows int
		require.NoError(t, open().QueryRow("SELECT count(*) FROM goose_db_version WHERE version_id > 0").Scan(&rows))
		require.Equal(t, int(statuses[0].Latest), rows, "each file ran once")
	})
}

func TestUnknownSchemaIsRefused(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		db := open()
		status, err := migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		_, err = db.Exec(fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, TRUE)", status.Latest+1))
		require.NoError(t, err)
		_, err = migrations.Check(t.Context(), dialect, db)
		require.ErrorIs(t, err, migrations.ErrUnknownSchema)
		_, err = migrations.Apply(t.Context(), dialect, db)
		require.ErrorIs(t, err, migrations.ErrUnknownSchema)
	})
}

// TestWaitingEndsWithContext holds the lock with a second pool, like a process that
// hangs during a migration.
func TestWaitingEndsWithContext(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		release, err := migrations.Lock(t.Context(), dialect, open())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		db := open()
		_, err = migrations.Apply(ctx, dialect, db)
		require.Error(t, err)
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		_, err = migrations.Check(t.Context(), dialect, db)
		require.ErrorIs(t, err, migrations.ErrPending, "nothing is applied without the lock")
		release()
		_, err = migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
	})
}

func TestSameNumbersForBothDatabases(t *testing.T) {
	names := func(dialect migrations.Dialect) []string {
		files, err := migrations.Files(dialect)
		require.NoError(t, err)
		found, err := fs.Glob(files, "*.sql")
		require.NoError(t, err)
		for i, name := range found {
			require.Regexp(t, fmt.Sprintf(`^%05d_[a-z0-9_]+\.sql$`, i+1), name, "numbers have no gaps")
		}
		return found
	}
	require.Equal(t, names(migrations.SQLite), names(migrations.Postgres))
}

// released is the number of the last file that databases may have applied, and releasedDigest the
// digest of both databases' files up to it.
const (
	released       = 11
	releasedDigest = "aefd92a6dddad59394c6d2d47731c870ad65f86a41db6c139819d071ae343454"
)

func TestReleasedFilesDoNotChange(t *testing.T) {
	digest := sha256.New()
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		files, err := migrations.Files(dialect)
		require.NoError(t, err)
		names, err := fs.Glob(files, "*.sql")
		require.NoError(t, err)
		for _, name := range names[:released] {
			content, err := fs.ReadFile(files, name)
			require.NoError(t, err)
			digest.Write(content)
		}
	}
	require.Equal(t, releasedDigest, hex.EncodeToString(digest.Sum(nil)), "a database that has applied a file never applies its changes")
}
