package delta_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func TestCreateMapped(t *testing.T) {
	for _, mode := range []string{"name", "id"} {
		schema := delta.Struct{Fields: append([]delta.Field{{Name: "a, odd = name", Type: delta.Long, Nullable: true}}, manyColumns.Fields...)}
		s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: schema, PartitionColumns: []string{"p"},
			Properties: map[string]string{"delta.columnMapping.mode": mode}})
		require.Equal(t, "11", s.Properties()["delta.columnMapping.maxColumnId"])
		require.Equal(t, action.Protocol{
			MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"columnMapping"},
			WriterFeatures: []string{"appendOnly", "columnMapping", "invariants"},
		}, s.Protocol())
		seen := map[string]bool{}
		var check func(columns []delta.FileColumn, members bool)
		check = func(columns []delta.FileColumn, members bool) {
			for _, c := range columns {
				if members {
					require.NotEqual(t, c.Name, c.FileName)
					require.Positive(t, c.ID)
					require.False(t, seen[c.FileName])
					seen[c.FileName] = true
				} else {
					require.Zero(t, c.ID)
					require.Equal(t, c.Name, c.FileName)
				}
				nested := c.Name != "list" && c.Name != "m"
				check(c.Children, nested)
			}
		}
		check(s.FileColumns(), true)
		require.Len(t, seen, 10, "all but the partition column")
		require.NoError(t, delta.CheckWritable(s))
		require.ErrorIs(t, delta.CheckScannable(s), delta.ErrUnsupportedFeature)
		require.NoError(t, delta.CheckReadable(s))
	}
	_, err := delta.Create(t.Context(), mem.New(), delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{{Name: "a b", Type: delta.Long, Nullable: true}}},
	})
	require.ErrorIs(t, err, delta.ErrInvalidSchema)
	plain := mustCreate(t, mem.New(), delta.CreateOptions{})
	require.Equal(t, []delta.FileColumn{{Name: "id", FileName: "id"}, {Name: "s", FileName: "s"}}, plain.FileColumns())
}

// TestDisabledMapping checks that the physical names of a disabled mapping are ignored.
func TestDisabledMapping(t *testing.T) {
	schema := delta.Struct{Fields: []delta.Field{
		{Name: "a", Type: delta.Long, Nullable: true, Metadata: map[string]json.RawMessage{
			"delta.columnMapping.physicalName": json.RawMessage(`"old"`), "delta.columnMapping.id": json.RawMessage("7"),
		}},
		{Name: "b", Type: delta.Long, Nullable: true},
	}}
	s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: schema})
	require.Equal(t, []delta.FileColumn{{Name: "a", FileName: "a"}, {Name: "b", FileName: "b"}}, s.FileColumns())
	one := "1"
	stats, err := s.EncodeStats(1, []delta.ColumnStats{{Path: []string{"a"}, Min: &one, Max: &one}})
	require.NoError(t, err)
	require.JSONEq(t, `{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{},"tightBounds":true}`, stats)
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.RenameColumn([]string{"b"}, "c") })
	require.Equal(t, []delta.FileColumn{{Name: "a", FileName: "a", ID: 8}, {Name: "c", FileName: "b", ID: 9}}, s.FileColumns())
}

func TestPartitionsOfMappedTables(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{PartitionColumns: []string{"s"},
		Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.RenameColumn([]string{"s"}, "part") })
	file := func(column, value string) delta.AddFile {
		return delta.AddFile{Name: "f-" + value, Size: 1, PartitionValues: map[string]*string{column: &value}, Stats: `{"numRecords":1}`}
	}
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.ErrorIs(t, txn.Add(file("s", "x")), delta.ErrInvalidTxn)
	require.NoError(t, txn.Add(file("part", "x")))
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	f := onlyFile(t, s)
	physical := field(t, s.Schema(), "part").PhysicalName()
	x := "x"
	require.Equal(t, map[string]*string{physical: &x}, f.Add.PartitionValues)
	require.Equal(t, map[string]*string{"part": &x}, s.PartitionValues(f))

	// The partition predicate gets logical names.
	for value, want := range map[string]error{"x": delta.ErrConcurrentAppend, "y": nil} {
		reader, writer := s.Begin(delta.Operation{Name: "MERGE"}), s.Begin(delta.Operation{Name: "WRITE"})
		reader.ReadPartitions(func(values map[string]*string) bool { return *values["part"] == value })
		reader.ReadFiles(f)
		added := file("part", "x")
		added.Name += "-" + value
		require.NoError(t, writer.Add(added))
		_, err := writer.Commit(t.Context())
		require.NoError(t, err)
		require.NoError(t, reader.Add(file("part", "z"+value)))
		_, err = reader.Commit(t.Context())
		if want == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, want)
		}
		s, err = s.Refresh(t.Context())
		require.NoError(t, err)
	}
}

