package delta_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// runPython runs a script on the table at dir and decodes its output.
func runPython[T any](t *testing.T, dir, script string) T {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), oracletest.Python(t), "-c", prelude+script, dir)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.Output()
	require.NoError(t, err)
	var v T
	require.NoError(t, json.Unmarshal(out, &v), "%s", out)
	return v
}

const prelude = `
import json, os, sys
from deltalake import DeltaTable, QueryBuilder, write_deltalake
import pyarrow as pa
path = sys.argv[1]
def say(x):
    print(json.dumps(x, default=str), flush=True)
    os._exit(0)  # the extension's threads may abort an orderly exit
def rows(table): return sorted(table.to_pyarrow_table().column("id").to_pylist())
def files(table): return sorted(pa.table(table.get_add_actions()).column("path").to_pylist())
`

func fileBucket(t *testing.T) (*file.Bucket, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := file.New(dir)
	require.NoError(t, err)
	return b, dir
}

func fileNames(s *delta.Snapshot) []string {
	names := []string{}
	for f := range s.Files() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

func TestDeltaRsReadsAndAppends(t *testing.T) {
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustCreate(t, b, delta.CreateOptions{Name: "n", Properties: map[string]string{"owner.key": "v", "delta.checkpointInterval": "5"}})
	var want []int64
	for i := range int64(12) {
		s = mustAppend(t, s, i, i+100)
		want = append(want, i, i+100)
	}
	remove := s.Begin(delta.Operation{Name: "DELETE"})
	var gone delta.File
	for f := range s.Files() {
		gone = f
		break
	}
	require.NoError(t, remove.Remove(false, gone))
	s, err := remove.Commit(t.Context())
	require.NoError(t, err)
	want = slices.DeleteFunc(want, func(n int64) bool { return n%100 == 0 }) // the first file
	slices.Sort(want)

	type seen struct {
		Version  int64
		ID       string
		Rows     []int64
		Files    []string
		Property string
		History  int
	}
	const look = `
t = DeltaTable(path)
say({"Version": t.version(), "ID": str(t.metadata().id), "Rows": rows(t), "Files": files(t),
     "Property": t.metadata().configuration["owner.key"], "History": len(t.history())})`
	got := runPython[seen](t, dir, look)
	require.Equal(t, seen{13, s.TableID(), want, fileNames(s), "v", 14}, got)

	for v := range int64(10) {
		require.NoError(t, b.Delete(t.Context(), logpath.CommitName(v)))
	}
	got = runPython[seen](t, dir, look)
	require.Equal(t, want, got.Rows, "from our checkpoint")
	require.Equal(t, fileNames(s), got.Files)

	type wrote struct{ Version int64 }
	w := runPython[wrote](t, dir, `
write_deltalake(path, pa.table({"id": pa.array([7000], pa.int64()), "s": ["theirs"]}), mode="append")
t = DeltaTable(path); t.create_checkpoint(); say({"Version": t.version()})`)
	require.EqualValues(t, 14, w.Version)
	s, err = s.Refresh(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 14, s.Version())
	s = mustAppend(t, s, 8000)
	got = runPython[seen](t, dir, look)
	require.Equal(t, append(want, 7000, 8000), got.Rows)
	require.Equal(t, fileNames(s), got.Files)
	loaded, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	require.Equal(t, fileNames(s), fileNames(loaded), "from their checkpoint")
}

func TestReadsDeltaRs(t *testing.T) {
	oracletest.Python(t)
	b, dir := fileBucket(t)
	type seen struct {
		Version int64
		Files   []string
		Parts   map[string]*string
		Rows    int64
		Txn     int64
	}
	got := runPython[seen](t, dir, `
from deltalake import Transaction, CommitProperties
import datetime as d
base = {"id": pa.array([1,2,3,4], pa.int64()), "p": ["a b/c=d%e", "é:\\?", None, "x"],
        "ts": pa.array([d.datetime(2024,1,2,3,4,5,678901)]*4, pa.timestamp("us", "UTC")),
        "n": pa.array([d.datetime(1,1,1)]*4, pa.timestamp("us"))}
write_deltalake(path, pa.table(base), partition_by=["p"], configuration={"delta.checkpointInterval": "3"})
for i in range(7):
    write_deltalake(path, pa.table(base), mode="append", commit_properties=CommitProperties(app_transactions=[Transaction("app", i)]))
DeltaTable(path).delete("id = 3")
t = DeltaTable(path); t.create_checkpoint(); t = DeltaTable(path)
acts = pa.table(t.get_add_actions(flatten=True))
parts = {f: p for f, p in zip(acts.column("path").to_pylist(), acts.column("partition.p").to_pylist())}
say({"Version": t.version(), "Files": files(t), "Parts": parts, "Rows": t.to_pyarrow_table().num_rows, "Txn": t.transaction_version("app")})`)
	for _, checkpointed := range []bool{true, false} {
		if !checkpointed {
			require.NoError(t, b.Delete(t.Context(), logpath.CheckpointName(got.Version)))
			require.NoError(t, b.Delete(t.Context(), logpath.LastCheckpoint))
		}
		s, err := delta.Load(t.Context(), b, delta.Options{})
		require.NoError(t, err)
		require.NoError(t, delta.CheckReadable(s))
		require.Equal(t, got.Version, s.Version())
		rows, known := s.Rows()
		require.True(t, known)
		require.Equal(t, got.Rows, rows)
		last, ok := s.SetTransaction("app")
		require.True(t, ok)
		require.Equal(t, got.Txn, last)
		parts := map[string]*string{}
		for f := range s.Files() {
			parts[f.Add.Path] = f.Add.PartitionValues["p"]
			object, err := b.Stat(t.Context(), f.Name)
			require.NoError(t, err, "the decoded name is the file's")
			require.Equal(t, f.Add.Size, object.Size)
			stats, err := f.Stats()
			require.NoError(t, err)
			require.NotNil(t, stats.NumRecords)
		}
		require.Equal(t, got.Parts, parts)
		history, err := s.History(t.Context(), 3, 0)
		require.NoError(t, err)
		require.Len(t, history, 3)
		require.Equal(t, "DELETE", history[0].Operation)
		require.Equal(t, got.Version, history[0].Version)
	}
}

// statsRow is one column with values whose statistics are error-prone.
var statsColumns = []struct {
	name, duckdb string
	values       []string
}{
	{"b", "TINYINT", []string{"-128", "127"}},
	{"l", "BIGINT", []string{"-9223372036854775808", "9223372036854775807"}},
	{"f", "FLOAT", []string{"0.1", "16777216.0"}},
	{"d", "DOUBLE", []string{"-0.0", "1e300"}},
	{"dn", "DOUBLE", []string{"1.5", "nan"}},
	{"di", "DOUBLE", []string{"-inf", "2.5"}},
	{"de", "DECIMAL(38,10)", []string{"-9999999999999999999999999999.9999999999", "0.0000000001"}},
	{"bo", "BOOLEAN", []string{"true", "false"}},
	{"s", "VARCHAR", []string{"0123456789012345678901234567890123456789", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzéééé"}},
	{"da", "DATE", []string{"0001-01-01", "9999-12-31"}},
	{"ts", "TIMESTAMP WITH TIME ZONE", []string{"1969-12-31 23:59:59.999999+00", "2024-01-02 03:04:05.678901+00"}},
	{"tn", "TIMESTAMP", []string{"0001-01-01 00:00:00.000001", "2024-01-02 03:04:05.678901"}},
}

func TestStatisticsAgreeWithReaders(t *testing.T) {
	oracletest.Python(t)
	b, dir := fileBucket(t)
	schema := delta.Struct{}
	columns, rows := "", [2]string{}
	for i, c := range statsColumns {
		dt, err := deltasql.ParseType(c.duckdb)
		require.NoError(t, err)
		schema.Fields = append(schema.Fields, delta.Field{Name: c.name, Type: dt, Nullable: true})
		columns += fmt.Sprintf("%s,", c.name)
		for r := range 2 {
			rows[r] += fmt.Sprintf("'%s'::%s AS %s,", c.values[r], statsColumns[i].duckdb, c.name)
		}
	}
	s := mustCreate(t, b, delta.CreateOptions{Schema: schema})
	type copied struct {
		File  string
		Rows  int64
		Size  int64
		Stats []struct {
			Path     []string
			Min, Max *string
			Nulls    int64
			NaN      bool
		}
	}
	files := runPython[[]copied](t, dir, fmt.Sprintf(`
import duckdb, os
c = duckdb.connect(); c.execute("set timezone='UTC'")
out = []
for i, row in enumerate([%q, %q]):
    name = f"part-{i}.parquet"
    r = c.execute(f"COPY (SELECT {row}) TO '{path}/{name}' (FORMAT parquet, RETURN_STATS)").fetchall()[0]
    stats = [{"Path": k.strip('"').split('"."'), "Min": v.get("min"), "Max": v.get("max"), "Nulls": int(v["null_count"]), "NaN": v.get("has_nan") == "true"} for k, v in r[4].items()]
    out.append({"File": name, "Rows": r[1], "Size": os.path.getsize(f"{path}/{name}"), "Stats": stats})
say(out)`, rows[0], rows[1]))
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		var stats []delta.ColumnStats
		for _, c := range f.Stats {
			stats = append(stats, delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: &c.Nulls, HasNaN: c.NaN})
		}
		text, err := s.EncodeStats(f.Rows, stats)
		require.NoError(t, err)
		require.NoError(t, txn.Add(delta.AddFile{Name: f.File, Size: f.Size, ModTime: time.Unix(0, 0), Stats: text}))
	}
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Version())

	// Each value must be found by equality although readers prune files by bounds.
	filters := []string{}
	for _, c := range statsColumns {
		for _, v := range c.values {
			literal := fmt.Sprintf("arrow_cast('%s', '%s')", v, arrowNames[c.duckdb])
			filters = append(filters, fmt.Sprintf("%s = %s", c.name, literal))
		}
	}
	list, err := json.Marshal(filters)
	require.NoError(t, err)
	counts := runPython[map[string]int](t, dir, fmt.Sprintf(`
t = DeltaTable(path); q = QueryBuilder().register("t", t); out = {}
for f in json.loads(%q):
    out[f] = pa.table(q.execute("select count(*) c from t where " + f).read_all()).column("c").to_pylist()[0]
say(out)`, string(list)))
	for _, f := range filters {
		require.Equal(t, 1, counts[f], f)
	}
}

var arrowNames = map[string]string{
	"TINYINT": "Int8", "BIGINT": "Int64", "FLOAT": "Float32", "DOUBLE": "Float64", "BOOLEAN": "Boolean",
	"DECIMAL(38,10)": "Decimal128(38, 10)", "VARCHAR": "Utf8", "DATE": "Date32",
	"TIMESTAMP WITH TIME ZONE": `Timestamp(Microsecond, Some("UTC"))`, "TIMESTAMP": "Timestamp(Microsecond, None)",
}
