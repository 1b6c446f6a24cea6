package domain

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// Column is a column of the checked rows.
type Column struct {
	Name string
	Type delta.DataType
}

func (c Column) in(alias string) string {
	return engine.QuoteIdent(alias) + "." + engine.QuoteIdent(c.Name)
}

// NotNull returns the condition that a row has a value in the column, over the relation
// with the alias of package constraint.
func (c Column) NotNull() string { return c.in(constraint.Alias) + " IS NOT NULL" }

// Pair is a child that is allowed together with a parent, both as canonical text.
type Pair struct{ Parent, Child string }

// Source is a relation from which a domain takes its values.
type Source struct {
	// From is SQL after FROM: [engine.Source.Relation].
	From string
	// Column holds the values, ParentKey the parents of each. ParentKey is the zero value
	// for references.
	Column, ParentKey Column
}

// Listed returns the rule that a column has one of the values.
func Listed(c Column, values []string) constraint.Rule {
	if len(values) == 0 {
		return Nothing(c)
	}
	allowed := "SELECT unnest(" + list(c.Type, values) + ")"
	return rule(c, nil, func(alias string) string { return c.in(alias) + " IN (" + allowed + ")" })
}

// Paired returns the rule that a column and its parent column have one of the pairs of
// values.
func Paired(child, parent Column, pairs []Pair) constraint.Rule {
	if len(pairs) == 0 {
		return Nothing(child, parent)
	}
	parents, children := make([]string, len(pairs)), make([]string, len(pairs))
	for i, p := range pairs {
		parents[i], children[i] = p.Parent, p.Child
	}
	allowed := "SELECT unnest(" + list(parent.Type, parents) + "), unnest(" + list(child.Type, children) + ")"
	return rule(child, []Column{parent}, func(alias string) string {
		return "(" + parent.in(alias) + ", " + child.in(alias) + ") IN (" + allowed + ")"
	})
}

// Within returns the rule that the values of a column lie between bounds, whose texts are
// canonical. NaN is outside.
func Within(c Column, b Bounds) constraint.Rule {
	return rule(c, nil, func(alias string) string { return b.Contain(c.Type, c.in(alias)) })
}

// Contain returns the condition that a value of type t, given as SQL, lies between bounds
// whose texts are canonical. NaN is outside. For NULL the condition is NULL.
func (b Bounds) Contain(t delta.DataType, value string) string {
	above, below := " > ", " < "
	if b.Inclusive {
		above, below = " >= ", " <= "
	}
	var parts []string
	if b.Min != "" {
		parts = append(parts, value+above+try(t, b.Min))
	}
	if b.Max != "" {
		parts = append(parts, value+below+try(t, b.Max))
	}
	if t == delta.Float || t == delta.Double {
		parts = append(parts, "NOT isnan("+value+")")
	}
	return strings.Join(parts, " AND ")
}

// Referenced returns the rule that a column has one of the values of a source's column.
func Referenced(c Column, s Source) constraint.Rule {
	value := s.Column.as(c.Type)
	allowed := "SELECT " + value + " FROM " + s.From + " AS s WHERE " + value + " IS NOT NULL"
	return rule(c, nil, func(alias string) string { return c.in(alias) + " IN (" + allowed + ")" })
}

// LookedUp returns the rule that a column and its parent column have the values of a row
// of a source.
func LookedUp(child, parent Column, s Source) constraint.Rule {
	key, value := s.ParentKey.as(parent.Type), s.Column.as(child.Type)
	allowed := "SELECT " + key + ", " + value + " FROM " + s.From + " AS s WHERE " + key + " IS NOT NULL AND " + value + " IS NOT NULL"
	return rule(child, []Column{parent}, func(alias string) string {
		return "(" + parent.in(alias) + ", " + child.in(alias) + ") IN (" + allowed + ")"
	})
}

// Nothing returns the rule that a column is NULL, for a domain whose values are unknown or
// none. others are columns on which the domain depends.
func Nothing(c Column, others ...Column) constraint.Rule {
	return rule(c, others, func(string) string { return "false" })
}

// rule returns the rule that a value of a column is NULL or allowed. A condition that is
// NULL, because the parent is, does not allow it.
func rule(c Column, others []Column, allowed func(alias string) string) constraint.Rule {
	names := make([]string, len(others))
	for i, o := range others {
		names[i] = o.Name
	}
	return constraint.DomainRule(c.Name, names, func(alias string) string {
		return "(" + c.in(alias) + " IS NOT NULL AND NOT coalesce(" + allowed(alias) + ", false))"
	})
}

// as returns SQL for the column of a source as a value of type t.
func (c Column) as(t delta.DataType) string { return As(c.in("s"), c.Type, t) }

// As returns SQL for an expression of one type as a value of another that is [Comparable]: the
// same number, or NULL if there is none. It cannot fail.
func As(expr string, from, to delta.DataType) string {
	if delta.EqualTypes(from, to) {
		return expr
	}
	cast := "TRY_CAST(" + expr + " AS " + deltasql.Type(to).String() + ")"
	// A cast rounds decimals. Values are compared as the first type, which holds both, because
	// the engine's common type of two numbers may hold neither.
	return "CASE WHEN TRY_CAST(" + cast + " AS " + deltasql.Type(from).String() + ") = " + expr + " THEN " + cast + " END"
}

// try returns SQL for a canonical text as a value of type t, or NULL if the type of the
// column has changed so that it cannot hold it.
func try(t delta.DataType, canonical string) string {
	return "TRY_CAST(" + engine.QuoteString(canonical) + " AS " + deltasql.Type(t).String() + ")"
}

// separators are candidates for a character that no value of a list contains.
var separators = []string{"\x1f", "\x1e", "\x1d", "\x1c", "\n", "\x01"}

// list returns SQL for a list of values, which are NULL where [try] is. The engine reads one
// long text several times faster than as many literals.
func list(t delta.DataType, values []string) string {
	texts := ""
	for _, separator := range separators {
		if !slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, separator) }) {
			texts = "string_split(" + engine.QuoteString(strings.Join(values, separator)) + ", " + engine.QuoteString(separator) + ")"
			break
		}
	}
	if texts == "" {
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = engine.QuoteString(v)
		}
		texts = "[" + strings.Join(quoted, ", ") + "]"
	}
	if t == delta.String {
		return texts
	}
	return "TRY_CAST(" + texts + " AS " + deltasql.Type(t).String() + "[])"
}
