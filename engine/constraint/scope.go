package constraint

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// Querier runs statements; a session is one.
type Querier interface {
	Query(ctx context.Context, st engine.Statement) (engine.Result, error)
}

// Scope is where rules are asked: an unfiltered session of ours, the sources that
// relations name, and what a statement may use. It is as concurrent as its
// session.
type Scope struct {
	Session Querier
	Sources []engine.Source
	Lease   engine.Lease
}

// Relation is something with rows that SQL can read.
type Relation struct {
	// From stands after FROM: [engine.Source.Relation], or a subquery in
	// parentheses.
	From string
	// Row is the name of a column with the number of the row, for relations whose
	// rows are told apart.
	Row string
}

// Alias is the name of a relation whose rows are judged, in SQL of this package.
const Alias = "r"

func (r Relation) as(alias string) string { return r.From + " AS " + engine.QuoteIdent(alias) }

func (r Relation) row(alias string) string {
	return engine.QuoteIdent(alias) + "." + engine.QuoteIdent(r.Row)
}

// query runs a SELECT whose columns all are BIGINT, VARCHAR or BOOLEAN, and gives
// each row to take.
func (s Scope) query(ctx context.Context, sql string, take func(cells []cell)) error {
	result, err := s.Session.Query(ctx, engine.Statement{SQL: sql, Sources: s.Sources, Lease: s.Lease})
	if err != nil {
		return err
	}
	return engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error { return eachRow(batch, take) })
}

// cell is one value; null has neither.
type cell struct {
	null   bool
	number int64
	text   string
}

func eachRow(batch arrow.RecordBatch, take func([]cell)) error {
	cells := make([]cell, batch.NumCols())
	for row := range int(batch.NumRows()) {
		for i, column := range batch.Columns() {
			c, err := cellOf(column, row)
			if err != nil {
				return err
			}
			cells[i] = c
		}
		take(cells)
	}
	return nil
}

func cellOf(column arrow.Array, row int) (cell, error) {
	if column.IsNull(row) {
		return cell{null: true}, nil
	}
	switch values := column.(type) {
	case *array.Int64:
		return cell{number: values.Value(row)}, nil
	case *array.String:
		return cell{text: string([]byte(values.Value(row)))}, nil // the batch goes
	}
	return cell{}, fmt.Errorf("a rule's answer has type %s", column.DataType())
}

func itoa(n int) string { return strconv.Itoa(n) }
