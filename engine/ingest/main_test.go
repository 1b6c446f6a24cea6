package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// columns makes columns of alternating names and types.
func columns(namesAndTypes ...string) []engine.Column {
	var out []engine.Column
	for i := 0; i < len(namesAndTypes); i += 2 {
		out = append(out, engine.Column{Name: namesAndTypes[i], Type: sqltype.MustParse(namesAndTypes[i+1]), Nullable: true})
	}
	return out
}

// stage stages a body into a new directory.
func stage(tb testing.TB, body string, req ingest.Request) (*staging.Staged, error) {
	tb.Helper()
	if req.Dir == "" {
		req.Dir = tb.TempDir()
	}
	staged, err := ingest.Stage(tb.Context(), strings.NewReader(body), req)
	if err != nil {
		require.Nil(tb, staged)
		requireEmpty(tb, req.Dir)
	}
	return staged, err
}

func requireEmpty(tb testing.TB, dir string) {
	tb.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(tb, err)
	require.Empty(tb, left)
}

// mustRead stages a body and returns its rows as Go values.
func mustRead(tb testing.TB, body string, req ingest.Request) [][]any {
	tb.Helper()
	req.Dir = tb.TempDir()
	staged, err := stage(tb, body, req)
	require.NoError(tb, err)
	rows := readFile(tb, filepath.Join(req.Dir, staged.File))
	require.EqualValues(tb, staged.Rows, len(rows))
	return rows
}

// readFile reads a staged file with the library that did not decode the body.
func readFile(tb testing.TB, path string) [][]any {
	tb.Helper()
	f, err := file.OpenParquetFile(path, false)
	require.NoError(tb, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1 << 16}, memory.DefaultAllocator)
	require.NoError(tb, err)
	table, err := r.ReadTable(tb.Context())
	require.NoError(tb, err)
	defer table.Release()
	rows := make([][]any, table.NumRows())
	for c := range int(table.NumCols()) {
		n := 0
		for _, chunk := range table.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				rows[n] = append(rows[n], goValue(chunk, i))
				n++
			}
		}
	}
	return rows
}

// pair is an entry of a map.
type pair struct{ Key, Value any }

// goValue is a value of an array: integers and times are int64, decimals text,
// binary is []byte, lists and structs are []any, maps []pair.
func goValue(values arrow.Array, i int) any {
	if values.IsNull(i) {
		return nil
	}
	switch v := values.(type) {
	case *array.Boolean:
		return v.Value(i)
	case *array.Int8:
		return int64(v.Value(i))
	case *array.Int16:
		return int64(v.Value(i))
	case *array.Int32:
		return int64(v.Value(i))
	case *array.Int64:
		return v.Value(i)
	case *array.Float32:
		return float64(v.Value(i))
	case *array.Float64:
		return v.Value(i)
	case *array.Decimal128:
		return decimalText(v.Value(i).BigInt(), int(v.DataType().(arrow.DecimalType).GetScale()))
	case *array.String:
		return v.Value(i)
	case *array.Binary:
		return append([]byte{}, v.Value(i)...)
	case *array.Date32:
		return int64(v.Value(i))
	case *array.Timestamp:
		return int64(v.Value(i))
	case *array.Map:
		out := []pair{}
		start, end := v.ValueOffsets(i)
		for at := int(start); at < int(end); at++ {
			out = append(out, pair{goValue(v.Keys(), at), goValue(v.Items(), at)})
		}
		return out
	case *array.List:
		out := []any{}
		start, end := v.ValueOffsets(i)
		for at := int(start); at < int(end); at++ {
			out = append(out, goValue(v.ListValues(), at))
		}
		return out
	case *array.Struct:
		out := []any{}
		for f := range v.NumField() {
			out = append(out, goValue(v.Field(f), i))
		}
		return out
	}
	panic("no Go value for " + values.DataType().String())
}

// problems are the fields and messages of a RowsError.
func problems(tb testing.TB, err error) []string {
	tb.Helper()
	var rows *staging.RowsError
	require.ErrorAs(tb, err, &rows)
	var out []string
	for field, message := range rows.FieldProblems() {
		out = append(out, field+": "+message)
	}
	require.GreaterOrEqual(tb, rows.Total, int64(len(out)))
	return out
}