// mappedColumns has names that Parquet writers refuse.
var mappedColumns = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true},
	{Name: "the text", Type: delta.String, Nullable: true},
	{Name: "st", Type: delta.Struct{Fields: []delta.Field{{Name: "x", Type: delta.Long, Nullable: true}}}, Nullable: true},
	{Name: "p", Type: delta.String, Nullable: true},
}}

type copiedFile struct {
	Rows, Size int64
	Stats      []struct {
		Path     []string
		Min, Max *string
		Nulls    int64
	}
}

// writeMapped appends two rows as a writer does that uses FileColumns.
func writeMapped(t *testing.T, s *delta.Snapshot, dir string, first int64, part string) *delta.Snapshot {
	t.Helper()
	c := map[string]delta.FileColumn{}
	for _, column := range s.FileColumns() {
		c[column.Name] = column
	}
	id, text, st := c["id"], c["the text"], c["st"]
	x := st.Children[0]
	name := fmt.Sprintf("part-%d.parquet", first)
	got := runPython[copiedFile](t, dir, fmt.Sprintf(`
import duckdb
sql = """SELECT %d + i AS "%s", 'row ' || i AS "%s", {'%s': i * 10} AS "%s" FROM range(2) r(i)"""
ids = """{"%s": %d, "%s": %d, "%s": {__duckdb_field_id: %d, "%s": %d}}"""
r = duckdb.connect().execute(f"COPY ({sql}) TO '{path}/%s' (FORMAT parquet, RETURN_STATS, FIELD_IDS {ids})").fetchall()[0]
stats = [{"Path": k.strip('"').split('"."'), "Min": v.get("min"), "Max": v.get("max"), "Nulls": int(v["null_count"])} for k, v in r[4].items()]
say({"Rows": r[1], "Size": os.path.getsize(f"{path}/%s"), "Stats": stats})`,
		first, id.FileName, text.FileName, x.FileName, st.FileName,
		id.FileName, id.ID, text.FileName, text.ID, st.FileName, st.ID, x.FileName, x.ID, name, name))
	var stats []delta.ColumnStats
	for _, c := range got.Stats {
		stats = append(stats, delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: &c.Nulls})
	}
	encoded, err := s.EncodeStats(got.Rows, stats)
	require.NoError(t, err)
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(delta.AddFile{
		Name: name, Size: got.Size, ModTime: time.Unix(0, 0), Stats: encoded, PartitionValues: map[string]*string{s.PartitionColumns()[0]: &part},
	}))
	next, err := txn.Commit(t.Context())
	require.NoError(t, err)
	var doc struct{ MinValues map[string]json.RawMessage }
	for f := range next.Files() {
		if f.Name == name {
			require.NoError(t, json.Unmarshal([]byte(f.Add.Stats), &doc))
		}
	}
	require.Contains(t, doc.MinValues, id.FileName)
	require.JSONEq(t, fmt.Sprintf(`{%q:0}`, x.FileName), string(doc.MinValues[st.FileName]))
	return next
}

