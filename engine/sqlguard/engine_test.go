package sqlguard_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// sharedParser is the parser that the server uses.
var sharedParser = sync.OnceValue(duckdb.NewParser)

// extension returns the path of a DuckDB extension, or stops the test: outside
// CI with a skip, inside with a failure.
func extension(t testing.TB, name string) string {
	t.Helper()
	dirs := []string{os.Getenv("LAKEWARDEN_EXTENSION_DIR"), "../../bin/extensions"}
	for _, dir := range dirs {
		path := filepath.Join(dir, "v1.5.5", runtime.GOOS+"_"+runtime.GOARCH, name+".duckdb_extension")
		if _, err := os.Stat(path); dir != "" && err == nil {
			return path
		}
	}
	msg := fmt.Sprintf("extension %s not found; run make extensions", name)
	if os.Getenv("CI") == "true" {
		t.Fatal(msg)
	}
	t.Skip(msg)
	return ""
}

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
		mustExec(t, conn, "LOAD "+engine.QuoteString(extension(t, name)))
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

func codeOf(err error) sqlguard.Code {
	var e *sqlguard.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
