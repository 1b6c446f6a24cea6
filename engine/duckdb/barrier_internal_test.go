package duckdb

import (
	"strings"
	"testing"

	duck "github.com/duckdb/duckdb-go-bindings"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// A copy without estimates of distinct values is planned like a table in files, whose joins the
// engine takes for as large as the larger table. It has the same rows in the same order.
func TestUncountedColumnsHaveNoEstimates(t *testing.T) {
	in, err := native.Open(native.BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	copies := newBarriers(in)
	plain := engine.Barrier{Name: "flt_counted", SQL: "SELECT range AS id, range % 2 AS parity, range * 1.5 AS other FROM range(1000)"}
	uncounted := plain
	uncounted.Name = "flt_uncounted"
	uncounted.Uncounted = []engine.UncountedColumn{{Name: "parity", Type: "BIGINT"}, {Name: "gone", Type: "BIGINT"}}
	want := []engine.Barrier{plain, uncounted}
	require.NoError(t, copies.make(want, copies.missing(want), 1<<30, func() error { return nil }))
	require.Empty(t, copies.missing(want))

	texts := func(sql string) (out []string) {
		c, err := in.Open(sql, engine.Args{}, func(duck.StatementType) bool { return true }, func() error { return nil })
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.Each(func(r engine.Row) error {
			for _, column := range r.Batch.Columns() {
				out = append(out, column.ValueStr(r.Index))
			}
			return nil
		}))
		return out
	}
	estimate := func(b engine.Barrier) string {
		return strings.Join(texts("EXPLAIN SELECT * FROM "+b.Relation()+" x JOIN "+b.Relation()+" y ON x.parity = y.parity"), "")
	}
	require.Contains(t, estimate(plain), "~500,000 rows")
	require.NotContains(t, estimate(uncounted), "~500,000 rows")
	require.Contains(t, estimate(uncounted), "~1,000 rows")
	require.Equal(t, texts("SELECT * FROM "+plain.Relation()), texts("SELECT * FROM "+uncounted.Relation()))
}
