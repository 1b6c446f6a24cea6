package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// batchRows bounds the rows that are decoded at a time.
const batchRows = 4096

// Read yields the actions of one Parquet file: a classic checkpoint, a part of
// a multipart one, a V2 checkpoint or a sidecar. An error of emit ends the
// reading and is returned. Other errors: [ErrCorrupt], [action.ErrMalformed].
func Read(ctx context.Context, r parquet.ReaderAtSeeker, emit func(action.Action) error) (err error) {
	// The Parquet library answers some damaged files with a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	pf, err := file.NewParquetReader(r)
	if err != nil {
		return corrupt(err)
	}
	defer func() { _ = pf.Close() }()
	// One goroutine: a panic in another one could not be caught here.
	props := pqarrow.ArrowReadProperties{Parallel: false, BatchSize: batchRows}
	fr, err := pqarrow.NewFileReader(pf, props, memory.DefaultAllocator)
	if err != nil {
		return corrupt(err)
	}
	leaves := wanted(pf)
	if len(leaves) == 0 || pf.NumRows() == 0 {
		return nil
	}
	rr, err := fr.GetRecordReader(ctx, leaves, nil)
	if err != nil {
		return corrupt(err)
	}
	defer rr.Release()
	rows := int64(0)
	for rr.Next() {
		rec := rr.RecordBatch()
		rows += rec.NumRows()
		if err := decodeBatch(rec, emit); err != nil {
			return err
		}
	}
	if err := rr.Err(); err != nil {
		return corrupt(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if rows != pf.NumRows() {
		return fmt.Errorf("%d of %d rows: %w", rows, pf.NumRows(), ErrCorrupt)
	}
	return nil
}

func corrupt(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// wanted selects the leaf columns below the actions that we know. Partition
// values in parsed form repeat what the text form says.
func wanted(pf *file.Reader) []int {
	schema := pf.MetaData().Schema
	var leaves []int
	for i := range schema.NumColumns() {
		path := schema.Column(i).ColumnPath()
		if _, ok := decoders[path[0]]; !ok {
			continue
		}
		if len(path) > 1 && path[1] == "partitionValues_parsed" {
			continue
		}
		leaves = append(leaves, i)
	}
	return leaves
}

func decodeBatch(rec arrow.RecordBatch, emit func(action.Action) error) error {
	type column struct {
		fields row
		decode func(row, int) (action.Action, error)
	}
	var columns []column
	for i, f := range rec.Schema().Fields() {
		decode := decoders[f.Name]
		fields, err := newRow(f.Name, rec.Column(i))
		if err != nil {
			return err
		}
		columns = append(columns, column{fields, decode})
	}
	for i := range int(rec.NumRows()) {
		found := false
		for _, c := range columns {
			if c.fields.self.IsNull(i) {
				continue
			}
			if found {
				return fmt.Errorf("two actions in one row: %w", ErrCorrupt)
			}
			found = true
			a, err := c.decode(c.fields, i)
			if err != nil {
				return err
			}
			if err := action.Validate(a); err != nil {
				return err
			}
			if err := emit(a); err != nil {
				return err
			}
		}
	}
	return nil
}
