package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Table describes a table of the statement.
type Table struct {
	// Name is the full name of the table.
	Name string
	// AtVersion and AtTimestamp hold the AT clause; at most one is set.
	AtVersion   *int64
	AtTimestamp *time.Time
	// Columns are the columns that the statement may need.
	Columns []string
}

// Plan returns the plan text of a statement: one operator a line, the last one of the
// execution first, each below and further right than the operator that reads it. tables
// describes the table references of the document from which w was copied, and text is the
// text of the statement. The errors are those of the parser and the printer.
func (w Written) Plan(ctx context.Context, parser engine.Parser, text string, tables map[*sqltree.Node]Table) ([]string, error) {
	p := &planner{tables: map[*sqltree.Node]Table{}, subqueries: map[*sqltree.Node]string{}}
	for n, t := range tables {
		p.tables[w.of[n]] = t
	}
	top := p.query(sqltree.StatementOf(w.root).Child("node"))
	texts, err := printPieces(ctx, parser, p.exprs, text)
	if err != nil {
		return nil, err
	}
	var lines []string
	top.lines(texts, 0, &lines)
	return lines, nil
}

// Written is a copy of a statement from before guards were inserted.
type Written struct {
	root *sqltree.Node
	of   map[*sqltree.Node]*sqltree.Node // the copies of its table references
}

// CopyWritten copies a document.
func CopyWritten(root *sqltree.Node) Written {
	out := Written{of: map[*sqltree.Node]*sqltree.Node{}}
	out.root = root.CloneNoting(func(from, to *sqltree.Node) {
		if from.Is("type", "BASE_TABLE") {
			out.of[from] = to
		}
		if num, ok := printer.Infinity(to); ok { // the printer does not accept it
			to.Become(sqltree.Cast(sqltree.Text(string(num)), "DOUBLE"))
		}
	})
	return out
}

// planner turns a tree into operators. Expressions are collected and printed together.
type planner struct {
	tables     map[*sqltree.Node]Table
	exprs      []*sqltree.Node
	subqueries map[*sqltree.Node]string
}

// operator is one line of the plan, its text in pieces, over its inputs.
type operator struct {
	pieces []piece
	inputs []*operator
}

// piece is a text, or the expression with number expr if that is not zero. Expressions are
// numbered from one. A closed expression keeps its parentheses.
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

// reads adds an input, unless it is nil.
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

// style controls how an expression is written.
type style struct {
	// closed keeps the parentheses around the expression, named its alias.
	closed, named bool
}

// expression writes an expression. Its subqueries become inputs of o.
func (p *planner) expression(o *operator, e *sqltree.Node, s style) {
	e = p.detach(o, e).(*sqltree.Node)
	if !s.named {
		e.Set("alias", "")
	}
	p.exprs = append(p.exprs, e)
	o.pieces = append(o.pieces, piece{expr: len(p.exprs), closed: s.closed})
}

// List writes expressions with commas between.
func (p *planner) List(o *operator, before string, exprs []*sqltree.Node, s style) *operator {
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

// detach copies an expression and replaces its subqueries with names. Their plans become
// inputs of o.
func (p *planner) detach(o *operator, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = p.detach(o, x)
		}
		return out
	case *sqltree.Node:
		if v.Is("function_name", "count_star") && len(v.List("children")) == 0 {
			v = starCount(v)
		}
		return v.Convert(func(key string, x any) any {
			if key == "subquery" && v.Is("class", "SUBQUERY") {
				return sqltree.Statement(sqltree.Select([]any{sqltree.Column(p.subquery(o, v))}, sqltree.EmptyFrom()))
			}
			return p.detach(o, x)
		})
	}
	return v
}

// starCount returns count(*) as users write it.
func starCount(n *sqltree.Node) *sqltree.Node {
	out := n.Convert(func(_ string, v any) any { return v })
	out.Set("function_name", "count")
	out.Set("children", []any{sqltree.Expression("STAR", "STAR", "relation_name", "", "exclude_list", []any{}, "replace_list", []any{},
		"columns", false, "expr", nil)})
	return out
}

