package sqlguard

import (
	"math/big"
	"strings"
)

// The engine's planner replaces the name of an earlier result column by its
// expression, and a macro by its body, which may name an argument several
// times. Planning cannot be interrupted, so what a statement grows to is
// computed first.

const (
	// maxExpanded caps by how many nodes a statement may grow in planning
	// (16,000 take two seconds).
	maxExpanded = 6_000
	// maxPivoted caps the columns that one PIVOT makes.
	maxPivoted = 2_000
	saturated  = 1 << 40
)

// macroCopies says how often a macro of the engine names its arguments at most;
// those that name each once are left out.
var macroCopies = map[string]int{
	"array_pop_back": 2, "array_to_string": 2, "array_to_string_comma_default": 2, "fmod": 2, "json_group_array": 2,
	"json_group_object": 2, "map_contains_entry": 2, "nullif": 2, "round_even": 3, "roundbankers": 3,
	"split_part": 2, "wavg": 2, "weighted_avg": 2,
}

// MacroCopies returns how often the engine repeats the arguments of a macro.
func MacroCopies(name string) int { return max(1, macroCopies[strings.ToLower(name)]) }

func checkExpansion(stmt *node) *Error {
	e := &expander{}
	expanded := e.size(stmt, nil)
	if expanded-e.nodes > maxExpanded {
		return refuse(CodeTooComplex, "", "result columns or functions build on each other too often")
	}
	return e.pivot
}

type expander struct {
	nodes int
	pivot *Error
}

// size is the number of nodes below v after expansion; aliases maps names of
// result columns to the size of their expression.
func (e *expander) size(v any, aliases map[string]int) int {
	switch v := v.(type) {
	case []any:
		total := 0
		for _, x := range v {
			total = min(total+e.size(x, aliases), saturated)
		}
		return total
	case *node:
		if v == nil {
			return 0
		}
		e.nodes++
		switch {
		case v.is("type", "SELECT_NODE"):
			return e.selectSize(v, aliases)
		case v.is("class", "COLUMN_REF"):
			if names := v.strings("column_names"); len(names) == 1 {
				return max(1, aliases[lower(names[0])])
			}
		case v.is("class", "FUNCTION"):
			return min(saturated, 1+MacroCopies(v.str("function_name"))*e.fieldSizes(v, aliases))
		case v.is("type", "PIVOT"):
			e.checkPivot(v)
		}
		return 1 + e.fieldSizes(v, aliases)
	}
	return 0
}

func (e *expander) fieldSizes(n *node, aliases map[string]int) int {
	total := 0
	for _, x := range n.vals {
		total = min(total+e.size(x, aliases), saturated)
	}
	return total
}

func (e *expander) selectSize(n *node, outer map[string]int) int {
	aliases := make(map[string]int, len(outer))
	for k, v := range outer {
		aliases[k] = v
	}
	total := 1
	for _, x := range n.list("select_list") {
		item := x.(*node)
		size := e.size(item, aliases)
		if alias := item.str("alias"); alias != "" {
			aliases[lower(alias)] = max(aliases[lower(alias)], size)
		}
		total = min(total+size, saturated)
	}
	for i, k := range n.keys {
		if k != "select_list" {
			total = min(total+e.size(n.vals[i], aliases), saturated)
		}
	}
	return total
}

// checkPivot multiplies the values of every ON and the aggregates.
func (e *expander) checkPivot(n *node) {
	columns := big.NewInt(int64(max(1, len(n.list("aggregates")))))
	for _, p := range n.list("pivots") {
		columns.Mul(columns, big.NewInt(int64(max(1, len(p.(*node).list("entries"))))))
	}
	if columns.Cmp(big.NewInt(maxPivoted)) > 0 {
		e.pivot = refuse(CodeTooComplex, "PIVOT", "PIVOT makes more than %d columns", maxPivoted)
	}
}
