package leakproof

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// If the statement leaves the order of its rows open, the order, and thereby the rows that
// a LIMIT selects, follows from the engine's plan. The plan depends on the number of rows,
// hidden ones included. A statement that reads filtered tables in place therefore sorts by
// all parts of its rows after its own ORDER BY. Rows that are equal then may be in any
// order.

// settleOrder returns the result columns by which the outermost query must sort in
// addition.
func (p *prover) settleOrder(sel *selection) Proof {
	if sel.single {
		p.ordered(sel, nil)
		return Proof{}
	}
	if !sel.aggregated && !sel.distinct && sel.orders() == nil {
		doubtIf(!p.streams(sel), "no order")
		return Proof{Rebatch: true}
	}
	covered := make([]bool, len(sel.columns))
	p.ordered(sel, covered)
	if add, ok := sel.groupColumns(); ok {
		return Proof{order: uncovered(add, covered)}
	}
	all := make([]int, len(sel.columns))
	for i, c := range sel.columns {
		all[i] = i
		doubtIf(!c.known || !c.value.exact(), "rows that cannot be told apart by sorting")
	}
	return Proof{order: uncovered(all, covered)}
}

// streams reports whether the statement passes the rows of one table through one by one.
// The engine leaves these in the order of the files, as it does when it fills a copy,
// whatever their number.
func (p *prover) streams(sel *selection) bool {
	n := sel.node
	if _, table := p.tables[n.Child("from_table")]; !table || len(n.List("modifiers")) > 0 || len(n.Child("cte_map").List("map")) > 0 {
		return false
	}
	for _, part := range []any{n.Get("select_list"), n.Get("where_clause")} {
		if sqltree.Contains(part, "SUBQUERY") || JoinsList(part) {
			return false
		}
	}
	return true
}

// MaxInRow is the number of constants of an IN that the engine compares row by row. It uses
// a join for more, which does not preserve the order.
const MaxInRow = 4

// JoinsList reports whether v contains an IN that may become a join.
func JoinsList(v any) bool {
	return sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		if (n.Is("type", "COMPARE_IN") || n.Is("type", "COMPARE_NOT_IN")) && len(n.List("children")) > 1+MaxInRow {
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

// uncovered returns the positions of columns that nothing sorts by yet.
func uncovered(columns []int, covered []bool) []int {
	var out []int
	for _, i := range columns {
		if !covered[i] {
			out = append(out, i+1)
		}
	}
	return out
}

// groupColumns returns the result columns that show every group key. The rows of an
// aggregating query differ in these.
func (s *selection) groupColumns() ([]int, bool) {
	var out []int
	for _, g := range s.groups {
		i := slices.Index(s.texts, bareText(g))
		if i < 0 {
			return nil, false
		}
		out = append(out, i)
	}
	return out, len(out) > 0 && !s.distinct
}

func (s *selection) orders() []any {
	for m := range s.node.Each("modifiers") {
		if m.Is("type", "ORDER_MODIFIER") {
			return m.List("orders")
		}
	}
	return nil
}

// ordered proves ORDER BY and LIMIT of the outermost query, and marks the result columns by
// which it sorts.
func (p *prover) ordered(sel *selection, covered []bool) {
	for limit := range sel.node.Each("modifiers") {
		for _, field := range []string{"limit", "offset"} {
			if e := limit.Child(field); e != nil && !literalBetween(e, 0, 1<<62) {
				panic(doubtf("%s is no constant", field))
			}
		}
	}
	for _, o := range sel.orders() {
		e := o.(*sqltree.Node).Child("expression")
		if i, ok := sel.resultColumn(e); ok {
			if covered != nil {
				covered[i] = true
			}
			continue
		}
		doubtIf(e.Is("class", "CONSTANT") || sel.distinct || sel.namesResult(e), "an order by something that is no result")
		at := spot{scope: sel.scope, aggregates: sel.aggregated, top: sel.aggregated, subqueries: false}
		p.total(e, at)
	}
}

// resultColumn returns the result column that an item of ORDER BY refers to.
func (s *selection) resultColumn(e *sqltree.Node) (int, bool) {
	if e.Is("class", "CONSTANT") {
		i, ok := position(e)
		return i - 1, ok && i <= len(s.columns)
	}
	if parts := e.Strings("column_names"); e.Is("class", "COLUMN_REF") && len(parts) == 1 {
		if alias := s.scope.aliases[strings.ToLower(parts[0])]; alias != nil {
			if _, count := s.scope.own(parts); count > 0 && !isColumn(alias, parts[0]) {
				return 0, false
			}
			i, ok := s.byAlias[strings.ToLower(parts[0])]
			return i, ok
		}
	}
	i := slices.Index(s.texts, bareText(e))
	return i, i >= 0
}

// namesResult reports whether an expression contains a name of a result: whether it refers
// to the result or to a column is not decided.
func (s *selection) namesResult(e *sqltree.Node) bool {
	return sqltree.Walk(e, func(n *sqltree.Node) sqltree.Step {
		parts := n.Strings("column_names")
		if n.Is("class", "COLUMN_REF") && len(parts) == 1 && s.scope.aliases[strings.ToLower(parts[0])] != nil {
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

// bareText returns the text of an expression without aliases and positions, so that equal
// expressions have equal texts.
func bareText(n *sqltree.Node) string {
	c := n.Clone()
	sqltree.Walk(c, func(n *sqltree.Node) sqltree.Step {
		n.Unset("alias")
		n.Unset("query_location")
		return sqltree.Into
	})
	return string(sqltree.Encode(nil, c))
}

// Settle adds the sort columns of the proof to the outermost query.
func (pr Proof) Settle(query *sqltree.Node) {
	if len(pr.order) == 0 {
		return
	}
	add := make([]any, len(pr.order))
	for i, position := range pr.order {
		add[i] = sqltree.Object("type", "ORDER_DEFAULT", "null_order", "ORDER_DEFAULT", "expression", sqltree.Integer(int64(position)))
	}
	modifiers := query.List("modifiers")
	for _, m := range modifiers {
		if order := m.(*sqltree.Node); order.Is("type", "ORDER_MODIFIER") {
			order.Set("orders", append(append([]any(nil), order.List("orders")...), add...))
			return
		}
	}
	// Between DISTINCT and LIMIT, as the parser would have it.
	at := slices.IndexFunc(modifiers, func(m any) bool { return m.(*sqltree.Node).Is("type", "LIMIT_MODIFIER") })
	if at < 0 {
		at = len(modifiers)
	}
	order := sqltree.Object("type", "ORDER_MODIFIER", "orders", add)
	query.Set("modifiers", slices.Insert(slices.Clone(modifiers), at, any(order)))
}
