package query

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// textTable is a small result of text columns made in memory.
type textTable struct {
	columns []engine.Column
	schema  *arrow.Schema
	rows    *array.RecordBuilder
}

func newTextTable(columns ...string) *textTable {
	t := &textTable{}
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
		t.columns = append(t.columns, engine.Column{Name: name, Type: sqltype.Varchar})
	}
	t.schema = arrow.NewSchema(fields, nil)
	t.rows = array.NewRecordBuilder(memory.DefaultAllocator, t.schema)
	return t
}

func (t *textTable) add(values ...string) {
	for i, v := range values {
		t.rows.Field(i).(*array.StringBuilder).Append(v)
	}
}

func (t *textTable) result() engine.Result {
	defer t.rows.Release()
	return &oneBatch{table: t, batch: t.rows.NewRecordBatch()}
}

type oneBatch struct {
	table *textTable
	batch arrow.RecordBatch // nil once it was handed out
}

func (r *oneBatch) Schema() *arrow.Schema    { return r.table.schema }
func (r *oneBatch) Columns() []engine.Column { return r.table.columns }

func (r *oneBatch) Next(context.Context) (arrow.RecordBatch, error) {
	if r.batch == nil {
		return nil, io.EOF
	}
	batch := r.batch
	r.batch = nil
	return batch, nil
}

func (r *oneBatch) Close() error {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
	return nil
}
