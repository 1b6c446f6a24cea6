package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeltaRSReadsTheDemoTables: another engine finds the published rows in the
// tables that our own log code wrote, through the log and not beside it.
func TestDeltaRSReadsTheDemoTables(t *testing.T) {
	python := deltaPython(t)
	root := t.TempDir()
	require.NoError(t, writeDemoTables(context.Background(), root))
	python(`
import sys, deltalake, pyarrow.parquet as pq
for table in ["airlines", "airports", "planes", "weather", "flights"]:
    delta = deltalake.DeltaTable(f"{sys.argv[1]}/{table}")
    ours, published = delta.to_pyarrow_table(), pq.read_table(f"demodata/{table}.parquet")
    assert sorted(ours.column_names) == sorted(published.column_names), table
    keys = [(name, "ascending") for name in published.column_names]
    ours = ours.select(published.column_names).cast(published.schema)
    assert ours.sort_by(keys).equals(published.sort_by(keys)), table
assert deltalake.DeltaTable(sys.argv[1] + "/flights").metadata().partition_columns == ["month"]
assert len(deltalake.DeltaTable(sys.argv[1] + "/flights").file_uris([("month", "=", "7")])) == 1
`, root)
}
