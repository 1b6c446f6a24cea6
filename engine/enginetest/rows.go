package enginetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Rows runs st and returns every row as text, with its values separated by "|".
func Rows(tb testing.TB, s engine.Session, st engine.Statement) []string {
	tb.Helper()
	rows, err := TryRows(context.Background(), s, st)
	require.NoError(tb, withText(err))
	return rows
}

// TryRows is Rows for statements that may fail.
func TryRows(ctx context.Context, s engine.Session, st engine.Statement) ([]string, error) {
	r, err := s.Query(ctx, st)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rows []string
	for {
		batch, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, texts(batch)...)
		batch.Release()
	}
}

func texts(batch arrow.RecordBatch) []string {
	rows := make([]string, batch.NumRows())
	for i := range rows {
		values := make([]string, batch.NumCols())
		for j := range values {
			values[j] = strings.Clone(batch.Column(j).ValueStr(i))
		}
		rows[i] = strings.Join(values, "|")
	}
	return rows
}

// count drains r. It returns the number of rows and the error that ended it, which
// is io.EOF for a complete result.
func count(ctx context.Context, r engine.Result) (int64, error) {
	var n int64
	for {
		batch, err := r.Next(ctx)
		if err != nil {
			return n, err
		}
		n += batch.NumRows()
		batch.Release()
	}
}

// withText adds the engine's own text, which [engine.Error] does not print.
func withText(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return errors.New(e.Error() + ": " + e.Text)
	}
	return err
}

func failure(tb testing.TB, err error) *engine.Error {
	tb.Helper()
	var e *engine.Error
	require.ErrorAs(tb, err, &e)
	return e
}
