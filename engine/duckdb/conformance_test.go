package duckdb_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(tb testing.TB) *duckdb.Engine {
	tb.Helper()
	e, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: []string{oracletest.Extensions(tb)}})
	if err != nil && os.Getenv("CI") != "true" {
		tb.Skipf("the delta extension is needed; make extensions installs it: %v", err)
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	return e
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB) engine.Engine { return newEngine(tb) })
}