func TestDeltaRsReadsMappedTables(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	for _, mode := range []string{"name", "id"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b, dir := fileBucket(t)
			s := mustCreate(t, b, delta.CreateOptions{Schema: mappedColumns, PartitionColumns: []string{"p"},
				Properties: map[string]string{"delta.columnMapping.mode": mode}})
			s = writeMapped(t, s, dir, 0, "one")
			s = mustAlter(t, s, func(a *delta.Alteration) error {
				if err := a.RenameColumn([]string{"p"}, "the part"); err != nil {
					return err
				}
				if err := a.RenameColumn([]string{"st", "x"}, "the member"); err != nil {
					return err
				}
				return a.AddColumn(nil, delta.Field{Name: "p", Type: delta.Long, Nullable: true})
			})
			s = writeMapped(t, s, dir, 10, "two")
			type row struct {
				ID     int64
				Text   string
				Member int64
				Part   string
				P      *int64
			}
			const look = `
q = QueryBuilder().register("t", DeltaTable(path))
r = pa.table(q.execute('select id, "the text", st, "the part", p from t where id >= 0 order by id').read_all()).to_pylist()
say([{"ID": x["id"], "Text": x["the text"], "Member": x["st"]["the member"], "Part": x["the part"], "P": x["p"]} for x in r])`
			want := []row{{0, "row 0", 0, "one", nil}, {1, "row 1", 10, "one", nil}, {10, "row 0", 0, "two", nil}, {11, "row 1", 10, "two", nil}}
			if mode == "id" {
				require.NoError(t, s.Checkpoint(t.Context()))
			}
			require.Equal(t, want, runPython[[]row](t, dir, look))
		})
	}
}

// TestDeltaRsReadsRenamedColumns enables mapping in a table with files, which remain
// readable; delta-rs reads and appends.
func TestDeltaRsReadsRenamedColumns(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{}), 1, 2)
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		if err := a.RenameColumn([]string{"s"}, "the text"); err != nil {
			return err
		}
		return a.AddColumn(nil, delta.Field{Name: "s", Type: delta.Long, Nullable: true})
	})
	look := `r = pa.table(QueryBuilder().register("t", DeltaTable(path)).execute('select * from t order by id').read_all()).to_pylist(); ` +
		`say(r)`
	want := []map[string]any{{"id": 1.0, "the text": "row 1", "s": nil}, {"id": 2.0, "the text": "row 2", "s": nil}}
	require.Equal(t, want, runPython[[]map[string]any](t, dir, look))

	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.DropColumn([]string{"the text"}) })
	require.Equal(t, []map[string]any{{"id": 1.0, "s": nil}, {"id": 2.0, "s": nil}}, runPython[[]map[string]any](t, dir, look))

	wrote := runPython[string](t, dir, `
try:
    write_deltalake(path, pa.table({"id": pa.array([3], pa.int64()), "s": pa.array([30], pa.int64())}), mode="append")
    say("")
except Exception as e:
    say(str(e))`)
	require.Empty(t, wrote)
	s, err := s.Refresh(t.Context())
	require.NoError(t, err)
	column := field(t, s.Schema(), "s").PhysicalName()
	for f := range s.Files() {
		stats, err := f.Stats()
		require.NoError(t, err)
		if _, theirs := stats.MinValues[column]; theirs {
			_, err := os.Stat(filepath.Join(dir, f.Name))
			require.NoError(t, err)
			return
		}
	}
	t.Fatal("the file uses unexpected names")
}

// TestIDsOfNestedParts checks that elements, keys and values have the ids in the
// metadata of their field, or none.
func TestIDsOfNestedParts(t *testing.T) {
	field := `{\"name\":\"m\",\"type\":{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":{\"type\":\"array\",\"elementType\":\"long\",` +
		`\"containsNull\":true},\"valueContainsNull\":true},\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":2,` +
		`\"delta.columnMapping.physicalName\":\"c-2\"%s}}`
	for nested, want := range map[string][]int{
		"": {0, 0, 0},
		`,\"delta.columnMapping.nested.ids\":{\"c-2.key\":3,\"c-2.value\":4,\"c-2.value.element\":5}`: {3, 4, 5},
		`,\"parquet.field.nested.ids\":{\"c-2.key\":6}`:                                               {6, 0, 0},
	} {
		b := mem.New()
		schema := `{\"type\":\"struct\",\"fields\":[` + fmt.Sprintf(field, nested) + `]}`
		mustLog(t, b, `{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}`+"\n"+
			metaLine("a", schema, "", `"delta.columnMapping.mode":"name","delta.columnMapping.maxColumnId":"9"`))
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		m := s.FileColumns()[0]
		require.Equal(t, want, []int{m.Children[0].ID, m.Children[1].ID, m.Children[1].Children[0].ID})
	}
}
