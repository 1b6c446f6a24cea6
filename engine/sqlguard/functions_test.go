package sqlguard_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
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

func TestNear(t *testing.T) {
	require.Equal(t, []string{"lower"}, refusal.Near("lowr", []string{"upper", "lower", "sum"}))
	require.Equal(t, []string{"date_trunc"}, refusal.Near("date_trun", []string{"date_trunc", "substr"}))
	require.Empty(t, refusal.Near("zzzzzz", []string{"upper", "lower"}))
	require.Len(t, refusal.Near("co1", []string{"col", "con", "cos", "cot"}), 3)
}

// TestMacroCopies compares the table of macros that repeat an argument with
// what the engine's macros do.
func TestMacroCopies(t *testing.T) {
	conn := open(t)
	rows, err := conn.QueryContext(t.Context(), `SELECT function_name, max(copies) FROM (
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
