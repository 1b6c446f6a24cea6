package sqlguard_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// TestEveryFunctionIsClassified compares the list with the functions of the
// engine that runs, so that a new build cannot add one unnoticed.
func TestEveryFunctionIsClassified(t *testing.T) {
	conn := open(t, "delta")
	rows, err := conn.QueryContext(t.Context(), "SELECT DISTINCT function_type, function_name FROM duckdb_functions()")
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
		if _, ok := sqlguard.LookupFunction(namespace, name); !ok {
			unknown = append(unknown, namespace+" "+name)
		}
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(listed), 800)
	sort.Strings(unknown)
	require.Empty(t, unknown, "classify these in functions.txt")

	var gone []string
	for _, f := range sqlguard.Functions() {
		if !f.Syntax && f.Class != sqlguard.Deny && !listed[f.Namespace+" "+f.Name] {
			gone = append(gone, f.Namespace+" "+f.Name)
		}
	}
	require.Empty(t, gone, "allowed, but unknown to the engine")
}

func TestNear(t *testing.T) {
	require.Equal(t, []string{"lower"}, sqlguard.Near("lowr", []string{"upper", "lower", "sum"}))
	require.Equal(t, []string{"date_trunc"}, sqlguard.Near("date_trun", []string{"date_trunc", "substr"}))
	require.Empty(t, sqlguard.Near("zzzzzz", []string{"upper", "lower"}))
	require.Len(t, sqlguard.Near("co1", []string{"col", "con", "cos", "cot"}), 3)
}