// subquery returns the name of a subquery. A subquery of two operators is planned below the
// one that runs first.
func (p *planner) subquery(o *operator, n *sqltree.Node) string {
	if name, ok := p.subqueries[n]; ok {
		return name
	}
	name := fmt.Sprintf("subquery_%d", len(p.subqueries)+1)
	p.subqueries[n] = name
	o.reads(op("SUBQUERY "+name, p.query(n.Child("subquery").Child("node"))))
	return name
}

// query returns the plan of a query with its WITH and its modifiers.
func (p *planner) query(n *sqltree.Node) *operator {
	var with *operator
	if ctes := n.Child("cte_map").List("map"); len(ctes) > 0 {
		with = op("WITH")
		for _, e := range ctes {
			entry := e.(*sqltree.Node)
			with.reads(op("CTE "+entry.Str("key"), p.query(entry.Child("value").Child("query").Child("node"))))
		}
	}
	var out *operator
	switch n.Str("type") {
	case "SELECT_NODE":
		out = p.selectPlan(n)
	case "SET_OPERATION_NODE":
		out = op(setName(n))
		sides := n.List("children")
		if len(sides) == 0 {
			sides = []any{n.Get("left"), n.Get("right")}
		}
		for _, side := range sides {
			out.reads(p.query(side.(*sqltree.Node)))
		}
	case "RECURSIVE_CTE_NODE":
		name := "RECURSIVE UNION"
		if all, ok := n.Get("union_all").(bool); all || !ok {
			name += " ALL"
		}
		out = op(name, p.query(n.Child("left")), p.query(n.Child("right")))
	}
	for m := range n.Each("modifiers") {
		out = p.modifier(m, out)
	}
	if with != nil {
		return with.reads(out)
	}
	return out
}

func setName(n *sqltree.Node) string {
	typ, byName := strings.CutSuffix(n.Str("setop_type"), "_BY_NAME")
	if all, ok := n.Get("setop_all").(bool); all || !ok {
		typ += " ALL"
	}
	if byName {
		typ += " BY NAME"
	}
	return typ
}

func (p *planner) modifier(m *sqltree.Node, in *operator) *operator {
	switch m.Str("type") {
	case "ORDER_MODIFIER":
		o := op("SORT ", in)
		for i, x := range m.List("orders") {
			if i > 0 {
				o.write(", ")
			}
			p.order(o, x.(*sqltree.Node))
		}
		return o
	case "DISTINCT_MODIFIER":
		o := op("DISTINCT", in)
		if on := m.Nodes("distinct_on_targets"); len(on) > 0 {
			p.List(o, " ON (", on, style{}).write(")")
		}
		return o
	}
	unit := ""
	if m.Is("type", "LIMIT_PERCENT_MODIFIER") {
		unit = "%"
	}
	o := op("", in)
	if limit := m.Child("limit"); limit != nil {
		p.List(o, "LIMIT ", []*sqltree.Node{limit}, style{}).write(unit)
	}
	if offset := m.Child("offset"); offset != nil {
		before := "OFFSET "
		if m.Child("limit") != nil {
			before = " OFFSET "
		}
		p.List(o, before, []*sqltree.Node{offset}, style{})
	}
	return o
}

func (p *planner) order(o *operator, order *sqltree.Node) {
	if e := order.Child("expression"); e.Is("class", "STAR") && e.Flag("columns") && e.Child("expr") == nil {
		o.write("ALL")
	} else {
		p.expression(o, e, style{})
	}
	switch order.Str("type") {
	case "DESCENDING":
		o.write(" DESC")
	case "ASCENDING":
		o.write(" ASC")
	}
	if nulls := order.Str("null_order"); nulls != "ORDER_DEFAULT" && nulls != "" {
		o.write(" " + nulls)
	}
}
