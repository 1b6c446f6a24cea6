package sqlguard

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// Explain returns the plan text of an EXPLAIN statement: one operator a line,
// the last one of the execution first, each below and further right than the
// one that reads it.
//
// It is made from the statement as the user wrote it and from the columns that
// the user sees, in the order of Tables; it tells nothing of the tables' data,
// files, versions and policies, and not which table is filtered. Errors are
// those of the parser, or CodePrinter.
func (q *Query) Explain(ctx context.Context, parser engine.Parser, relations []Relation) ([]string, error) {
	if q.kind != KindExplain {
		return nil, fmt.Errorf("the plan of a statement that is no EXPLAIN")
	}
	if len(relations) != len(q.tables) {
		return nil, fmt.Errorf("explaining %d relations for %d tables", len(relations), len(q.tables))
	}
	p := &planner{q: q, relations: relations, tables: map[*node]int{}, subqueries: map[*node]string{}}
	for i, t := range q.tables {
		p.tables[q.written.of[t.node]] = i
	}
	top := p.query(q.written.root.list("statements")[0].(*node).child("node"))
	texts, err := printPieces(ctx, parser, p.exprs, q.text)
	if err != nil {
		return nil, err
	}
	var lines []string
	top.lines(texts, 0, &lines)
	return lines, nil
}

// asWrittenTree is a copy of the tree before the guards went into it, with the
// copies of its table references.
type asWrittenTree struct {
	root *node
	of   map[*node]*node
}

func copyWritten(root *node) asWrittenTree {
	out := asWrittenTree{of: map[*node]*node{}}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			list := make([]any, len(v))
			for i, x := range v {
				list[i] = walk(x)
			}
			return list
		case *node:
			n := &node{keys: v.keys, vals: make([]any, len(v.vals))}
			if v.is("type", "BASE_TABLE") {
				out.of[v] = n
			}
			for i, x := range v.vals {
				n.vals[i] = walk(x)
			}
			if num, ok := infinity(n); ok { // the printer does not accept it
				n.become(castNode(textNode(string(num)), "DOUBLE"))
			}
			return n
		}
		return v
	}
	out.root = walk(root).(*node)
	return out
}

// planner turns a tree into operators. Expressions are collected and printed
// together.
type planner struct {
	q          *Query
	relations  []Relation
	tables     map[*node]int
	exprs      []*node
	subqueries map[*node]string
}

// operator is one line of the plan, its text in pieces, over its inputs.
type operator struct {
	pieces []piece
	inputs []*operator
}

// piece is a text, or where expr is not zero the expression of that number,
// counted from one; closed expressions keep their parentheses.
type piece struct {
	text   string
	expr   int
	closed bool
}

func op(text string, inputs ...*operator) *operator {
	o := &operator{pieces: []piece{{text: text}}}
	for _, in := range inputs {
		o.reads(in)
	}
	return o
}

// reads adds an input; nil is none.
func (o *operator) reads(in *operator) *operator {
	if in != nil {
		o.inputs = append(o.inputs, in)
	}
	return o
}

func (o *operator) write(text string) *operator {
	if text != "" {
		o.pieces = append(o.pieces, piece{text: text})
	}
	return o
}

// style is how an expression is written.
type style struct {
	// closed keeps the parentheses around it, named its alias.
	closed, named bool
}

// expression writes an expression with its subqueries as further inputs.
func (p *planner) expression(o *operator, e *node, s style) {
	e = p.detach(o, e).(*node)
	if !s.named {
		e.set("alias", "")
	}
	p.exprs = append(p.exprs, e)
	o.pieces = append(o.pieces, piece{expr: len(p.exprs), closed: s.closed})
}

// list writes expressions with commas between.
func (p *planner) list(o *operator, before string, exprs []*node, s style) *operator {
	for i, e := range exprs {
		if i == 0 {
			o.write(before)
		} else {
			o.write(", ")
		}
		p.expression(o, e, s)
	}
	return o
}

// detach copies an expression without its subqueries: a name stands for each,
// and its plan becomes an input of o.
func (p *planner) detach(o *operator, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = p.detach(o, x)
		}
		return out
	case *node:
		if v.is("function_name", "count_star") && len(v.list("children")) == 0 {
			v = starCount(v)
		}
		out := &node{keys: v.keys, vals: make([]any, len(v.vals))}
		for i, k := range v.keys {
			if k == "subquery" && v.is("class", "SUBQUERY") {
				name := columnNode(p.subquery(o, v))
				out.vals[i] = statementNode(selectNode([]any{name}, emptyFrom()))
			} else {
				out.vals[i] = p.detach(o, v.vals[i])
			}
		}
		return out
	}
	return v
}

