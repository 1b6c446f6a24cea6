package leakproof

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// provenSelect is a SELECT that was proved.
type provenSelect struct {
	node    *sqltree.Node
	columns []provenColumn
	// texts are its result expressions without their names, empty for columns of
	// a star; byAlias are the results that have names of their own.
	texts   []string
	byAlias map[string]int
	scope   *provenScope
	// aggregated: its rows are groups. single: it has exactly one row.
	aggregated, single bool
	groups             []*sqltree.Node
	distinct           bool
}

// statement proves the outermost query.
func (p *prover) statement(n *sqltree.Node) (Proof, error) {
	sel, err := p.selectNode(n, nil, true)
	if err != nil {
		return Proof{}, err
	}
	return p.settleOrder(sel)
}

// Select proves a SELECT. Below the outermost nothing may fail, because
// whether the engine gets there at all depends on its plan.
func (p *prover) selectNode(n *sqltree.Node, parent *provenScope, top bool) (*provenSelect, error) {
	if !n.Is("type", "SELECT_NODE") || n.Child("qualify") != nil || n.Child("sample") != nil {
		return nil, doubtf("a query of type %s with these clauses", n.Str("type"))
	}
	sel := &provenSelect{node: n, byAlias: map[string]int{}}
	if err := p.commonTables(n.Child("cte_map")); err != nil {
		return nil, err
	}
	if err := sel.modifiers(top); err != nil {
		return nil, err
	}
	sel.scope = &provenScope{parent: parent, merged: map[string]bool{}, aliases: map[string]*sqltree.Node{}}
	for _, e := range n.List("select_list") {
		alias := strings.ToLower(e.(*sqltree.Node).Str("alias"))
		if alias != "" && sel.scope.aliases[alias] != nil {
			return nil, doubtf("two results named %s", alias)
		}
		if alias != "" {
			sel.scope.aliases[alias] = e.(*sqltree.Node)
		}
	}
	sel.aggregated = len(n.List("group_expressions")) > 0 || groupsAll(n) || n.Child("having") != nil || p.aggregates(n.List("select_list"))
	// Doubtful columns of a query in FROM are computed for all rows only if
	// nothing else stands beside or above it.
	alone := top && sel.aggregated && n.Child("where_clause") == nil
	items, err := p.from(n.Child("from_table"), sel.scope, alone)
	if err != nil {
		return nil, err
	}
	sel.scope.items = items
	return sel, p.clauses(sel, top)
}

func (s *provenSelect) modifiers(top bool) error {
	for _, m := range s.node.List("modifiers") {
		switch m := m.(*sqltree.Node); {
		case m.Is("type", "DISTINCT_MODIFIER") && len(m.List("distinct_on_targets")) == 0:
			s.distinct = true
		case top && m.Is("type", "ORDER_MODIFIER"), top && m.Is("type", "LIMIT_MODIFIER"):
		default:
			return doubtf("%s in this place", m.Str("type"))
		}
	}
	return nil
}

// aggregates says that a select list holds an aggregate of its own.
func (p *prover) aggregates(v any) bool {
	return sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "SUBQUERY"):
			return sqltree.Over
		case n.Is("class", "FUNCTION") && p.list.has("aggregate", strings.ToLower(n.Str("function_name"))):
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

func (p *prover) clauses(sel *provenSelect, top bool) error {
	n := sel.node
	rows := spot{scope: sel.scope, subqueries: true}
	if where := n.Child("where_clause"); where != nil {
		if err := p.condition(where, rows); err != nil {
			return err
		}
	}
	if err := p.grouping(sel); err != nil {
		return err
	}
	results := rows
	results.aggregates, results.top = sel.aggregated, top && sel.aggregated
	if having := n.Child("having"); having != nil {
		if err := p.condition(having, results); err != nil {
			return err
		}
	}
	if err := p.results(sel, results, top); err != nil {
		return err
	}
	sel.single = sel.aggregated && len(sel.groups) == 0 && n.Child("having") == nil
	return nil
}

