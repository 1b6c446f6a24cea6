package functions_test

import (
	"database/sql"
	"sort"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
)

// TestEveryFunctionIsClassified compares the list with the functions of the
// engine that runs, so that a new build cannot add one unnoticed.
func TestEveryFunctionIsClassified(t *testing.T) {
	db, err := sql.Open("duckdb", "?allow_unsigned_extensions=true")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "LOAD "+engine.QuoteString(oracletest.Extension(t, "delta")))
	require.NoError(t, err)
	rows, err := db.QueryContext(t.Context(), "SELECT DISTINCT function_type, function_name FROM duckdb_functions()")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	namespaces := map[string]string{
		"scalar": "scalar", "aggregate": "scalar", "macro": "scalar",
		"table": "table", "table_macro": "table", "pragma": "pragma",
	}
	listed := map[string]bool{}
	var unknown []string
	for rows.Next() {
		var kind, name string
		require.NoError(t, rows.Scan(&kind, &name))
		namespace, ok := namespaces[kind]
		require.True(t, ok, "kind of function %s", kind)
		listed[namespace+" "+strings.ToLower(name)] = true
		if _, ok := functions.Lookup(namespace, name); !ok {
			unknown = append(unknown, namespace+" "+name)
		}
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(listed), 800)
	sort.Strings(unknown)
	require.Empty(t, unknown, "classify these in functions.txt")

	var gone []string
	for _, f := range functions.All() {
		if !f.Syntax && f.Class != functions.Deny && !listed[f.Namespace+" "+f.Name] {
			gone = append(gone, f.Namespace+" "+f.Name)
		}
	}
	require.Empty(t, gone, "allowed, but unknown to the engine")
}
