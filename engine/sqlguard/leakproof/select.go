package leakproof

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// selection is a SELECT that was proved.
type selection struct {
	node    *sqltree.Node
	columns []column
	// texts holds the result expressions without their names, empty for columns of a star.
	// byAlias holds the indexes of results that have names of their own.
	texts   []string
	byAlias map[string]int
	scope   *scope
	// aggregated reports that its rows are groups, single that it has exactly one row.
	aggregated, single bool
	groups             []*sqltree.Node
	distinct           bool
}

// statement proves the outermost query.
func (p *prover) statement(n *sqltree.Node) Proof {
	sel := p.selectNode(n, nil, true)
	return p.settleOrder(sel)
}

// selectNode proves a SELECT. Below the outermost one nothing may fail, because it
// depends on the engine's plan whether it is computed at all.
func (p *prover) selectNode(n *sqltree.Node, parent *scope, top bool) *selection {
	if !n.Is("type", "SELECT_NODE") || n.Child("qualify") != nil || n.Child("sample") != nil {
		panic(doubtf("a query of type %s with these clauses", n.Str("type")))
	}
	sel := &selection{node: n, byAlias: map[string]int{}}
	p.commonTables(n.Child("cte_map"))
	sel.modifiers(top)
	sel.scope = &scope{parent: parent, merged: map[string]bool{}, aliases: map[string]*sqltree.Node{}}
	for e := range n.Each("select_list") {
		alias := strings.ToLower(e.Str("alias"))
		doubtIf(alias != "" && sel.scope.aliases[alias] != nil, "two results named %s", alias)
		if alias != "" {
			sel.scope.aliases[alias] = e
		}
	}
	sel.aggregated = len(n.List("group_expressions")) > 0 || groupsAll(n) || n.Child("having") != nil || p.aggregates(n.List("select_list"))
	// Fallible columns of a derived table are computed for all rows only if it is the only
	// relation and nothing filters it.
	alone := top && sel.aggregated && n.Child("where_clause") == nil
	items := p.from(n.Child("from_table"), sel.scope, alone)
	sel.scope.items = items
	p.clauses(sel, top)
	return sel
}

func (s *selection) modifiers(top bool) {
	for _, m := range s.node.List("modifiers") {
		switch m := m.(*sqltree.Node); {
		case m.Is("type", "DISTINCT_MODIFIER") && len(m.List("distinct_on_targets")) == 0:
			s.distinct = true
		case top && m.Is("type", "ORDER_MODIFIER"), top && m.Is("type", "LIMIT_MODIFIER"):
		default:
			panic(doubtf("%s in this place", m.Str("type")))
		}
	}
}

// aggregates reports whether a select list contains an aggregate outside its subqueries.
func (p *prover) aggregates(v any) bool {
	return sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "SUBQUERY"):
			return sqltree.Over
		case n.Is("class", "FUNCTION") && p.list.has("aggregate", n.Function()):
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

func (p *prover) clauses(sel *selection, top bool) {
	n := sel.node
	rows := spot{scope: sel.scope, subqueries: true}
	if where := n.Child("where_clause"); where != nil {
		p.condition(where, rows)
	}
	p.grouping(sel)
	results := rows
	results.aggregates, results.top = sel.aggregated, top && sel.aggregated
	if having := n.Child("having"); having != nil {
		p.condition(having, results)
	}
	p.results(sel, results, top)
	sel.single = sel.aggregated && len(sel.groups) == 0 && n.Child("having") == nil
}

// grouping proves GROUP BY: columns and expressions of exact types.
func (p *prover) grouping(sel *selection) {
	groups := sel.node.List("group_expressions")
	if sets := sel.node.List("group_sets"); len(sets) > 1 || len(sets) == 1 && len(sets[0].([]any)) != len(groups) {
		panic(doubt("several sets of groups"))
	}
	if groupsAll(sel.node) {
		groups = p.plainResults(sel.node.List("select_list"))
	}
	for _, g := range groups {
		e := sel.meant(g.(*sqltree.Node))
		v := p.total(e, spot{scope: sel.scope})
		doubtIf(!v.exact(), "which of equal doubles stands for a group depends on their order")
		sel.groups = append(sel.groups, e)
	}
}

