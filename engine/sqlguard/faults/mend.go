package faults

import (
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Changes holds the result columns whose text was changed and that have no alias: the engine
// would name them after the new text.
type Changes struct {
	// Columns are the changed expressions, Before what they were, in the same order.
	Columns, Before []*sqltree.Node
}

// Mend rewrites a statement. The columns are those of the tables that it reads. With bounded,
// no sum of the statement can pass its range. It refuses what it cannot rewrite.
func Mend(stmt *sqltree.Node, columns []engine.Column, bounded bool) (Changes, *refusal.Error) {
	if refused := refuseRows(stmt); refused != nil {
		return Changes{}, refused
	}
	m := &mender{sums: !bounded && mayBeWide(stmt, columns), ties: tiesOf(stmt)}
	m.visit(stmt)
	return m.out, m.refused
}

type mender struct {
	// sums reports that aggregates may get values of more than 64 bits.
	sums    bool
	ties    ties
	out     Changes
	changed bool
	refused *refusal.Error
}

// visit rewrites what v holds, from the outside to the inside: what a rewrite adds is not
// visited.
func (m *mender) visit(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			m.visit(x)
		}
	case *sqltree.Node:
		if v == nil || m.refused != nil {
			return
		}
		m.node(v)
	}
}

func (m *mender) node(n *sqltree.Node) {
	switch {
	case n.Is("type", "SELECT_NODE"):
		m.results(n)
	case n.Is("type", "PIVOT") && m.sums:
		m.pivot(n)
	}
	m.fields(n)
	m.topN(n)
	if changed := m.rewritten(n); changed != nil {
		alias := n.Str("alias")
		n.Become(changed)
		n.Set("alias", alias)
		m.changed = true
	}
}

// fields visits the fields of n, except the results of a SELECT.
func (m *mender) fields(n *sqltree.Node) {
	for name, v := range n.Fields() {
		if name != "select_list" || !n.Is("type", "SELECT_NODE") {
			m.visit(v)
		}
	}
}

// results rewrites the result columns of a SELECT.
func (m *mender) results(sel *sqltree.Node) {
	for e := range sel.Each("select_list") {
		before := e.Clone()
		outer := m.changed
		m.changed = false
		m.visit(e)
		if m.changed && e.Str("alias") == "" && !sqltree.Contains(e, "STAR") {
			m.out.Columns, m.out.Before = append(m.out.Columns, e), append(m.out.Before, before)
		}
		m.changed = m.changed || outer
	}
}

// rewritten returns another form of the expression n, or nil.
func (m *mender) rewritten(n *sqltree.Node) *sqltree.Node {
	switch n.Str("class") {
	case "COMPARISON":
		return distinct(n)
	case "FUNCTION", "WINDOW":
		if m.sums {
			return m.aggregate(n)
		}
	}
	return nil
}

// distinct returns another form of IS DISTINCT FROM a constant. In a disjunction the engine
// skips row groups in which all values are NULL, although NULL is distinct from the constant;
// it does not look into the function.
func distinct(n *sqltree.Node) *sqltree.Node {
	if !n.Is("type", "COMPARE_DISTINCT_FROM") ||
		sqltree.Contains(n.Child("left"), "COLUMN_REF") && sqltree.Contains(n.Child("right"), "COLUMN_REF") {
		return nil
	}
	compared := n.Clone()
	compared.Set("alias", "")
	no := sqltree.Cast(sqltree.Text("f"), "BOOLEAN")
	return sqltree.Expression("OPERATOR", "OPERATOR_COALESCE", "children", []any{compared, no})
}
