package policy

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/lakewarden/lakewarden/engine"
)

// sqlTerms turns tests of columns against constants into SQL. All that depends
// on the user was folded before; what is left of it fails.
type sqlTerms struct {
	columns []engine.Column
	alias   string
	// readAs is that of a [Request].
	readAs map[string]string
	// uncertain is [Policy.Uncertain].
	uncertain func(column string) bool
}

var _ terms = (*sqlTerms)(nil)

// column finds a column and prints it qualified. Its key is its exact name in the
// relation that is read.
func (t *sqlTerms) column(name string) (engine.Column, string, bool) {
	c, ok := findColumn(t.columns, name)
	if other, renamed := t.readAs[c.Name]; ok && renamed {
		c.Name = other
	}
	if !ok || !storable(c.Name) {
		return c, "", false
	}
	return c, engine.QuoteIdent(t.alias) + "." + engine.QuoteIdent(c.Name), true
}

// missing returns the truth of a test of a column that does not exist.
func (t *sqlTerms) missing(name string) truth {
	if name == unknownColumn {
		return unknown
	}
	return lacking
}

func (t *sqlTerms) has(principal bool, name string) truth {
	if principal {
		return failure
	}
	c, sql, ok := t.column(name)
	switch {
	case ok:
	case HasColumn(t.columns, name), t.uncertain != nil && t.uncertain(name):
		return lacking
	default:
		return constant(false)
	}
	return truth{yes: notNull(c.Name, sql), no: isNull(c.Name, sql)}
}

var sqlOperators = map[Op]string{OpEq: " = ", OpNeq: " <> ", OpLt: " < ", OpLte: " <= ", OpGt: " > ", OpGte: " >= "}

func (t *sqlTerms) compare(op Op, l, r operand) truth {
	if l.column == "" || r.value == nil {
		return failure
	}
	c, sql, ok := t.column(l.column)
	if !ok {
		return t.missing(l.column)
	}
	typ := parseType(c.Type)
	v, ok := typ.coerce(r.value)
	if !ok || !typ.class.supports(op) {
		return unknownOf(c.Name)
	}
	if b, ok := v.(types.Boolean); ok {
		// Equality with either constant, never inequality: it can skip files.
		is := func(b types.Boolean) *predicate {
			return testOf(sql+" = "+typ.sqlLiteral(b), c.Name).prunedBy(typ.comparison(OpEq, c.Name, b), true)
		}
		return truth{yes: is(b == (op == OpEq)), no: is(b != (op == OpEq)), errs: map[string]bool{c.Name: true}}
	}
	literal := typ.sqlLiteral(v)
	exact := typ.hasConditionValues(v)
	return truth{
		yes:  testOf(sql+sqlOperators[op]+literal, c.Name).prunedBy(typ.comparison(op, c.Name, v), exact),
		no:   testOf(sql+sqlOperators[opposite[op]]+literal, c.Name).prunedBy(typ.comparison(opposite[op], c.Name, v), exact),
		errs: map[string]bool{c.Name: true},
	}
}

func (t *sqlTerms) match(l operand, pieces []piece) truth {
	if l.column == "" {
		return failure
	}
	c, sql, ok := t.column(l.column)
	switch {
	case !ok:
		return t.missing(l.column)
	case parseType(c.Type).class != classText:
		return unknownOf(c.Name)
	}
	if matchesAll(pieces) {
		return truth{yes: notNull(c.Name, sql), no: never, errs: map[string]bool{c.Name: true}}
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

func (t *sqlTerms) member(list, element operand) truth {
	if element.column == "" || list.value == nil {
		return failure
	}
	c, sql, ok := t.column(element.column)
	if !ok {
		return t.missing(element.column)
	}
	items, ok := listItems(list.value)
	if !ok {
		return unknownOf(c.Name)
	}
	typ := parseType(c.Type)
	if !typ.class.supports(OpIn) {
		return unknownOf(c.Name)
	}
	var literals []string
	var values []types.Value
	for _, item := range items {
		v, ok := typ.coerce(item)
		if !ok {
			return unknownOf(c.Name)
		}
		literals, values = append(literals, typ.sqlLiteral(v)), append(values, v)
	}
	slices.Sort(literals)
	literals = slices.Compact(literals)
	out := truth{errs: map[string]bool{c.Name: true}}
	switch len(literals) {
	case 0:
		out.yes, out.no = never, notNull(c.Name, sql)
	case 1:
		out.yes, out.no = testOf(sql+" = "+literals[0], c.Name), testOf(sql+" <> "+literals[0], c.Name)
	default:
		set := "(" + strings.Join(literals, ", ") + ")"
		out.yes, out.no = testOf(sql+" IN "+set, c.Name), testOf(sql+" NOT IN "+set, c.Name)
	}
	if len(literals) > 0 {
		exact := typ.hasConditionValues(values...)
		out.yes.prunedBy(typ.membership(c.Name, values), exact)
		out.no.prunedBy(typ.exclusion(c.Name, values), exact)
	}
	return out
}

func (t *sqlTerms) user(ast.IsNode) truth { return failure }

// maxPredicate bounds the text of a predicate in bytes.
const maxPredicate = 2 << 20

func (t *sqlTerms) limit() int { return maxPredicate }

// listItems returns the elements of a Cedar set, or of an attribute read as a
// list.
func listItems(v types.Value) ([]types.Value, bool) {
	switch v := v.(type) {
	case types.Set:
		return v.Slice(), v.Len() <= MaxListValues
	case types.String:
		parts, ok := splitList(string(v))
		out := make([]types.Value, len(parts))
		for i, p := range parts {
			out[i] = p
		}
		return out, ok
	}
	return nil, false
}
