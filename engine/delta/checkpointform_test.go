package delta_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// everyType has columns of all types of statsColumns, a struct, and a partition.
func everyType(t *testing.T) delta.Struct {
	t.Helper()
	schema := delta.Struct{Fields: []delta.Field{{Name: "p", Type: delta.Timestamp, Nullable: true}}}
	for _, c := range statsColumns {
		dt, err := deltasql.ParseType(c.duckdb)
		require.NoError(t, err)
		schema.Fields = append(schema.Fields, delta.Field{Name: c.name, Type: dt, Nullable: true})
	}
	return delta.Struct{Fields: append(schema.Fields, delta.Field{
		Name: "st", Nullable: true,
		Type: delta.Struct{Fields: []delta.Field{{Name: "x", Type: delta.Integer, Nullable: true}}},
	})}
}

// writeEveryType writes a file for each value of statsColumns, with the column names of
// s.
func writeEveryType(t *testing.T, s *delta.Snapshot, dir string) []copiedFile {
	t.Helper()
	ids, rows := "", []string{"", ""}
	for i, c := range s.FileColumns() {
		if c.Name == "st" {
			x := c.Children[0]
			ids += fmt.Sprintf(`"%s": {__duckdb_field_id: %d, "%s": %d}`, c.FileName, cmp.Or(c.ID, 50), x.FileName, cmp.Or(x.ID, 51))
			for r := range rows {
				rows[r] += fmt.Sprintf(`{'%s': %d::INTEGER} AS "%s"`, x.FileName, r*10, c.FileName)
			}
			continue
		}
		ids += fmt.Sprintf(`"%s": %d, `, c.FileName, cmp.Or(c.ID, i+1))
		for r := range rows {
			rows[r] += fmt.Sprintf(`'%s'::%s AS "%s", `, statsColumns[i].values[r], statsColumns[i].duckdb, c.FileName)
		}
	}
	list, err := json.Marshal(rows)
	require.NoError(t, err)
	return runPython[[]copiedFile](t, dir, fmt.Sprintf(`
import duckdb
c = duckdb.connect(); c.execute("set timezone='UTC'")
ids = "{" + %q + "}"
out = []
for i, row in enumerate(json.loads(%q)):
    name = f"{path}/part-{i}.parquet"
    r = c.execute(f"COPY (SELECT {row}) TO '{name}' (FORMAT parquet, RETURN_STATS, FIELD_IDS {ids})").fetchall()[0]
    stats = [{"Path": k.strip('"').split('"."'), "Min": v.get("min"), "Max": v.get("max"), "Nulls": int(v["null_count"])} for k, v in r[4].items() if v.get("has_nan") != "true"]
    out.append({"Rows": r[1], "Size": os.path.getsize(name), "Stats": stats})
say(out)`, ids, string(list)))
}

// addEveryType commits the files, one in each of two partitions, and deletes all
// commits below the checkpoint.
func addEveryType(t *testing.T, s *delta.Snapshot, files []copiedFile) *delta.Snapshot {
	t.Helper()
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	for i, f := range files {
		var stats []delta.ColumnStats
		for _, c := range f.Stats {
			stats = append(stats, delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: &c.Nulls})
		}
		text, err := s.EncodeStats(f.Rows, stats)
		require.NoError(t, err)
		part := fmt.Sprintf("2024-01-0%dT03:04:05.678901Z", i+1)
		require.NoError(t, txn.Add(delta.AddFile{
			Name: fmt.Sprintf("part-%d.parquet", i), Size: f.Size, ModTime: time.Unix(0, 0), Stats: text,
			PartitionValues: map[string]*string{"p": &part},
		}))
	}
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	return onlyCheckpoint(t, s)
}

// onlyCheckpoint writes a checkpoint and deletes all commits below it.
func onlyCheckpoint(t *testing.T, s *delta.Snapshot) *delta.Snapshot {
	t.Helper()
	require.NoError(t, s.Checkpoint(t.Context()))
	for v := range s.Version() {
		require.NoError(t, s.Bucket().Delete(t.Context(), logpath.CommitName(v)))
	}
	return s
}

// statsOf returns the statistics of every file, without empty members.
func statsOf(t *testing.T, s *delta.Snapshot) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for f := range s.Files() {
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(f.Add.Stats), &doc))
		maps.DeleteFunc(doc, func(_ string, v any) bool { inner, ok := v.(map[string]any); return ok && len(inner) == 0 })
		out[f.Name] = doc
	}
	return out
}

const (
	asText   = "delta.checkpoint.writeStatsAsJson"
	asStruct = "delta.checkpoint.writeStatsAsStruct"
)

