package engine

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Row is one row of a batch. It is valid only as long as the batch.
type Row struct {
	Batch arrow.RecordBatch
	Index int
}

// Int64 returns a BIGINT. It is 0 for NULL and for a column of another type.
func (r Row) Int64(column int) int64 {
	if values, ok := r.Batch.Column(column).(*array.Int64); ok && values.IsValid(r.Index) {
		return values.Value(r.Index)
	}
	return 0
}

// Float64 returns a DOUBLE. It is 0 for NULL and for a column of another type.
func (r Row) Float64(column int) float64 {
	if values, ok := r.Batch.Column(column).(*array.Float64); ok && values.IsValid(r.Index) {
		return values.Value(r.Index)
	}
	return 0
}

// Null reports whether a value is NULL.
func (r Row) Null(column int) bool { return r.Batch.Column(column).IsNull(r.Index) }

// Text returns a copy of a VARCHAR. It is "" for NULL and for a column of another type.
func (r Row) Text(column int) string {
	if values, ok := r.Batch.Column(column).(*array.String); ok && values.IsValid(r.Index) {
		return strings.Clone(values.Value(r.Index))
	}
	return ""
}

// Bytes returns a copy of a VARCHAR. It is nil for NULL and for a column of another type.
func (r Row) Bytes(column int) []byte {
	if values, ok := r.Batch.Column(column).(*array.String); ok && values.IsValid(r.Index) {
		return []byte(values.Value(r.Index))
	}
	return nil
}

// EachBatch calls take with each remaining batch of result. take must not retain the batch.
// EachBatch closes result, also after an error. It returns the first error of result or of take.
func EachBatch(ctx context.Context, result Result, take func(arrow.RecordBatch) error) (err error) {
	defer func() {
		if closing := result.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = take(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// Collect returns read's results for the remaining rows of result, which must be small, and closes
// it. read must not retain a row. Errors are those of [EachBatch].
func Collect[T any](ctx context.Context, result Result, read func(Row) (T, error)) ([]T, error) {
	var values []T
	err := EachBatch(ctx, result, func(batch arrow.RecordBatch) error {
		for row := range int(batch.NumRows()) {
			value, err := read(Row{batch, row})
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		return nil
	})
	return values, err
}
