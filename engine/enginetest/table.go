package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Table is a Delta table under test with the columns id BIGINT and name VARCHAR.
// The name of row i is "n" followed by i modulo 7. Version n is the result of n
// appends.
type Table struct {
	// Dir is the table's root.
	Dir string
	// Version is the latest version.
	Version int64

	files []string
}

const tableID = "5f1c5a30-7d0e-4a7e-9f5b-2b7c1d8e9a01"

// NewTable creates an empty table, version 0, in a new directory below root.
func NewTable(tb testing.TB, root, name string) *Table {
	tb.Helper()
	t := &Table{Dir: filepath.Join(root, name), Version: -1}
	require.NoError(tb, os.MkdirAll(filepath.Join(t.Dir, "_delta_log"), 0o755))
	t.Commit(tb,
		map[string]any{"protocol": map[string]any{"minReaderVersion": 1, "minWriterVersion": 2}},
		MetaData(`{"type":"struct","fields":[`+
			`{"name":"id","type":"long","nullable":true,"metadata":{}},`+
			`{"name":"name","type":"string","nullable":true,"metadata":{}}]}`))
	return t
}

// MetaData returns the action that sets the schema of a table.
func MetaData(schema string) map[string]any {
	return map[string]any{"metaData": map[string]any{
		"id":               tableID,
		"format":           map[string]any{"provider": "parquet", "options": map[string]any{}},
		"schemaString":     schema,
		"partitionColumns": []string{},
		"configuration":    map[string]any{},
		"createdTime":      1700000000000,
	}}
}

// Append commits the rows with the ids from up to, but not including, to.
func (t *Table) Append(tb testing.TB, from, to int64) {
	tb.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := from; i < to; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.StringBuilder).Append(Name(i))
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var file bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &file, nil, pqarrow.DefaultWriterProps())
	require.NoError(tb, err)
	require.NoError(tb, w.Write(batch))
	require.NoError(tb, w.Close())
	t.AddFile(tb, file.Bytes())
}

// Name returns the name of row i.
func Name(i int64) string { return "n" + strconv.FormatInt(i%7, 10) }

// AddFile commits one data file with the given Parquet content.
func (t *Table) AddFile(tb testing.TB, content []byte) {
	tb.Helper()
	name := fmt.Sprintf("part-%05d.parquet", t.Version+1)
	require.NoError(tb, os.WriteFile(filepath.Join(t.Dir, name), content, 0o644))
	t.files = append(t.files, name)
	t.Commit(tb, map[string]any{"add": map[string]any{
		"path": name, "partitionValues": map[string]any{}, "size": len(content),
		"modificationTime": 1700000000000, "dataChange": true,
	}})
}

// Commit writes the next version's log file.
func (t *Table) Commit(tb testing.TB, actions ...map[string]any) {
	tb.Helper()
	t.Version++
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, a := range actions {
		require.NoError(tb, enc.Encode(a))
	}
	name := fmt.Sprintf("%020d.json", t.Version)
	require.NoError(tb, os.WriteFile(filepath.Join(t.Dir, "_delta_log", name), out.Bytes(), 0o644))
}

// At returns the table at a version.
func (t *Table) At(version int64) engine.Source {
	return engine.Source{Location: t.Dir, Version: version, Identity: tableID}
}

// Latest returns the table at its latest version.
func (t *Table) Latest() engine.Source { return t.At(t.Version) }
