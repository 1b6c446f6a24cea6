package maintenance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// withoutDeleted reads a bin without the rows that deletion vectors mark. Their
// positions are staged as a file because there can be millions.
func (r *rewriter) withoutDeleted(ctx context.Context, b bin, at engine.PositionColumns, in input) (input, error) {
	name := "deleted-" + uuid.NewString() + ".parquet"
	hidden, err := r.stageDeleted(ctx, b, filepath.Join(r.opts.Scratch, name))
	if err != nil {
		return in, err
	}
	if in.rows >= 0 {
		in.rows -= hidden
	}
	deleted := engine.Source{
		Location: r.opts.Scratch, Identity: "staged:" + uuid.NewString(),
		Files: engine.NewFileList([]engine.Column{{Name: "file", Type: sqltype.UInteger}, {Name: "row", Type: sqltype.BigInt}}, true,
			[]engine.FileGroup{{Paths: []string{name}}}),
	}
	in.sources = append(in.sources, deleted)
	in.from = fmt.Sprintf("(SELECT t.* FROM %s AS t ANTI JOIN %s AS gone ON t.%s = gone.file AND t.%s = gone.row)",
		in.from, deleted.Relation(), engine.QuoteIdent(at.File), engine.QuoteIdent(at.Row))
	return in, nil
}

// stagedBatch is the number of positions that are written at a time.
const stagedBatch = 64 << 10

// stageDeleted writes the positions of a bin's deleted rows to a file, and returns
// their number.
func (r *rewriter) stageDeleted(ctx context.Context, b bin, path string) (count int64, err error) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "file", Type: arrow.PrimitiveTypes.Uint32}, {Name: "row", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // in the scratch directory
	if err != nil {
		return 0, fmt.Errorf("stage deleted rows: %w", err)
	}
	w, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		_ = file.Close()
		return 0, fmt.Errorf("stage deleted rows: %w", err)
	}
	count, err = r.writeDeleted(ctx, b, w, schema)
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, fmt.Errorf("stage deleted rows: %w", err)
	}
	return count, nil
}

func (r *rewriter) writeDeleted(ctx context.Context, b bin, w *pqarrow.FileWriter, schema *arrow.Schema) (count int64, err error) {
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rows.Release()
	flush := func() error {
		batch := rows.NewRecordBatch()
		defer batch.Release()
		return w.Write(batch)
	}
	for i, f := range b.files {
		deleted, err := r.snap.DeletedRows(ctx, f)
		if err != nil {
			return 0, err
		}
		for row := range deleted.All() {
			rows.Field(0).(*array.Uint32Builder).Append(uint32(i)) //nolint:gosec // the number of a file in a bin
			rows.Field(1).(*array.Int64Builder).Append(row)
			if count++; count%stagedBatch == 0 {
				if err := flush(); err != nil {
					return 0, err
				}
			}
		}
	}
	return count, flush()
}
