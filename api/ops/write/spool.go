package write

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// spoolResult writes positions of rows and values as Parquet, under the names of
// [dml.Changes].
func spoolResult(ctx context.Context, result engine.Result, path string, values int) (rows int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	fields := make([]arrow.Field, 0, values+2)
	for i, f := range result.Schema().Fields() {
		switch i {
		case 0:
			f.Name = dml.ChangeFile
		case 1:
			f.Name = dml.ChangeRow
		default:
			f.Name = dml.ChangeValue(i - 2)
		}
		fields = append(fields, f)
	}
	schema := arrow.NewSchema(fields, nil)
	out, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{file},
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithStats(false)), pqarrow.DefaultWriterProps())
	if err != nil {
		return 0, err
	}
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, out.Close()
		}
		if err != nil {
			return 0, err
		}
		renamed := array.NewRecordBatch(schema, batch.Columns(), batch.NumRows())
		err = out.Write(renamed)
		rows += batch.NumRows()
		renamed.Release()
		batch.Release()
		if err != nil {
			return 0, err
		}
	}
}
