package enginetest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// parquetFile returns a file with the rows of a JSON text. Timestamps in
// nanoseconds become INT96.
func parquetFile(tb testing.TB, rows string, fields ...arrow.Field) []byte {
	tb.Helper()
	return parquetFileOf(tb, rows, true, fields...)
}

// parquetFileOf is parquetFile that writes timestamps in nanoseconds as such unless int96 is true.
func parquetFileOf(tb testing.TB, rows string, int96 bool, fields ...arrow.Field) []byte {
	tb.Helper()
	s := arrow.NewSchema(fields, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	require.NoError(tb, err)
	defer batch.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, nil, pqarrow.NewArrowWriterProperties(pqarrow.WithDeprecatedInt96Timestamps(int96)))
	require.NoError(tb, err)
	require.NoError(tb, w.Write(batch))
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func int64Column(name string) arrow.Field { return field(name, arrow.PrimitiveTypes.Int64) }

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// physicalTypes reads column v from files that store it with another type, alone
// and together with a file of the table's type.
func (s suite) physicalTypes(t *testing.T) {
	naive := &arrow.TimestampType{Unit: arrow.Microsecond}
	point := arrow.StructOf(int64Column("x"))
	for _, c := range []struct {
		name  string
		in    arrow.DataType
		value string
		want  string // type
		text  string // "" means that the file is refused
	}{
		{"INT96", arrow.FixedWidthTypes.Timestamp_ns, `"2024-02-29 12:00:00.123456"`, "TIMESTAMP WITH TIME ZONE",
			"2024-02-29 12:00:00.123456+00"},
		{"no zone", naive, `"2024-02-29 12:00:00.5"`, "TIMESTAMP WITH TIME ZONE", "2024-02-29 12:00:00.5+00"},
		{"milliseconds", &arrow.TimestampType{Unit: arrow.Millisecond}, `"2024-02-29 12:00:00.5"`, "TIMESTAMP", "2024-02-29 12:00:00.5"},
		{"zone", arrow.FixedWidthTypes.Timestamp_us, `"2024-02-29 12:00:00.5"`, "TIMESTAMP", "2024-02-29 12:00:00.5"},
		{"wider integer", arrow.PrimitiveTypes.Int32, `7`, "BIGINT", "7"},
		{"integer as double", arrow.PrimitiveTypes.Int32, `7`, "DOUBLE", "7.0"},
		{"wider float", arrow.PrimitiveTypes.Float32, `1.5`, "DOUBLE", "1.5"},
		{"wider decimal", &arrow.Decimal128Type{Precision: 9, Scale: 2}, `"1.25"`, "DECIMAL(20,4)", "1.2500"},
		{"date as timestamp", arrow.FixedWidthTypes.Date32, `"2024-02-29"`, "TIMESTAMP", "2024-02-29 00:00:00"},
		{"unmarked text", arrow.BinaryTypes.Binary, `"w6k="`, "VARCHAR", "é"},
		{"bytes", arrow.BinaryTypes.Binary, `"w6k="`, "BLOB", `\xC3\xA9`},
		{"fewer fields", point, `{"x": 1}`, "STRUCT(x BIGINT, y VARCHAR)", "{'x': 1, 'y': NULL}"},
		{"fewer fields in a list", arrow.ListOf(point), `[{"x": 1}, null]`, "STRUCT(x BIGINT, y VARCHAR)[]", "[{'x': 1, 'y': NULL}, NULL]"},
		{"more fields", arrow.StructOf(int64Column("z"), int64Column("x")), `{"z": 1, "x": 2}`, "STRUCT(x BIGINT)", "{'x': 2}"},
		{"other fields", point, `{"x": 1}`, "STRUCT(y BIGINT)", ""},
		{"other type of a field", point, `{"x": 1}`, "STRUCT(x VARCHAR)", ""},
		{"struct as text", point, `{"x": 1}`, "VARCHAR", ""},
		{"list as text", arrow.ListOf(arrow.PrimitiveTypes.Int64), `[1]`, "VARCHAR", ""},
		{"struct for a number", point, `{"x": 1}`, "BIGINT", ""},
		{"number for a struct", arrow.PrimitiveTypes.Int64, `1`, "STRUCT(x BIGINT)", ""},
		{"list for a struct", arrow.ListOf(point), `[{"x": 1}]`, "STRUCT(x BIGINT)", ""},
		{"number as text", arrow.PrimitiveTypes.Int64, `1`, "VARCHAR", ""},
		{"text as number", arrow.BinaryTypes.String, `"1"`, "BIGINT", ""},
		{"rounded", arrow.PrimitiveTypes.Float64, `1.7`, "BIGINT", ""},
		{"rounded decimal", &arrow.Decimal128Type{Precision: 9, Scale: 2}, `"1.25"`, "DECIMAL(9,1)", ""},
		{"cut to a day", naive, `"2024-02-29 12:00:00.5"`, "DATE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			session := s.open(t, root)
			for name, content := range map[string][]byte{
				"v.parquet":    parquetFile(t, `[{"n": 1, "v": `+c.value+`}]`, int64Column("n"), field("v", c.in)),
				"less.parquet": parquetFile(t, `[{"n": 2}]`, int64Column("n")),
			} {
				require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o644))
			}
			columns := []engine.Column{{Name: "v", Type: sqltype.MustParse(c.want), Nullable: true},
				{Name: "n", Type: sqltype.BigInt, Nullable: true}}
			ask := func(files ...string) ([]string, error) {
				src := engine.Source{Location: root, Files: engine.NewFileList(columns, len(files) == 1, []engine.FileGroup{{Paths: files}})}
				return TryRows(context.Background(), session, engine.Statement{
					SQL: "SELECT v::VARCHAR, typeof(v), n FROM " + src.Relation() + " ORDER BY n", Sources: []engine.Source{src}})
			}
			row, missing := c.text+"|"+c.want+"|1", "(null)|"+c.want+"|2"
			if c.text == "" {
				for _, files := range [][]string{{"v.parquet"}, {"less.parquet", "v.parquet"}, {"v.parquet", "less.parquet"}} {
					_, err := ask(files...)
					e := failure(t, err)
					require.Equal(t, engine.KindIO, e.Kind, "%v", withText(err))
					require.Equal(t, engine.ClassFileSchema, e.Class, "%v", withText(err))
				}
				return
			}
			got, err := ask("v.parquet")
			require.NoError(t, withText(err))
			require.Equal(t, []string{row}, got)
			got, err = ask("less.parquet", "v.parquet")
			require.NoError(t, withText(err))
			require.Equal(t, []string{row, missing}, got)
			got, err = ask("v.parquet", "less.parquet")
			require.NoError(t, withText(err))
			require.Equal(t, []string{row, missing}, got)
		})
	}
}

