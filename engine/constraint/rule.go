package constraint

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Kind is the class of a rule. Classes are judged one after the other: broken
// rows of a later one are told only where the earlier ones hold.
type Kind int

// The classes, in the order in which they are judged.
const (
	// NotNull: a column or a member of a struct has a value.
	NotNull Kind = iota
	// Checked: an expression is TRUE.
	Checked
	// Filtered: the row is one that its writer may see.
	Filtered
)

// Rule is what a single row must satisfy.
type Rule struct {
	Kind Kind
	// Name is the constraint's; for NOT NULL the path of the column, with points.
	Name string
	// Column is the column that a message points at; empty when several or none.
	Column string
	// Columns are the top-level columns that the rule is about.
	Columns []string

	// broken is the condition under which a row breaks the rule, never NULL.
	broken func(alias string) string
}

// CheckRule is the rule of a constraint.
func CheckRule(name string, check Check) Rule {
	r := Rule{Kind: Checked, Name: name, Columns: check.Columns(), broken: check.Broken}
	if len(r.Columns) == 1 {
		r.Column = r.Columns[0]
	}
	return r
}

// RowFilter is the rule that a written row satisfies the writer's filter: a
// predicate of ours in DuckDB's SQL, whose columns are qualified with [Alias].
func RowFilter(predicate string) Rule {
	return Rule{Kind: Filtered, broken: func(string) string {
		return "(NOT coalesce(TRY((" + predicate + ")), false))"
	}}
}

// RequireColumn is the rule that a top-level column has a value.
func RequireColumn(column string) Rule {
	return Rule{Kind: NotNull, Name: column, Column: column, Columns: []string{column}, broken: func(alias string) string {
		return "(" + engine.QuoteIdent(alias) + "." + engine.QuoteIdent(column) + " IS NULL)"
	}}
}

// notNull lists what the schema requires: columns, members of structs that are
// there, elements of lists and values of maps.
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

// requirement is one below a value.
type requirement struct {
	name string
	// missing is TRUE for a value that misses it, and NULL or FALSE for others.
	missing func(value string) string
}

// required lists what a type requires of its parts. depth numbers the parameters
// of lambdas, which may stand in one another.
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