// starCount writes count(*) as users do.
func starCount(n *node) *node {
	out := &node{keys: n.keys, vals: append([]any(nil), n.vals...)}
	out.set("function_name", "count")
	out.set("children", []any{expression("STAR", "STAR", "relation_name", "", "exclude_list", []any{}, "replace_list", []any{},
		"columns", false, "expr", nil)})
	return out
}

// subquery names a subquery. One that stands in two operators is planned below
// the one that runs first.
func (p *planner) subquery(o *operator, n *node) string {
	if name, ok := p.subqueries[n]; ok {
		return name
	}
	name := fmt.Sprintf("subquery_%d", len(p.subqueries)+1)
	p.subqueries[n] = name
	o.reads(op("SUBQUERY "+name, p.query(n.child("subquery").child("node"))))
	return name
}

// query is the plan of a query with its WITH and its modifiers.
func (p *planner) query(n *node) *operator {
	var with *operator
	if ctes := n.child("cte_map").list("map"); len(ctes) > 0 {
		with = op("WITH")
		for _, e := range ctes {
			entry := e.(*node)
			with.reads(op("CTE "+entry.str("key"), p.query(entry.child("value").child("query").child("node"))))
		}
	}
	var out *operator
	switch n.str("type") {
	case "SELECT_NODE":
		out = p.selectPlan(n)
	case "SET_OPERATION_NODE":
		out = op(setName(n))
		sides := n.list("children")
		if len(sides) == 0 {
			sides = []any{n.get("left"), n.get("right")}
		}
		for _, side := range sides {
			out.reads(p.query(side.(*node)))
		}
	case "RECURSIVE_CTE_NODE":
		name := "RECURSIVE UNION"
		if all, ok := n.get("union_all").(bool); all || !ok {
			name += " ALL"
		}
		out = op(name, p.query(n.child("left")), p.query(n.child("right")))
	}
	for _, m := range n.list("modifiers") {
		out = p.modifier(m.(*node), out)
	}
	if with != nil {
		return with.reads(out)
	}
	return out
}

func setName(n *node) string {
	typ, byName := strings.CutSuffix(n.str("setop_type"), "_BY_NAME")
	if all, ok := n.get("setop_all").(bool); all || !ok {
		typ += " ALL"
	}
	if byName {
		typ += " BY NAME"
	}
	return typ
}

func (p *planner) modifier(m *node, in *operator) *operator {
	switch m.str("type") {
	case "ORDER_MODIFIER":
		o := op("SORT ", in)
		for i, x := range m.list("orders") {
			if i > 0 {
				o.write(", ")
			}
			p.order(o, x.(*node))
		}
		return o
	case "DISTINCT_MODIFIER":
		o := op("DISTINCT", in)
		if on := nodes(m.list("distinct_on_targets")); len(on) > 0 {
			p.list(o, " ON (", on, style{}).write(")")
		}
		return o
	}
	unit := ""
	if m.is("type", "LIMIT_PERCENT_MODIFIER") {
		unit = "%"
	}
	o := op("", in)
	if limit := m.child("limit"); limit != nil {
		p.list(o, "LIMIT ", []*node{limit}, style{}).write(unit)
	}
	if offset := m.child("offset"); offset != nil {
		before := "OFFSET "
		if m.child("limit") != nil {
			before = " OFFSET "
		}
		p.list(o, before, []*node{offset}, style{})
	}
	return o
}

func (p *planner) order(o *operator, order *node) {
	if e := order.child("expression"); e.is("class", "STAR") && e.flag("columns") && e.child("expr") == nil {
		o.write("ALL")
	} else {
		p.expression(o, e, style{})
	}
	switch order.str("type") {
	case "DESCENDING":
		o.write(" DESC")
	case "ASCENDING":
		o.write(" ASC")
	}
	if nulls := order.str("null_order"); nulls != "ORDER_DEFAULT" && nulls != "" {
		o.write(" " + nulls)
	}
}

func nodes(list []any) []*node {
	out := make([]*node, len(list))
	for i, x := range list {
		out[i] = x.(*node)
	}
	return out
}