// legacyLists reads [1, 2] in the list layouts of old writers.
func (s suite) legacyLists(t *testing.T) {
	element := schema.NewInt32Node("array", parquet.Repetitions.Optional, -1)
	for _, c := range []struct {
		name  string
		inner schema.Node
		def   int16
	}{
		{"bag of array", schema.MustGroup(schema.NewGroupNode("bag", parquet.Repetitions.Repeated, schema.FieldList{element}, -1)), 3},
		{"two levels", schema.NewInt32Node("array", parquet.Repetitions.Repeated, -1), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			list := schema.MustGroup(schema.NewGroupNodeConverted("v", parquet.Repetitions.Optional,
				schema.FieldList{c.inner}, schema.ConvertedTypes.List, -1))
			top := schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{list}, -1))
			var out bytes.Buffer
			w := file.NewParquetWriter(&out, top)
			column, err := w.AppendRowGroup().NextColumn()
			require.NoError(t, err)
			_, err = column.(*file.Int32ColumnChunkWriter).WriteBatch([]int32{1, 2}, []int16{c.def, c.def}, []int16{0, 1})
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.NoError(t, os.WriteFile(filepath.Join(root, "v.parquet"), out.Bytes(), 0o644))
			session := s.open(t, root)
			for _, want := range []string{"INTEGER[]", "BIGINT[]"} {
				src := engine.Source{Location: root, Files: engine.NewFileList(
					[]engine.Column{{Name: "v", Type: sqltype.MustParse(want), Nullable: true}}, true, []engine.FileGroup{{Paths: []string{"v.parquet"}}})}
				require.Equal(t, []string{"[1,2]"}, readAll(t, session, src))
				require.Equal(t, []string{"1", "2"}, Rows(t, session, engine.Statement{
					SQL: "SELECT unnest(v) FROM " + src.Relation(), Sources: []engine.Source{src}}))
			}
			require.False(t, session.Broken())
		})
	}
}
