package sqlstore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, url string, options sqlstore.Options) *sqlstore.Store {
	tb.Helper()
	store, err := sqlstore.Open(context.Background(), url, options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// opener opens stores on one database.
func opener(tb testing.TB, url string) func(now func() time.Time) catalog.Store {
	return func(now func() time.Time) catalog.Store {
		return open(tb, url, sqlstore.Options{Now: now, WatchInterval: 50 * time.Millisecond})
	}
}

func TestSQLite(t *testing.T) {
	catalogtest.Run(t, catalogtest.Config{Database: func(tb testing.TB) func(func() time.Time) catalog.Store {
		return opener(tb, filepath.Join(tb.TempDir(), "catalog #1?.db"))
	}})
}

func TestPostgres(t *testing.T) {
	copyOf := pgtest.Template(t, func(url string) {
		store, err := sqlstore.Open(t.Context(), url, sqlstore.Options{})
		require.NoError(t, err)
		require.NoError(t, store.Close())
	})
	catalogtest.Run(t, catalogtest.Config{Database: func(tb testing.TB) func(func() time.Time) catalog.Store {
		return opener(tb, copyOf(tb))
	}})
}
