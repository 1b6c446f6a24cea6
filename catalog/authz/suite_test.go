package authz_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/catalogtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, path string, now func() time.Time) *sqlstore.Store {
	tb.Helper()
	store, err := sqlstore.Open(context.Background(), path, sqlstore.Options{Now: now, WatchInterval: 50 * time.Millisecond})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// TestSuite checks that the wrapper passes the system's calls through unchanged.
func TestSuite(t *testing.T) {
	catalogtest.Run(t, catalogtest.Config{
		Database: func(tb testing.TB) func(func() time.Time) catalog.Store {
			path := filepath.Join(tb.TempDir(), "catalog.db")
			return func(now func() time.Time) catalog.Store { return authz.New(open(tb, path, now)) }
		},
		Context: func(ctx context.Context) context.Context { return authz.System(ctx, "conformance suite") },
	})
}
