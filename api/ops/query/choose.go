package query

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqltype"
	"github.com/lakewarden/lakewarden/sessions"
)

// Choice is a condition of a caller over rows that the server has.
type Choice struct {
	// Field is the field of the request that holds the condition.
	Field, Where string
	// From is the name of the rows in the statement.
	From    string
	Columns []engine.Column
	Rows    [][]any
}

// Choose calls visit with the index of each row that fulfils a condition. The condition can
// read nothing but the rows.
func (p *Plans) Choose(ctx context.Context, pool *sessions.Pool, key sessions.Key, choice Choice, visit func(row int)) error {
	read, err := p.expression(ctx, grammar.Limits{}, choice.Field, choice.Where)
	if err != nil {
		return err
	}
	if !read.IsCondition() {
		if err := p.checkBoolean(ctx, pool, key, choice); err != nil {
			return err
		}
	}
	number := engine.Column{Name: "row " + uuid.NewString(), Type: sqltype.BigInt}
	columns, rows := append([]engine.Column{number}, choice.Columns...), make([][]any, len(choice.Rows))
	for i, row := range choice.Rows {
		rows[i] = append([]any{int64(i)}, row...)
	}
	var c Composer
	c.Own("SELECT " + engine.QuoteIdent(number.Name) + " FROM " + choice.From + "\n")
	c.Text(choice.Field, "WHERE (", choice.Where, ")")
	return p.eachBatch(ctx, pool, key, choice.Field, c, columns, sqlguard.NewInlineRows(columns, rows), func(batch arrow.RecordBatch) {
		numbers, ok := batch.Column(0).(*array.Int64)
		for i := range int(batch.NumRows()) {
			if ok && numbers.IsValid(i) && numbers.Value(i) >= 0 && numbers.Value(i) < int64(len(rows)) {
				visit(int(numbers.Value(i)))
			}
		}
	})
}

// checkBoolean refuses a condition that is not BOOLEAN.
func (p *Plans) checkBoolean(ctx context.Context, pool *sessions.Pool, key sessions.Key, choice Choice) error {
	var kind string
	c := typeQuestion(choice.Where, "FROM "+choice.From)
	err := p.eachBatch(ctx, pool, key, choice.Field, c, choice.Columns, sqlguard.NoValues(choice.Columns), func(batch arrow.RecordBatch) {
		if texts, ok := batch.Column(0).(*array.String); ok && texts.Len() == 1 {
			kind = strings.Clone(texts.Value(0))
		}
	})
	if err != nil {
		return err
	}
	return mustBeBoolean(kind)
}

// eachBatch runs a statement over the rows alone.
func (p *Plans) eachBatch(
	ctx context.Context, pool *sessions.Pool, key sessions.Key, field string, c Composer, columns []engine.Column, rows *sqlguard.InlineRows,
	visit func(arrow.RecordBatch),
) error {
	query, err := sqlguard.Parse(ctx, p.parser, c.sql.String(), sqlguard.Options{})
	switch {
	case err != nil:
		return c.pieces.blame(err)
	case len(query.Tables()) != 1 || query.Nondeterministic():
		return fault.Invalid(field, "must be a condition over partition columns")
	}
	plan, err := query.Bind(ctx, p.parser, []sqlguard.Relation{{Columns: columns, Inline: rows}})
	if err != nil {
		return c.pieces.blame(err)
	}
	held, err := pool.Acquire(ctx, key)
	if err != nil {
		return err
	}
	defer held.Release()
	result, err := held.Query(ctx, engine.Statement{SQL: plan.SQL, Sources: plan.Sources, Barriers: plan.Barriers, Lease: held.Lease})
	if err != nil {
		return unusable(field, err)
	}
	return unusable(field, engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error { visit(batch); return nil }))
}

// unusable returns the error of an invalid condition for an error of the engine that the
// condition caused.
func unusable(field string, err error) error {
	var e *engine.Error
	if isDefect(err) { // no hidden row causes it: the caller sees all of the rows
		return engineCannot(field)
	}
	if errors.As(err, &e) && (e.Kind == engine.KindBind || e.Kind == engine.KindRuntime) {
		return fault.Invalid(field, "is no condition over the partition columns, or fails on one of their values")
	}
	return err
}
