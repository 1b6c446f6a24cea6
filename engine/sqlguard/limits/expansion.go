package limits

import (
	"math/big"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The engine's planner replaces the name of an earlier result column by its expression, and
// a macro by its body, which may use an argument several times. Planning cannot be
// interrupted, so the size of the result is computed first.

const (
	// maxExpanded caps the number of nodes by which a statement may grow in planning
	// (16,000 take two seconds).
	maxExpanded = 6_000
	// maxPivoted caps the columns that one PIVOT makes.
	maxPivoted = 2_000
	saturated  = 1 << 40
)

// macroCopies maps macros of the engine to the largest number of uses of one of their
// arguments. Macros that use each argument once are left out.
var macroCopies = map[string]int{
	"array_pop_back": 2, "array_to_string": 2, "array_to_string_comma_default": 2, "fmod": 2, "json_group_array": 2,
	"json_group_object": 2, "map_contains_entry": 2, "nullif": 2, "round_even": 3, "roundbankers": 3,
	"split_part": 2, "wavg": 2, "weighted_avg": 2,
}

// MacroCopies returns how often the engine repeats the arguments of a macro.
func MacroCopies(name string) int { return max(1, macroCopies[strings.ToLower(name)]) }

// CheckExpansion refuses statements whose result columns or macros expand to too much.
func CheckExpansion(stmt *sqltree.Node) *refusal.Error {
	e := &expander{}
	expanded := e.size(stmt, nil)
	if expanded-e.nodes > maxExpanded {
		return refusal.New(refusal.CodeTooComplex, "", "result columns or functions build on each other too often")
	}
	return e.pivot
}

type expander struct {
	nodes int
	pivot *refusal.Error
}

// size returns the number of nodes below v after expansion. aliases maps names of result
// columns to the size of their expression.
func (e *expander) size(v any, aliases map[string]int) int {
	switch v := v.(type) {
	case []any:
		total := 0
		for _, x := range v {
			total = min(total+e.size(x, aliases), saturated)
		}
		return total
	case *sqltree.Node:
		if v == nil {
			return 0
		}
		e.nodes++
		switch {
		case v.Is("type", "SELECT_NODE"):
			return e.selectSize(v, aliases)
		case v.Is("class", "COLUMN_REF"):
			if names := v.Strings("column_names"); len(names) == 1 {
				return max(1, aliases[strings.ToLower(names[0])])
			}
		case v.Is("class", "FUNCTION"):
			return min(saturated, 1+MacroCopies(v.Str("function_name"))*e.fieldSizes(v, aliases))
		case v.Is("type", "PIVOT"):
			e.checkPivot(v)
		}
		return 1 + e.fieldSizes(v, aliases)
	}
	return 0
}

func (e *expander) fieldSizes(n *sqltree.Node, aliases map[string]int) int {
	total := 0
	for _, x := range n.Fields() {
		total = min(total+e.size(x, aliases), saturated)
	}
	return total
}

func (e *expander) selectSize(n *sqltree.Node, outer map[string]int) int {
	aliases := make(map[string]int, len(outer))
	for k, v := range outer {
		aliases[k] = v
	}
	total := 1
	for item := range n.Each("select_list") {
		size := e.size(item, aliases)
		if alias := item.Str("alias"); alias != "" {
			aliases[strings.ToLower(alias)] = max(aliases[strings.ToLower(alias)], size)
		}
		total = min(total+size, saturated)
	}
	for k, v := range n.Fields() {
		if k != "select_list" {
			total = min(total+e.size(v, aliases), saturated)
		}
	}
	return total
}

// checkPivot multiplies the number of values of every ON and of aggregates.
func (e *expander) checkPivot(n *sqltree.Node) {
	columns := big.NewInt(int64(max(1, len(n.List("aggregates")))))
	for p := range n.Each("pivots") {
		columns.Mul(columns, big.NewInt(int64(max(1, len(p.List("entries"))))))
	}
	if columns.Cmp(big.NewInt(maxPivoted)) > 0 {
		e.pivot = refusal.New(refusal.CodeTooComplex, "PIVOT", "PIVOT makes more than %d columns", maxPivoted)
	}
}
