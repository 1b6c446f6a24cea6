package ops

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// showTables answers SHOW TABLES from the catalog: what the caller sees and
// nothing else. The engine is not asked.
func (o *Queries) showTables(ctx context.Context, a Actor, statement *sqlguard.Query, schema string, run *Rows) error {
	inCatalog, from := statement.ShowSchema()
	if inCatalog != "" && catalog.FoldName(inCatalog) != catalog.CatalogName {
		return &StatementError{Code: "table_not_found", Message: "there is no catalog " + quoted(inCatalog)}
	}
	if from != "" {
		schema = from
	}
	var filter catalog.TableFilter
	if schema != "" && statement.Kind() == sqlguard.KindShowTables {
		config, err := o.Store.StorageConfigBySchema(ctx, a.Viewer, schema)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return &StatementError{Code: "table_not_found", Message: "there is no schema " + quoted(schema)}
		case errors.Is(err, catalog.ErrAmbiguous):
			return &StatementError{Code: "ambiguous_name", Message: "schema " + quoted(schema) + " is ambiguous: use its cfg_<id> form"}
		case err != nil:
			return err
		}
		filter.Config = config.ID
	}
	names := newNameTable("table_catalog", "table_schema", "name")
	err := eachItem(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(ctx, a.Viewer, filter, page)
	}, func(t catalog.LocatedTable) error {
		names.add(catalog.CatalogName, t.StorageConfig.Schema(), t.Name)
		return nil
	})
	if err != nil {
		return err
	}
	run.Result, run.ctx = names.result(), ctx
	return nil
}

// nameTable is a small result of text columns made in memory.
type nameTable struct {
	columns []engine.Column
	schema  *arrow.Schema
	rows    *array.RecordBuilder
}

func newNameTable(columns ...string) *nameTable {
	t := &nameTable{}
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
		t.columns = append(t.columns, engine.Column{Name: name, Type: "VARCHAR"})
	}
	t.schema = arrow.NewSchema(fields, nil)
	t.rows = array.NewRecordBuilder(memory.DefaultAllocator, t.schema)
	return t
}

func (t *nameTable) add(values ...string) {
	for i, v := range values {
		t.rows.Field(i).(*array.StringBuilder).Append(v)
	}
}

func (t *nameTable) result() engine.Result {
	defer t.rows.Release()
	return &oneBatch{table: t, batch: t.rows.NewRecordBatch()}
}

type oneBatch struct {
	table *nameTable
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