// TestCheckpointForms checks that a checkpoint in the form that the table's properties
// select has the same statistics as the commits, and that other readers find each value
// by equality with the checkpoint alone.
func TestCheckpointForms(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	type form struct{ Text, Struct, Partitions bool }
	cases := []struct {
		mode       string
		properties map[string]string
		want       form
	}{
		{"none", map[string]string{}, form{true, false, false}},
		{"none", map[string]string{asStruct: "true"}, form{true, true, true}},
		{"none", map[string]string{asStruct: "TRUE", asText: "False"}, form{false, true, true}},
		{"none", map[string]string{asText: "false"}, form{false, true, true}},
		{"none", map[string]string{asText: "false", asStruct: "false"}, form{true, false, false}},
		{"none", map[string]string{asText: "false", "delta.dataSkippingStatsColumns": "l,st.x"}, form{false, true, true}},
		{"none", map[string]string{asText: "false", "delta.dataSkippingNumIndexedCols": "0"}, form{false, true, true}},
		{"id", map[string]string{asStruct: "true"}, form{true, true, true}},
		{"id", map[string]string{asText: "false"}, form{false, true, true}},
	}
	schema := everyType(t)
	files := map[string][]copiedFile{}
	folders := map[string]string{}
	var dirs []string
	for _, c := range cases {
		b, dir := fileBucket(t)
		c.properties["delta.columnMapping.mode"] = c.mode
		s := mustCreate(t, b, delta.CreateOptions{Schema: schema, PartitionColumns: []string{"p"}, Properties: c.properties})
		if files[c.mode] == nil {
			folders[c.mode] = t.TempDir()
			files[c.mode] = writeEveryType(t, s, folders[c.mode])
		}
		require.NoError(t, os.CopyFS(dir, os.DirFS(folders[c.mode])))
		s = addEveryType(t, s, files[c.mode])
		loaded, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		require.Equal(t, statsOf(t, s), statsOf(t, loaded), c.properties)
		dirs = append(dirs, dir)
	}

	filters := []string{"st.x = 10", "p = '2024-01-02 03:04:05.678901+00'::TIMESTAMPTZ"}
	for _, c := range statsColumns {
		for _, v := range c.values {
			filters = append(filters, fmt.Sprintf("%s = CAST('%s' AS %s)", c.name, v, c.duckdb))
		}
	}
	asked, err := json.Marshal([]any{dirs, filters, oracletest.Extension(t, "delta")})
	require.NoError(t, err)
	type seen struct {
		Form          form
		Rows, Deltars int
		Missed        []string
	}
	got := runPython[[]seen](t, "", fmt.Sprintf(`
import duckdb
dirs, filters, extension = json.loads(%q)
c = duckdb.connect(); c.execute("set timezone='UTC'"); c.execute(f"LOAD '{extension}'")
def look(path):
    add = {r[0]: r[1] for r in c.execute(f"DESCRIBE FROM read_parquet('{path}/_delta_log/*.checkpoint.parquet')").fetchall()}["add"]
    # DuckDB takes partition columns of mapped tables for NULL.
    mine = [f for f in filters if not (f.startswith("p ") and "col-" in add)]
    missed = [f for f in mine if c.execute(f"SELECT count(*) FROM delta_scan('{path}') WHERE {f}").fetchone()[0] != 1]
    t = DeltaTable(path)
    q = QueryBuilder().register("t", t)
    count = lambda where: pa.table(q.execute(f"select count(*) c from t where {where}").read_all()).column("c").to_pylist()[0]
    return {"Form": {"Text": " stats VARCHAR" in add, "Struct": "stats_parsed STRUCT(numRecords BIGINT" in add, "Partitions": "partitionValues_parsed STRUCT(" in add},
            "Rows": count("true"), "Deltars": count("l = 9223372036854775807"), "Missed": missed}
say([look(d) for d in dirs])`, string(asked)))
	for i, c := range cases {
		require.Equal(t, seen{Form: c.want, Rows: 2, Deltars: 1, Missed: []string{}}, got[i], c.properties)
	}
}

// TestStatisticsWithoutTypedFormArePreserved checks that statistics without a typed
// form are written as JSON, whatever form the table selects.
func TestStatisticsWithoutTypedFormArePreserved(t *testing.T) {
	for name, odd := range map[string]delta.AddFile{
		"unknown statistics":     {Stats: `{"numRecords":3,"sketches":{"id":"x"}}`},
		"a column without index": {Stats: `{"numRecords":3,"minValues":{"late":1}}`},
		"no document":            {Stats: `{"numRecords":3`},
	} {
		b := mem.New()
		s := mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"delta.checkpoint.writeStatsAsJson": "false"}})
		s = mustAppend(t, s, 1)
		odd.Name, odd.Size = "odd.parquet", 1
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(odd))
		s, err := txn.Commit(t.Context())
		require.NoError(t, err)
		onlyCheckpoint(t, s)
		loaded, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		require.Equal(t, viewOf(s).Files, viewOf(loaded).Files, name)
	}
}
