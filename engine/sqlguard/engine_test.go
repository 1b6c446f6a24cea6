package sqlguard_test

import (
	"database/sql"
	"errors"
	"sync"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// sharedParser is the parser that the server uses.
var sharedParser = sync.OnceValue(duckdb.NewParser)

// open returns one connection of a fresh DuckDB.
func open(t testing.TB, extensions ...string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("duckdb", "?allow_unsigned_extensions=true")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	for _, name := range extensions {
		mustExec(t, conn, "LOAD "+engine.QuoteString(oracletest.Extension(t, name)))
	}
	return conn
}

func mustExec(t testing.TB, conn *sql.Conn, text string) {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), text)
	require.NoError(t, err, text)
}

func parse(t testing.TB, text string) (*sqlguard.Query, error) {
	t.Helper()
	return sqlguard.Parse(t.Context(), sharedParser(), text, sqlguard.Options{})
}

func codeOf(err error) refusal.Code {
	var e *refusal.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
