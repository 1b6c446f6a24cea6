package command

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// TestDeltaRSReadsTheDemoTables checks that another engine finds the published rows in
// the tables, reading them through the log.
func TestDeltaRSReadsTheDemoTables(t *testing.T) {
	python := oracletest.Python(t)
	root := t.TempDir()
	require.NoError(t, Program{}.writeDemoTables(context.Background(), root))
	out, err := exec.Command(python, "-c", `
import sys, deltalake, pyarrow.parquet as pq
for table in ["airlines", "airports", "planes", "weather", "flights"]:
    delta = deltalake.DeltaTable(f"{sys.argv[1]}/{table}")
    ours, published = delta.to_pyarrow_table(), pq.read_table(f"demodata/{table}.parquet")
    assert sorted(ours.column_names) == sorted(published.column_names), table
    keys = [(name, "ascending") for name in published.column_names]
    ours = ours.select(published.column_names).cast(published.schema)
    assert ours.sort_by(keys).equals(published.sort_by(keys)), table
models = deltalake.DeltaTable(sys.argv[1] + "/models").to_pyarrow_table().to_pylist()
planes = pq.read_table("demodata/planes.parquet", columns=["manufacturer", "model"]).to_pylist()
pair = lambda row: (row["manufacturer"], row["model"])
assert [pair(row) for row in models] == sorted(set(map(pair, planes))), "models"
assert deltalake.DeltaTable(sys.argv[1] + "/flights").metadata().partition_columns == ["month"]
assert len(deltalake.DeltaTable(sys.argv[1] + "/flights").file_uris([("month", "=", "7")])) == 1
import os; sys.stdout.flush(); os._exit(0) # threads of the libraries can abort the orderly end
`, root).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
