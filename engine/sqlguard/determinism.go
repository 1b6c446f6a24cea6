package sqlguard

import "slices"

// The order of rows, and so what a LIMIT leaves, follows from the engine's plan
// where the statement leaves it open, and the plan follows from the numbers of
// rows, hidden ones included. A plain statement therefore sorts by what its rows
// consist of, after what it sorts by itself: rows that are equal then may stand
// in any order.

// settleOrder returns the result columns by which the outermost query must sort
// in addition.
func (p *prover) settleOrder(sel *provenSelect) (proof, error) {
	if sel.single {
		return proof{}, p.ordered(sel, nil)
	}
	if !sel.aggregated && !sel.distinct && sel.orders() == nil {
		return proof{recut: true}, unless(p.streams(sel), "no order")
	}
	covered := make([]bool, len(sel.columns))
	if err := p.ordered(sel, covered); err != nil {
		return proof{}, err
	}
	if add, ok := sel.groupColumns(); ok {
		return proof{order: uncovered(add, covered)}, nil
	}
	all := make([]int, len(sel.columns))
	for i, c := range sel.columns {
		all[i] = i
		if !c.known || !c.value.exact() {
			return proof{}, doubt("rows that cannot be told apart by sorting")
		}
	}
	return proof{order: uncovered(all, covered)}, nil
}

// streams says that the statement passes rows of one table through one by one: the
// engine leaves them in the order of the files, as it does when it fills a copy,
// whatever it knows of their number.
func (p *prover) streams(sel *provenSelect) bool {
	n := sel.node
	if len(n.list("modifiers")) > 0 || len(n.child("cte_map").list("map")) > 0 || p.tables[n.child("from_table")] == nil {
		return false
	}
	for _, part := range []any{n.get("select_list"), n.get("where_clause")} {
		if contains(part, "SUBQUERY") || joinsList(part) {
			return false
		}
	}
	return true
}

// maxInRow is how many constants of IN the engine compares row by row: it joins
// with more, and a join keeps no order.
const maxInRow = 4

// joinsList says that a tree holds an IN that may become a join.
func joinsList(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, joinsList)
	case *node:
		if v == nil {
			return false
		}
		in := v.is("type", "COMPARE_IN") || v.is("type", "COMPARE_NOT_IN")
		return in && len(v.list("children")) > 1+maxInRow || slices.ContainsFunc(v.vals, joinsList)
	}
	return false
}

// uncovered turns columns that nothing sorts by yet into positions.
func uncovered(columns []int, covered []bool) []int {
	var out []int
	for _, i := range columns {
		if !covered[i] {
			out = append(out, i+1)
		}
	}
	return out
}

// groupColumns are the result columns that show every group key, by which the
// rows of an aggregating query differ.
func (s *provenSelect) groupColumns() ([]int, bool) {
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

func (s *provenSelect) orders() []any {
	for _, m := range s.node.list("modifiers") {
		if m.(*node).is("type", "ORDER_MODIFIER") {
			return m.(*node).list("orders")
		}
	}
	return nil
}

// ordered proves ORDER BY and LIMIT of the outermost query, and notes the result
// columns by which it sorts.
func (p *prover) ordered(sel *provenSelect, covered []bool) error {
	for _, m := range sel.node.list("modifiers") {
		limit := m.(*node)
		for _, field := range []string{"limit", "offset"} {
			if e := limit.child(field); e != nil && !literalBetween(e, 0, 1<<62) {
				return doubtf("%s is no constant", field)
			}
		}
	}
	for _, o := range sel.orders() {
		e := o.(*node).child("expression")
		if i, ok := sel.resultColumn(e); ok {
			if covered != nil {
				covered[i] = true
			}
			continue
		}
		if e.is("class", "CONSTANT") || sel.distinct || sel.namesResult(e) {
			return doubt("an order by something that is no result")
		}
		at := spot{scope: sel.scope, aggregates: sel.aggregated, top: sel.aggregated, subqueries: false}
		if _, err := p.total(e, at); err != nil {
			return err
		}
	}
	return nil
}

// resultColumn is the result column that an item of ORDER BY means.
func (s *provenSelect) resultColumn(e *node) (int, bool) {
	if e.is("class", "CONSTANT") {
		i, ok := position(e)
		return i - 1, ok && i <= len(s.columns)
	}
	if parts := e.strings("column_names"); e.is("class", "COLUMN_REF") && len(parts) == 1 {
		if alias := s.scope.aliases[lower(parts[0])]; alias != nil {
			if _, count := s.scope.own(parts); count > 0 && !isColumn(alias, parts[0]) {
				return 0, false
			}
			i, ok := s.byAlias[lower(parts[0])]
			return i, ok
		}
	}
	i := slices.Index(s.texts, bareText(e))
	return i, i >= 0
}

// namesResult says that an expression holds a name that the query gives to a
// result: whether it means that or a column is left open.
func (s *provenSelect) namesResult(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, s.namesResult)
	case *node:
		if v == nil {
			return false
		}
		if parts := v.strings("column_names"); v.is("class", "COLUMN_REF") && len(parts) == 1 {
			return s.scope.aliases[lower(parts[0])] != nil
		}
		return slices.ContainsFunc(v.vals, s.namesResult)
	}
	return false
}

// bareText is an expression without its name, so that equal ones are equal.
func bareText(n *node) string {
	c := n.clone()
	bare(c)
	return string(encode(nil, c))
}

// bare takes away what does not matter to the meaning of an expression.
func bare(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			bare(e)
		}
	case *node:
		if v == nil {
			return
		}
		for i, key := range v.keys {
			switch key {
			case "alias":
				v.vals[i] = ""
			case "query_location":
				v.vals[i] = nil
			default:
				bare(v.vals[i])
			}
		}
	}
}

// settle adds the sort columns of a proof to the outermost query.
func (pr proof) settle(query *node) {
	if len(pr.order) == 0 {
		return
	}
	add := make([]any, len(pr.order))
	for i, position := range pr.order {
		add[i] = obj("type", "ORDER_DEFAULT", "null_order", "ORDER_DEFAULT", "expression", intNode(int64(position)))
	}
	modifiers := query.list("modifiers")
	for _, m := range modifiers {
		if order := m.(*node); order.is("type", "ORDER_MODIFIER") {
			order.set("orders", append(append([]any(nil), order.list("orders")...), add...))
			return
		}
	}
	// Between DISTINCT and LIMIT, as the parser would have it.
	at := slices.IndexFunc(modifiers, func(m any) bool { return m.(*node).is("type", "LIMIT_MODIFIER") })
	if at < 0 {
		at = len(modifiers)
	}
	order := obj("type", "ORDER_MODIFIER", "orders", add)
	query.set("modifiers", slices.Insert(slices.Clone(modifiers), at, any(order)))
}