// groupsAll reports whether a SELECT has GROUP BY ALL.
func groupsAll(n *sqltree.Node) bool { return n.Is("aggregate_handling", "FORCE_AGGREGATES") }

// plainResults returns the results without aggregates, which are the groups of GROUP BY
// ALL.
func (p *prover) plainResults(list []any) []any {
	var out []any
	for _, e := range list {
		if !p.aggregates(e) {
			out = append(out, e)
		}
	}
	return out
}

// meant returns the expression that an item of GROUP BY refers to: by a position, as a
// column of FROM, or by the name of a result.
func (s *selection) meant(e *sqltree.Node) *sqltree.Node {
	list := s.node.List("select_list")
	if e.Is("class", "CONSTANT") {
		i, ok := position(e)
		doubtIf(!ok || i > len(list) || hasStar(list) || groupsAll(s.node), "a group that is a constant")
		return list[i-1].(*sqltree.Node)
	}
	if parts := e.Strings("column_names"); e.Is("class", "COLUMN_REF") && len(parts) == 1 {
		if _, count := s.scope.own(parts); count == 0 {
			if target := s.scope.aliases[strings.ToLower(parts[0])]; target != nil {
				return target
			}
		}
	}
	return e
}

// position returns a constant that is the position of a result column.
func position(e *sqltree.Node) (int, bool) {
	lit, ok := sqltree.LiteralOf(e)
	i, err := strconv.Atoi(lit.Text)
	return i, ok && e.Is("class", "CONSTANT") && lit.Family == sqltree.ExactNumber && err == nil && i > 0
}

func hasStar(list []any) bool {
	for _, e := range list {
		if e.(*sqltree.Node).Is("class", "STAR") {
			return true
		}
	}
	return false
}

// results proves the select list. Fallible results are allowed in a plain derived table,
// which passes them on, and in the outermost query if it aggregates.
func (p *prover) results(sel *selection, at spot, top bool) {
	for e := range sel.node.Each("select_list") {
		if e.Is("class", "STAR") {
			sel.star(e)
			continue
		}
		v := p.expr(e, at)
		if v.fallible && top && (!sel.aggregated || sel.limited()) || v.fallible && !top && (sel.aggregated || sel.distinct) {
			panic(doubtf("%s may fail", form(e)))
		}
		doubtIf(sel.distinct && !v.exact(), "which of equal doubles is taken depends on their order")
		sel.add(e, v, top)
	}
}

// add records a result. The text is needed only for results of the outermost query.
func (s *selection) add(e *sqltree.Node, v value, top bool) {
	name, text := e.Str("alias"), ""
	if name != "" {
		s.byAlias[strings.ToLower(name)] = len(s.columns)
	}
	if parts := e.Strings("column_names"); name == "" && e.Is("class", "COLUMN_REF") {
		name = parts[len(parts)-1]
	}
	if top {
		text = bareText(e)
	}
	s.columns = append(s.columns, column{name: name, value: v, known: true})
	s.texts = append(s.texts, text)
}

func (s *selection) limited() bool {
	for m := range s.node.Each("modifiers") {
		if m.Is("type", "LIMIT_MODIFIER") {
			return true
		}
	}
	return false
}

// star adds the columns of a plain star.
func (s *selection) star(e *sqltree.Node) {
	doubtIf(!sqltree.PlainStar(e) || s.aggregated || len(s.scope.merged) > 0, "a star of this kind")
	for _, item := range s.scope.items {
		for _, c := range item.columns {
			doubtIf(s.distinct && (!c.known || !c.value.exact()), "the type of %s", c.name)
			s.columns = append(s.columns, c)
			s.texts = append(s.texts, "")
		}
	}
}
