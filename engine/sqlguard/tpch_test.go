package sqlguard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tpchPredicates leave a part of every table.
var tpchPredicates = map[string]string{
	"customer": `"t"."c_nationkey" < 15`,
	"lineitem": `"t"."l_suppkey" % 4 <> 0`,
	"nation":   `"t"."n_nationkey" <> 7`,
	"orders":   `"t"."o_orderkey" % 3 <> 1`,
	"part":     `"t"."p_size" <> 9`,
	"partsupp": `"t"."ps_availqty" > 100`,
	"region":   `"t"."r_name" <> 'AFRICA'`,
	"supplier": `"t"."s_acctbal" > -500`,
}

func TestTPCH(t *testing.T) {
	w := newWorld(t, []string{"CALL dbgen(sf = 0.01)"}, tpchPredicates, "tpch")
	rows, err := w.plain.QueryContext(t.Context(), "SELECT query_nr, query FROM tpch_queries() ORDER BY 1")
	require.NoError(t, err)
	queries := map[string]string{}
	for rows.Next() {
		var nr, text string
		require.NoError(t, rows.Scan(&nr, &text))
		queries[nr] = text
	}
	require.NoError(t, rows.Close())
	require.Len(t, queries, 22)
	pushed := 0
	for nr, text := range queries {
		t.Run("q"+nr, func(t *testing.T) {
			w.compare(t, text)
			require.Contains(t, w.explain(t, text), "SCAN")
			for _, b := range w.bind(t, text, true).Barriers {
				pushed += strings.Count(b.SQL, ") AND ")
			}
		})
	}
	require.Greater(t, pushed, 20, "conditions that moved into the copies")
}
