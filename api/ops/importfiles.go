package ops

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// ImportedTable describes a table that is to be made from Parquet files.
type ImportedTable struct {
	// Schema are the table's columns; the files have columns of these names.
	Schema      delta.Struct
	PartitionBy []string
	Description string
	// Files are Parquet files, by absolute path.
	Files []string
	// Dir is the table's folder, absolute; Bucket is the same folder.
	Dir    string
	Bucket objstore.Bucket
}

// importFolder is where data files are written below a table's folder. The name
// has no meaning; values of partition columns never become paths.
const importFolder = "data"

// ImportFiles makes a Delta table: its log first, so that a second import into
// the folder loses, then the data files, then one commit that adds them. A
// failure before that commit leaves an empty table and files nobody reads.
func ImportFiles(ctx context.Context, writer engine.FileWriter, t ImportedTable, opts delta.Options) (*delta.Snapshot, error) {
	snap, err := delta.Create(ctx, t.Bucket, delta.CreateOptions{
		Schema: t.Schema, PartitionColumns: t.PartitionBy, Description: t.Description, Options: opts,
	})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(t.Dir, importFolder), 0o750); err != nil {
		return nil, err
	}
	files, err := writer.WriteFiles(ctx, engine.WriteRequest{
		SQL: importSQL(t.Schema), ReadFiles: t.Files, Dir: filepath.Join(t.Dir, importFolder), PartitionBy: t.PartitionBy,
	})
	if err != nil {
		return nil, err
	}
	txn := snap.Begin(delta.Operation{Name: "WRITE", Parameters: map[string]string{"mode": action.JSONText("Append")}})
	for _, f := range files {
		add, err := addFile(ctx, snap, t.Bucket, f)
		if err != nil {
			return nil, err
		}
		if err := txn.Add(add); err != nil {
			return nil, err
		}
	}
	return txn.Commit(ctx)
}

// importSQL casts every column to the table's type, so that the files hold what
// the schema says.
func importSQL(schema delta.Struct) string {
	items := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		name := engine.QuoteIdent(f.Name)
		items[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", name, delta.DuckDBType(f.Type), name)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM input"
}

// addFile turns what the engine says of a file into what the log says of it.
func addFile(ctx context.Context, snap *delta.Snapshot, bucket objstore.Bucket, f engine.DataFile) (delta.AddFile, error) {
	name := path.Join(importFolder, f.Name)
	object, err := bucket.Stat(ctx, name)
	if err != nil {
		return delta.AddFile{}, err
	}
	columns := make([]delta.ColumnStats, len(f.Columns))
	for i, c := range f.Columns {
		columns[i] = delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: c.NullCount, HasNaN: c.HasNaN}
	}
	stats, err := snap.EncodeStats(f.Rows, columns)
	if err != nil {
		return delta.AddFile{}, err
	}
	values := make(map[string]*string, len(f.Partition))
	for column, text := range f.Partition {
		field, ok := snap.Schema().Field(column)
		if !ok {
			return delta.AddFile{}, fmt.Errorf("partition column %q: %w", column, delta.ErrInvalidSchema)
		}
		if values[column], err = delta.PartitionValue(field.Type, text); err != nil {
			return delta.AddFile{}, err
		}
	}
	return delta.AddFile{Name: name, PartitionValues: values, Size: object.Size, ModTime: time.Now(), Stats: stats}, nil
}
