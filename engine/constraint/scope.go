package constraint

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// Querier runs statements; sessions implement it.
type Querier interface {
	Query(ctx context.Context, st engine.Statement) (engine.Result, error)
}

// Scope is where rules are evaluated: an unfiltered service session, the sources that relations
// refer to, and the resources of a statement. It is safe for concurrent use if its session is.
type Scope struct {
	Session Querier
	Sources []engine.Source
	Lease   engine.Lease
}

// Relation is a set of rows that SQL can read.
type Relation struct {
	// From is the text after FROM: [engine.Source.Relation], or a subquery in parentheses.
	From string
	// Row is the name of a column with the row number, for relations whose rows are identified.
	Row string
}

// Alias is the name of the checked relation in this package's SQL.
const Alias = "r"

func (r Relation) as(alias string) string { return r.From + " AS " + engine.QuoteIdent(alias) }

func (r Relation) row(alias string) string {
	return engine.QuoteIdent(alias) + "." + engine.QuoteIdent(r.Row)
}

// query runs a SELECT whose columns are BIGINT, VARCHAR or BOOLEAN, and calls take with each row.
func (s Scope) query(ctx context.Context, sql string, take func(scalars []scalar)) error {
	result, err := s.Session.Query(ctx, engine.Statement{SQL: sql, Sources: s.Sources, Lease: s.Lease})
	if err != nil {
		return err
	}
	return engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error { return eachRow(batch, take) })
}

// scalar is one value. If null is set, number and text are not used.
type scalar struct {
	null   bool
	number int64
	text   string
}

func eachRow(batch arrow.RecordBatch, take func([]scalar)) error {
	scalars := make([]scalar, batch.NumCols())
	for row := range int(batch.NumRows()) {
		for i, column := range batch.Columns() {
			c, err := scalarOf(column, row)
			if err != nil {
				return err
			}
			scalars[i] = c
		}
		take(scalars)
	}
	return nil
}

func scalarOf(column arrow.Array, row int) (scalar, error) {
	if column.IsNull(row) {
		return scalar{null: true}, nil
	}
	switch values := column.(type) {
	case *array.Int64:
		return scalar{number: values.Value(row)}, nil
	case *array.String:
		return scalar{text: string([]byte(values.Value(row)))}, nil // a copy: the batch is released
	}
	return scalar{}, fmt.Errorf("unexpected type %s in the result of a rule", column.DataType())
}

func itoa(n int) string { return strconv.Itoa(n) }
