package pruning_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	objfile "github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// foreignTable writes the files given as JSON lists of rows, one commit each, and
// prints each file's name.
const foreignTable = `
import datetime, decimal, json, os, sys
from deltalake import DeltaTable, write_deltalake
import pyarrow as pa
root, spec = sys.argv[1], json.load(sys.stdin)
types = {"l": pa.int64(), "i": pa.int32(), "sh": pa.int16(), "b": pa.int8(), "d": pa.decimal128(10, 2), "d18": pa.decimal128(18, 2),
    "d38": pa.decimal128(38, 10), "s": pa.string(), "dt": pa.date32(), "ts": pa.timestamp("us", "UTC"), "tn": pa.timestamp("us"), "bo": pa.bool_()}
def value(column, text):
    t = types[column]
    if text is None: return None
    if pa.types.is_decimal(t): return decimal.Decimal(text)
    if pa.types.is_integer(t): return int(text)
    if pa.types.is_boolean(t): return text == "true"
    if pa.types.is_date(t): return datetime.date.fromisoformat(text)
    if pa.types.is_timestamp(t):
        day, clock = text.split(" ")
        clock, _, fraction = clock.partition(".")
        at = datetime.datetime.fromisoformat(day + "T" + clock + "." + fraction.ljust(6, "0"))
        return at.replace(tzinfo=datetime.timezone.utc) if t.tz else at
    return text
names, known = [], set()
for rows in spec["files"]:
    columns = {c: pa.array([value(c, r[c]) for r in rows], t) for c, t in types.items()}
    write_deltalake(root, pa.table(columns), mode="append", partition_by=spec["partitions"] or None)
    now = set(pa.table(DeltaTable(root).get_add_actions()).column("path").to_pylist())
    fresh = now - known
    assert len(fresh) == 1, fresh
    names.append(fresh.pop())
    known = now
print(json.dumps(names), flush=True)
os._exit(0)  # the extension's threads may abort an orderly exit
`

// delta-rs writes the table and its statistics; no row of it is lost.
func TestNoRowOfDeltaRSIsLost(t *testing.T) {
	for _, partitions := range [][]string{{}, {"dt"}, {"tn"}, {"i", "bo"}, {"s"}} {
		example := rapid.Custom(func(rt *rapid.T) []file {
			var files []file
			for i := range 12 {
				files = append(files, drawFile(rt, i, partitions))
			}
			return files
		})
		files := example.Example(7)
		for _, f := range files {
			for _, r := range f.rows {
				if v := r["s"]; v != nil && slices.Contains(partitions, "s") && len(*v) > 40 {
					r["s"] = ptr("EU") // too long for the name of a folder
				}
			}
		}
		snap := writeForeign(t, files, partitions)
		pruned, columns := 0, columnsOf(snap.Schema())
		rapid.Check(t, func(rt *rapid.T) {
			for range 20 {
				c := drawCondition(rt, 2)
				list, ok := pruning.List(snap, columns, c)
				require.True(rt, ok, "%v", partitions)
				names := paths(list)
				for _, f := range files {
					hit := slices.ContainsFunc(f.rows, func(r row) bool { return satisfies(allColumns, c, r) })
					require.True(rt, slices.Contains(names, f.name) || !hit, "%s is lost\nrows %v\ncondition %+v", f.name, f.rows, c)
				}
				pruned += len(files) - len(names)
				checkGroups(rt, list, files, partitions)
			}
		})
		require.Greater(t, pruned, 1000)
		_, ok := pruning.List(snap, columns, engine.Condition{})
		require.True(t, ok)
	}
}

// writeForeign writes the files by delta-rs and gives them the names that it
// gave them.
func writeForeign(t *testing.T, files []file, partitions []string) *delta.Snapshot {
	t.Helper()
	spec := map[string]any{"partitions": partitions}
	var rows [][]row
	for _, f := range files {
		rows = append(rows, f.rows)
	}
	spec["files"] = rows
	input, err := json.Marshal(spec)
	require.NoError(t, err)
	script := filepath.Join(t.TempDir(), "write.py")
	require.NoError(t, os.WriteFile(script, []byte(foreignTable), 0o600))
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), oracletest.Python(t), script, dir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.Output()
	require.NoError(t, err)
	var names []string
	require.NoError(t, json.Unmarshal(out, &names))
	bucket, err := objfile.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	// get_add_actions prints names as they are in the log.
	decoded := make(map[string]string)
	for f := range snap.Files() {
		decoded[f.Add.Path], decoded[f.Name] = f.Name, f.Name
	}
	for i, name := range names {
		require.Contains(t, decoded, name)
		files[i].name = decoded[name]
	}
	return snap
}
