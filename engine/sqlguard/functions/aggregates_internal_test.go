package functions

import (
	"database/sql"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// TestAggregateNames holds the names that plans call aggregates against the
// engine's own list.
func TestAggregateNames(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), `SELECT DISTINCT function_name FROM duckdb_functions() a WHERE function_type = 'aggregate'
		AND NOT EXISTS (FROM duckdb_functions() w WHERE w.function_name = a.function_name AND w.function_type = 'window')`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	// They are aggregates in the engine's list, and work in windows only.
	windows := sqltree.Set("cume_dist", "dense_rank", "fill", "first_value", "lag", "last_value", "lead", "nth_value", "ntile",
		"percent_rank", "rank", "rank_dense", "row_number")
	seen := 0
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		f, _ := Lookup("scalar", name)
		if f.Class != Deny && f.Class != "" && !windows[name] {
			require.True(t, aggregates[name], name)
			seen++
		}
	}
	require.NoError(t, rows.Err())
	require.Greater(t, seen, 50)
}
