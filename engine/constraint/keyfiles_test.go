package constraint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// A key check costs what the files with such keys cost, not what the table costs.
func TestAKeyCheckReadsTheFilesThatCanHoldTheKeys(t *testing.T) {
	s, schema := scope(t), columns(t, "orderkey", "long", "line", "integer", "note", "string")
	snap := created(t, schema, nil)
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	const files, orders = 300, 1000
	for i := range files {
		require.NoError(t, txn.Add(delta.AddFile{
			Name: fmt.Sprintf("part-%d.parquet", i), PartitionValues: map[string]*string{}, Size: 1, ModTime: time.Unix(0, 0),
			Stats: fmt.Sprintf(`{"numRecords":4000,"minValues":{"orderkey":%d,"line":1},"maxValues":{"orderkey":%d,"line":4},`+
				`"nullCount":{"orderkey":0,"line":0}}`,
				i*orders, i*orders+orders-1),
		}))
	}
	snap, err := txn.Commit(t.Context())
	require.NoError(t, err)
	key := constraint.Keys{Primary: []string{"orderkey", "line"}}.In(schema)[0]
	list := []engine.Column{{Name: "orderkey", Type: sqltype.BigInt}, {Name: "line", Type: sqltype.Integer},
		{Name: "note", Type: sqltype.Varchar}}
	for _, c := range []struct {
		name, rows string
		most       int
	}{
		{"sorted", "SELECT 149900 + x // 4 AS orderkey, (x % 4 + 1)::INTEGER AS line FROM range(1000) g(x)", 2},
		{"few far apart", "SELECT x * 100000 AS orderkey, 1::INTEGER AS line FROM range(3) g(x)", 3},
		{"two clusters of many", "SELECT (x % 2) * 200000 + x AS orderkey, 1::INTEGER AS line FROM range(2000) g(x)", 5},
		{"beyond the table", "SELECT 1000000 + x AS orderkey, 1::INTEGER AS line FROM range(5000) g(x)", 0},
		{"lines that are not there", "SELECT x AS orderkey, 9::INTEGER AS line FROM range(5000) g(x)", 0},
	} {
		condition, err := s.KeyCondition(t.Context(), key, constraint.Relation{From: "(" + c.rows + ")"})
		require.NoError(t, err, c.name)
		kept, ok := pruning.List(snap, list, condition)
		require.True(t, ok, c.name)
		require.LessOrEqual(t, kept.Len(), c.most, c.name)
	}
}
