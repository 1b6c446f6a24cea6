package constraint

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Kind is the class of a rule. Classes are checked in order: rows that break a rule of a later
// class are reported only if no row breaks one of an earlier class.
type Kind int

// The classes, in the order in which they are checked.
const (
	// NotNull: a column or a member of a struct has a value.
	NotNull Kind = iota
	// Checked: an expression is TRUE.
	Checked
	// InDomain: a column has a value of its domain.
	InDomain
	// Filtered: the row is visible to its writer.
	Filtered
)

// Rule is a condition that a single row must satisfy.
type Rule struct {
	Kind Kind
	// Name is the constraint's name; for NOT NULL it is the path of the column, with points.
	Name string
	// Column is the column that a message refers to; empty if there is not exactly one.
	Column string
	// Columns are the top-level columns that the rule refers to.
	Columns []string

	// broken returns the condition under which a row breaks the rule. It is never NULL.
	broken func(alias string) string
}

// CheckRule returns the rule of a constraint.
func CheckRule(name string, check Check) Rule {
	r := Rule{Kind: Checked, Name: name, Columns: check.Columns(), broken: check.Broken}
	if len(r.Columns) == 1 {
		r.Column = r.Columns[0]
	}
	return r
}

// DomainRule returns the rule that a column has a value of its domain. others are further
// columns on which that depends. broken returns SQL for the condition under which a row of
// the relation with an alias has another value; it must be TRUE or FALSE and must not fail.
func DomainRule(column string, others []string, broken func(alias string) string) Rule {
	return Rule{Kind: InDomain, Name: column, Column: column, Columns: append([]string{column}, others...), broken: broken}
}

// Unless returns the rule for the rows that do not satisfy a condition, which is generated
// SQL over the relation with the [Alias]. A row for which it is NULL does not satisfy it.
func (r Rule) Unless(condition string) Rule {
	broken := r.broken
	r.broken = func(alias string) string { return "(" + broken(alias) + " AND NOT coalesce(" + condition + ", false))" }
	return r
}

// Broken returns the condition, in DuckDB's SQL, under which a row of the relation with this
// alias breaks the rule. It is TRUE or FALSE and cannot fail.
func (r Rule) Broken(alias string) string { return r.broken(alias) }

// RowFilter returns the rule that a written row satisfies the writer's filter: a generated
// predicate in DuckDB's SQL, whose columns are qualified with [Alias].
func RowFilter(predicate string) Rule {
	return Rule{Kind: Filtered, broken: func(string) string {
		return "(NOT coalesce(TRY((" + predicate + ")), false))"
	}}
}

// RequireColumn returns the rule that a top-level column has a value.
func RequireColumn(column string) Rule {
	return Rule{Kind: NotNull, Name: column, Column: column, Columns: []string{column}, broken: func(alias string) string {
		return "(" + engine.QuoteIdent(alias) + "." + engine.QuoteIdent(column) + " IS NULL)"
	}}
}

// notNull returns what the schema requires to have a value: columns, members of structs that are
// not NULL, elements of lists and values of maps.
func notNull(schema delta.Struct) []Rule {
	var out []Rule
	for _, f := range schema.Fields {
		if !f.Nullable {
			out = append(out, RequireColumn(f.Name))
		}
		column := f.Name
		for _, inner := range required(f.Type, 0) {
			out = append(out, Rule{Kind: NotNull, Name: column + inner.name, Column: column, Columns: []string{column},
				broken: func(alias string) string {
					return "coalesce(" + inner.missing(engine.QuoteIdent(alias)+"."+engine.QuoteIdent(column)) + ", false)"
				}})
		}
	}
	return out
}

// requirement is a part of a value that must not be NULL.
type requirement struct {
	name string
	// missing is TRUE for a value without that part, and NULL or FALSE for others.
	missing func(value string) string
}

// required returns what a type requires of its parts. depth numbers the parameters of lambdas,
// which may be nested.
func required(t delta.DataType, depth int) []requirement {
	switch t := t.(type) {
	case delta.Struct:
		return requiredMembers(t, depth)
	case delta.Array:
		return requiredItems(t.Element, t.ContainsNull, ".element", depth, func(v string) string { return v })
	case delta.Map:
		keys := requiredItems(t.Key, true, ".key", depth, func(v string) string { return "map_keys(" + v + ")" })
		values := requiredItems(t.Value, t.ValueContainsNull, ".value", depth, func(v string) string { return "map_values(" + v + ")" })
		return append(keys, values...)
	}
	return nil
}

func requiredMembers(s delta.Struct, depth int) []requirement {
	var out []requirement
	for _, f := range s.Fields {
		member := func(v string) string { return "struct_extract(" + v + ", " + engine.QuoteString(f.Name) + ")" }
		if !f.Nullable {
			out = append(out, requirement{"." + f.Name, func(v string) string {
				return "(" + v + " IS NOT NULL AND " + member(v) + " IS NULL)"
			}})
		}
		for _, inner := range required(f.Type, depth) {
			out = append(out, requirement{"." + f.Name + inner.name, func(v string) string { return inner.missing(member(v)) }})
		}
	}
	return out
}

func requiredItems(item delta.DataType, nullable bool, name string, depth int, list func(string) string) []requirement {
	inner := required(item, depth+1)
	if !nullable {
		inner = slices.Insert(inner, 0, requirement{"", func(v string) string { return "(" + v + " IS NULL)" }})
	}
	out := make([]requirement, len(inner))
	parameter := "lw_item" + string(rune('a'+depth%26))
	for i, r := range inner {
		out[i] = requirement{name + r.name, func(v string) string {
			return "(len(list_filter(" + list(v) + ", lambda " + parameter + ": coalesce(" + r.missing(parameter) + ", false))) > 0)"
		}}
	}
	return out
}
