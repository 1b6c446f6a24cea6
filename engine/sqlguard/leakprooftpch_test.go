package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// engineVersion is the build that the list of leak-proof operations is for.
const engineVersion = "v1.5.5"

// tpchReasons says which statements of TPC-H make copies, and why.
var tpchReasons = map[string]string{
	"11": "a part of the sum may pass its range",
	"15": "* may fail",
}

func parsePlain(t testing.TB, text string) *sqlguard.Query {
	t.Helper()
	q, err := sqlguard.Parse(t.Context(), sharedParser(), text, sqlguard.Options{EngineVersion: engineVersion})
	require.NoError(t, err, text)
	return q
}

// tpchQueries returns the 22 statements by number.
func tpchQueries(t testing.TB, w *world) map[string]string {
	t.Helper()
	rows, err := w.plain.QueryContext(t.Context(), "SELECT query_nr, query FROM tpch_queries() ORDER BY 1")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	queries := map[string]string{}
	for rows.Next() {
		var nr, text string
		require.NoError(t, rows.Scan(&nr, &text))
		queries[nr] = text
	}
	require.NoError(t, rows.Err())
	require.Len(t, queries, 22)
	return queries
}

// TestLeakProofTPCH lists the statements that need copies; the others answer
// what the engine answers over the rows that the predicates leave.
func TestLeakProofTPCH(t *testing.T) {
	w := newWorld(t, []string{"CALL dbgen(sf = 0.01)"}, tpchPredicates, "tpch")
	got := map[string]string{}
	for nr, text := range tpchQueries(t, w) {
		q := parsePlain(t, text)
		relations := w.relations(t, q, true)
		reason, ok := q.LeakProof(relations, engine.Args{})
		if !ok {
			got[nr] = reason
		}
		plan, err := q.Bind(t.Context(), sharedParser(), relations)
		require.NoError(t, err)
		require.Equal(t, ok, len(plan.Barriers) == 0)
		require.True(t, plan.ReadsFiltered)
		want, err := runSQL(t, w.filtered, text)
		require.NoError(t, err)
		rows, err := w.run(t, plan)
		require.NoError(t, err, plan.SQL)
		same(t, plan, want, rows)
	}
	require.Equal(t, tpchReasons, got)
}
