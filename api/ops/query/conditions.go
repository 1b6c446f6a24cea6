package query

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/sessions"
)

// expression parses a text that must be one expression over one row, with and without
// brackets around it. No quotes or comments in such a text can change a statement that it
// is inserted into.
func (p *Plans) expression(ctx context.Context, limits grammar.Limits, field, text string) (*sqlguard.Query, error) {
	var read *sqlguard.Query
	for _, form := range [][2]string{{"SELECT", ""}, {"SELECT (", ")"}} {
		var c Composer
		c.Text(field, form[0], text, form[1])
		query, err := sqlguard.Parse(ctx, p.parser, c.sql.String(), sqlguard.Options{Limits: limits})
		if err == nil {
			err = query.RowByRow()
		}
		if err != nil {
			return nil, notAnExpression(c.pieces, err)
		}
		read = query
	}
	if p := read.Parameters(); p.Positional > 0 || len(p.Named) > 0 {
		return nil, fault.Invalid(field, "must not hold parameters")
	}
	return read, nil
}

// notAnExpression returns the error for a text that is not an expression. A text that does not
// parse may be anything, so the parser's place would mislead.
func notAnExpression(p pieces, err error) error {
	var refused *refusal.Error
	if !errors.As(err, &refused) {
		return err
	}
	field, at := p.at(refusal.Position{Line: refused.Line, Column: refused.Column})
	if refused.Code == refusal.CodeSyntax || refused.Code == refusal.CodeStatement {
		return fault.Invalid(field, "must be one SQL expression that is served")
	}
	placed := &fault.StatementError{Line: at.Line, Column: at.Column, Message: refused.Message, Near: refused.Near}
	return fault.Invalid(field, "%s", placed.Error())
}

// rowsAsked is the table of a condition.
type rowsAsked struct {
	key     sessions.Key
	options sqlguard.Options
	// from is the clause that names the table.
	from string
	// repeats is [Condition.Repeats].
	repeats bool
	// relations resolves the tables of a statement over it.
	relations func(context.Context, *sqlguard.Query) ([]sqlguard.Relation, error)
	// names returns the names that a message may suggest.
	names func(*sqlguard.Query, []sqlguard.Relation) visibleNames
}

// condition refuses a text that is not an expression of type BOOLEAN: WHERE accepts any value
// that casts to BOOLEAN, so a number would mean all rows where it is not zero. If the form of
// the expression does not tell its type, the engine binds it, without rows.
func (o *Service) condition(ctx context.Context, where string, about rowsAsked) error {
	read, err := o.Plans.expression(ctx, o.Limits.Guard, "where", where)
	switch {
	case err != nil:
		return err
	case about.repeats && read.Nondeterministic():
		return fault.Invalid("where", "must select the same rows at any time: give values instead of the current time and random ones")
	case read.IsCondition():
		return nil
	}
	c := typeQuestion(where, about.from)
	name, err := o.typeOf(ctx, c.sql.String(), about)
	if err != nil {
		return c.pieces.blame(err)
	}
	return mustBeBoolean(name)
}

// Condition is a condition of a caller over one table.
type Condition struct {
	Where string
	// From is the clause that names the table. Schema completes names without a schema.
	From, Schema string
	// MaxStaleness is as in [Statement].
	MaxStaleness *time.Duration
	// Repeats reports that several statements hold the condition, which must select the same
	// rows in all of them.
	Repeats bool
}

// CheckCondition refuses what is not a condition, under the policies of the caller.
func (o *Service) CheckCondition(ctx context.Context, a caller.Identity, c Condition) error {
	v, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return err
	}
	roots, err := o.Tables.VisibleRoots(ctx, a, v)
	if err != nil {
		return err
	}
	run := &Rows{}
	ctx = o.watch(ctx, a, run)
	defer run.work.Done()
	err = o.condition(ctx, c.Where, rowsAsked{
		key: roots.SessionKey(a), from: c.From, repeats: c.Repeats, options: o.guardOptions(a, c.Schema), names: namesOf,
		relations: func(ctx context.Context, statement *sqlguard.Query) ([]sqlguard.Relation, error) {
			relations, err := o.read(ctx, a, v, statement.Tables(), c.Schema, c.MaxStaleness, run)
			run.work.SetCheck(o.Tables.CheckBasis(a, run.basis))
			return relations, err
		},
	})
	return revocation.EndedBy(ctx, err)
}

// typeQuestion returns the statement that returns the type of a condition.
func typeQuestion(where, from string) Composer {
	var c Composer
	c.Text("where", "SELECT typeof((", where, "))")
	c.Own("\n" + from)
	return c
}

func mustBeBoolean(name string) error {
	if name == "BOOLEAN" || name == nullType {
		return nil
	}
	return fault.Invalid("where", "must be a condition; this is %s", name)
}

// nullType is the engine's name for the type of a bare NULL, which selects no row.
const nullType = `"NULL"`

// typeOf runs a statement that returns the name of a type.
func (o *Service) typeOf(ctx context.Context, sql string, about rowsAsked) (name string, err error) {
	statement, err := sqlguard.Parse(ctx, o.Plans.parser, sql, about.options)
	if err != nil {
		return "", err
	}
	relations, err := about.relations(ctx, statement)
	if err != nil {
		return "", err
	}
	p := &prepared{statement: statement, parser: o.Plans.parser, names: about.names(statement, relations)}
	if p.plan, err = bindTypes(ctx, o.Plans.parser, statement, relations); err != nil {
		return "", err
	}
	p.copies = func() (*sqlguard.Plan, error) { return p.plan, nil } // it reads no rows
	err = o.runOnce(ctx, about.key, p, o.Limits.DefaultTimeout, func(result engine.Result) (err error) {
		name, err = onlyText(ctx, result)
		return err
	})
	return name, err
}

// bindTypes plans a statement over a row of NULLs in the place of every table.
func bindTypes(
	ctx context.Context, parser engine.Parser, statement *sqlguard.Query, relations []sqlguard.Relation,
) (*sqlguard.Plan, error) {
	empty := make([]sqlguard.Relation, len(relations))
	for i, r := range relations {
		empty[i] = sqlguard.Relation{Columns: r.Columns, Inline: sqlguard.NoValues(r.Columns)}
	}
	return statement.Bind(ctx, parser, empty)
}

// onlyText returns the value of a result with one text.
func onlyText(ctx context.Context, result engine.Result) (string, error) {
	texts, err := engine.Collect(ctx, result, func(r engine.Row) (string, error) { return r.Text(0), nil })
	if err == nil && len(texts) != 1 {
		err = io.ErrUnexpectedEOF
	}
	return strings.Join(texts, ""), err
}
