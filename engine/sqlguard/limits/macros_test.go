package limits_test

import (
	"database/sql"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
)

// TestMacroCopies compares the table of macros that repeat an argument with
// what the engine's macros do.
func TestMacroCopies(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), `SELECT function_name, max(copies) FROM (
		SELECT function_name, len(regexp_extract_all(macro_definition, '\b' || regexp_escape(unnest(parameters)) || '\b')) AS copies
		FROM duckdb_functions() WHERE function_type = 'macro') GROUP BY 1`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	checked := 0
	for rows.Next() {
		var name string
		var copies int
		require.NoError(t, rows.Scan(&name, &copies))
		if f, ok := functions.Lookup("scalar", name); ok && f.Class != functions.Deny {
			require.GreaterOrEqual(t, limits.MacroCopies(name), copies, name)
			checked++
		}
	}
	require.NoError(t, rows.Err())
	require.Greater(t, checked, 50)
}