// grouping proves GROUP BY: plain columns and expressions of exact types.
func (p *prover) grouping(sel *provenSelect) error {
	groups := sel.node.List("group_expressions")
	if sets := sel.node.List("group_sets"); len(sets) > 1 || len(sets) == 1 && len(sets[0].([]any)) != len(groups) {
		return doubt("several sets of groups")
	}
	if groupsAll(sel.node) {
		groups = p.plainResults(sel.node.List("select_list"))
	}
	for _, g := range groups {
		e, err := sel.meant(g.(*sqltree.Node))
		if err != nil {
			return err
		}
		v, err := p.total(e, spot{scope: sel.scope})
		if err != nil {
			return err
		}
		if !v.exact() {
			return doubt("which of equal doubles stands for a group depends on their order")
		}
		sel.groups = append(sel.groups, e)
	}
	return nil
}

// groupsAll says that GROUP BY ALL stands in a SELECT.
func groupsAll(n *sqltree.Node) bool { return n.Is("aggregate_handling", "FORCE_AGGREGATES") }

// plainResults are the results without aggregates: the groups of GROUP BY ALL.
func (p *prover) plainResults(list []any) []any {
	var out []any
	for _, e := range list {
		if !p.aggregates(e) {
			out = append(out, e)
		}
	}
	return out
}

// meant is the expression that an item of GROUP BY means: a position, a column
// of FROM, or the name of a result.
func (s *provenSelect) meant(e *sqltree.Node) (*sqltree.Node, error) {
	list := s.node.List("select_list")
	if e.Is("class", "CONSTANT") {
		i, ok := position(e)
		if !ok || i > len(list) || hasStar(list) || groupsAll(s.node) {
			return nil, doubt("a group that is a constant")
		}
		return list[i-1].(*sqltree.Node), nil
	}
	if parts := e.Strings("column_names"); e.Is("class", "COLUMN_REF") && len(parts) == 1 {
		if _, count := s.scope.own(parts); count == 0 {
			if target := s.scope.aliases[strings.ToLower(parts[0])]; target != nil {
				return target, nil
			}
		}
	}
	return e, nil
}

// position reads a constant that counts result columns.
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

// results proves the select list. Doubtful results are passed on only by a plain
// query in FROM, and shown only by the outermost one when it aggregates.
func (p *prover) results(sel *provenSelect, at spot, top bool) error {
	for _, item := range sel.node.List("select_list") {
		e := item.(*sqltree.Node)
		if e.Is("class", "STAR") {
			if err := sel.star(e); err != nil {
				return err
			}
			continue
		}
		v, err := p.expr(e, at)
		if err != nil {
			return err
		}
		if v.fallible && top && (!sel.aggregated || sel.limited()) || v.fallible && !top && (sel.aggregated || sel.distinct) {
			return doubtf("%s may fail", form(e))
		}
		if sel.distinct && !v.exact() {
			return doubt("which of equal doubles is taken depends on their order")
		}
		sel.add(e, v, top)
	}
	return nil
}

// add notes a result. Only those of the outermost query are looked for later.
func (s *provenSelect) add(e *sqltree.Node, v provenValue, top bool) {
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
	s.columns = append(s.columns, provenColumn{name: name, value: v, known: true})
	s.texts = append(s.texts, text)
}

func (s *provenSelect) limited() bool {
	for _, m := range s.node.List("modifiers") {
		if m.(*sqltree.Node).Is("type", "LIMIT_MODIFIER") {
			return true
		}
	}
	return false
}

// star adds the columns of a plain star.
func (s *provenSelect) star(e *sqltree.Node) error {
	if !sqltree.PlainStar(e) || s.aggregated || len(s.scope.merged) > 0 {
		return doubt("a star of this kind")
	}
	for _, item := range s.scope.items {
		for _, c := range item.columns {
			if s.distinct && (!c.known || !c.value.exact()) {
				return doubtf("the type of %s", c.name)
			}
			s.columns = append(s.columns, c)
			s.texts = append(s.texts, "")
		}
	}
	return nil
}
