package sqlfilter

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// sqlTerms converts tests of columns against constants to SQL. Tests of the user were evaluated
// before, so any that remain are failures.
type sqlTerms struct {
	columns []engine.Column
	alias   string
	// readAs is [Request.ReadAs].
	readAs map[string]string
	// uncertain is [Policy.Uncertain].
	uncertain func(column string) bool
	// reading is [Policy.Reading].
	reading policy.Reading
}

var _ terms = (*sqlTerms)(nil)

// column finds a column and returns its qualified SQL name. Its key is its exact name in the
// relation that is read.
func (t *sqlTerms) column(name string) (engine.Column, string, bool) {
	c, ok := policy.FindColumn(t.columns, name)
	if other, renamed := t.readAs[c.Name]; ok && renamed {
		c.Name = other
	}
	if !ok || !policy.Storable(c.Name) {
		return c, "", false
	}
	return c, engine.QuoteIdent(t.alias) + "." + engine.QuoteIdent(c.Name), true
}

// missing returns the truth of a test of a column that does not exist.
func (t *sqlTerms) missing(name string) truth {
	switch name {
	case unknownColumn:
		return unknown
	case mistypedColumn:
		return failure
	}
	return lacking
}

// value returns the value of an operand for a column of type typ. Only attributes are strings where
// the column is not text: the binder has replaced tests of literals of another type. An attribute
// must be a value of the type.
func (t *sqlTerms) value(typ policy.ColumnType, v types.Value) (types.Value, bool) {
	if s, ok := v.(types.String); ok {
		return typ.Coerce(s)
	}
	return t.reading.Literal(typ, v)
}

func (t *sqlTerms) has(principal bool, name string) truth {
	if principal {
		return failure
	}
	c, sql, ok := t.column(name)
	switch {
	case ok:
	case policy.HasColumn(t.columns, name), t.uncertain != nil && t.uncertain(name):
		return lacking
	default:
		return constant(false)
	}
	return truth{yes: notNull(c.Name, sql), no: isNull(c.Name, sql)}
}

var sqlOperators = map[policy.Op]string{policy.OpEq: " = ", policy.OpNeq: " <> ", policy.OpLt: " < ", policy.OpLte: " <= ",
	policy.OpGt: " > ", policy.OpGte: " >= "}

func (t *sqlTerms) compare(op policy.Op, l, r policy.Operand) truth {
	if l.Column == "" || r.Value == nil {
		return failure
	}
	c, sql, ok := t.column(l.Column)
	if !ok {
		return t.missing(l.Column)
	}
	typ := policy.Classify(c.Type)
	v, ok := t.value(typ, r.Value)
	if !ok || !typ.Class.Supports(op) {
		return unknownOf(c.Name)
	}
	op, v, holds := typ.Narrow(op, v)
	if v == nil {
		return everyValue(c.Name, sql, holds)
	}
	if b, ok := v.(types.Boolean); ok {
		// Equality with either constant, never inequality, because equality allows pruning.
		is := func(b types.Boolean) *predicate {
			return testOf(sql+" = "+sqlLiteral(typ, b), c.Name).prunedBy(comparisonOf(typ, policy.OpEq, c.Name, b), true)
		}
		return truth{yes: is(b == (op == policy.OpEq)), no: is(b != (op == policy.OpEq)), errs: map[string]bool{c.Name: true}}
	}
	literal := sqlLiteral(typ, v)
	exact := hasConditionValues(typ, v)
	return truth{
		yes:  testOf(sql+sqlOperators[op]+literal, c.Name).prunedBy(comparisonOf(typ, op, c.Name, v), exact),
		no:   testOf(sql+sqlOperators[op.Opposite()]+literal, c.Name).prunedBy(comparisonOf(typ, op.Opposite(), c.Name, v), exact),
		errs: map[string]bool{c.Name: true},
	}
}

// everyValue returns the truth of a test that has one result for all values of a column.
func everyValue(column, sql string, holds bool) truth {
	out := truth{yes: never, no: notNull(column, sql), errs: map[string]bool{column: true}}
	if holds {
		return out.not()
	}
	return out
}

func (t *sqlTerms) match(l policy.Operand, pieces []policy.Piece) truth {
	if l.Column == "" {
		return failure
	}
	c, sql, ok := t.column(l.Column)
	switch {
	case !ok:
		return t.missing(l.Column)
	case policy.Classify(c.Type).Class != policy.ClassText:
		return failure
	}
	if policy.MatchesAll(pieces) {
		return everyValue(c.Name, sql, true)
	}
	test, ok := sqlMatch(sql, pieces)
	if !ok {
		return unknownOf(c.Name)
	}
	return truth{
		yes:  testOf(test, c.Name).prunedBy(patternCondition(c.Name, pieces), isText(pieces)),
		no:   testOf("NOT ("+test+")", c.Name).prunedBy(present(c.Name), false),
		errs: map[string]bool{c.Name: true},
	}
}

func (t *sqlTerms) member(list, element policy.Operand) truth {
	if element.Column == "" || list.Value == nil {
		return failure
	}
	c, sql, ok := t.column(element.Column)
	if !ok {
		return t.missing(element.Column)
	}
	items, ok := policy.ListItems(list.Value)
	if !ok {
		return unknownOf(c.Name)
	}
	typ := policy.Classify(c.Type)
	if !typ.Class.Supports(policy.OpIn) {
		return unknownOf(c.Name)
	}
	var literals []string
	var values []types.Value
	for _, item := range items {
		v, ok := t.value(typ, item)
		if !ok {
			return unknownOf(c.Name)
		}
		if !typ.Has(v) {
			continue
		}
		literals, values = append(literals, sqlLiteral(typ, v)), append(values, v)
	}
	slices.Sort(literals)
	literals = slices.Compact(literals)
	if len(literals) == 0 {
		return everyValue(c.Name, sql, false)
	}
	out := truth{errs: map[string]bool{c.Name: true}}
	switch len(literals) {
	case 1:
		out.yes, out.no = testOf(sql+" = "+literals[0], c.Name), testOf(sql+" <> "+literals[0], c.Name)
	default:
		set := "(" + strings.Join(literals, ", ") + ")"
		out.yes, out.no = testOf(sql+" IN "+set, c.Name), testOf(sql+" NOT IN "+set, c.Name)
	}
	exact := hasConditionValues(typ, values...)
	out.yes.prunedBy(membershipOf(typ, c.Name, values), exact)
	out.no.prunedBy(exclusionOf(typ, c.Name, values), exact)
	return out
}

func (t *sqlTerms) user(ast.IsNode) truth { return failure }

// maxPredicate bounds the text of a predicate in bytes.
const maxPredicate = 2 << 20

func (t *sqlTerms) limit() int { return maxPredicate }
