package explain

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// selectPlan returns the plan of one SELECT, from its FROM upwards.
func (p *planner) selectPlan(n *sqltree.Node) *operator {
	out := p.from(n.Child("from_table"))
	out = p.filter("FILTER", n.Child("where_clause"), out)
	if s := n.Child("sample"); s != nil {
		out = op("SAMPLE "+sampleText(s), out)
	}
	list := n.Nodes("select_list")
	out = p.aggregate(n, append(append([]*sqltree.Node(nil), list...), results(n)...), out)
	out = p.filter("HAVING", n.Child("having"), out)
	if windows := calls(append(list, results(n)...), functions.IsWindow); len(windows) > 0 {
		out = p.List(op("WINDOW", out), " ", windows, style{})
	}
	out = p.filter("QUALIFY", n.Child("qualify"), out)
	return p.List(op("PROJECT", out), " ", list, style{named: true})
}

// results returns the expressions outside the select list that may contain aggregates and
// window functions.
func results(n *sqltree.Node) []*sqltree.Node {
	var out []*sqltree.Node
	for _, e := range []*sqltree.Node{n.Child("having"), n.Child("qualify")} {
		if e != nil {
			out = append(out, e)
		}
	}
	for _, m := range n.Nodes("modifiers") {
		for _, o := range m.Nodes("orders") {
			out = append(out, o.Child("expression"))
		}
	}
	return out
}

// filter returns an operator for a condition.
func (p *planner) filter(name string, condition *sqltree.Node, in *operator) *operator {
	if condition == nil {
		return in
	}
	return p.condition(op(name+" ", in), condition)
}

func (p *planner) condition(o *operator, condition *sqltree.Node) *operator {
	parts := sqltree.Conjuncts(condition)
	for i, c := range parts {
		if i > 0 {
			o.write(" AND ")
		}
		p.expression(o, c, style{closed: len(parts) > 1 && c.Is("class", "CONJUNCTION")})
	}
	return o
}

// calls returns the outermost expressions for which wanted is true, each once and without
// those in subqueries.
func calls(exprs []*sqltree.Node, wanted func(*sqltree.Node) bool) []*sqltree.Node {
	var out []*sqltree.Node
	seen := map[string]bool{}
	visit := func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "SUBQUERY"):
			return sqltree.Over
		case !wanted(n):
			return sqltree.Into
		}
		if key := withoutPlace(n); !seen[key] {
			seen[key] = true
			out = append(out, n)
		}
		return sqltree.Over
	}
	for _, e := range exprs {
		sqltree.Walk(e, visit)
	}
	return out
}

// withoutPlace returns an expression as text, without its alias and positions.
func withoutPlace(n *sqltree.Node) string {
	same := n.Clone()
	same.Unset("alias")
	sqltree.Walk(same, func(n *sqltree.Node) sqltree.Step {
		n.Unset("query_location")
		return sqltree.Into
	})
	return string(sqltree.Encode(nil, same))
}

func (p *planner) aggregate(n *sqltree.Node, results []*sqltree.Node, in *operator) *operator {
	found := calls(results, functions.IsAggregate)
	groups, sets := n.Nodes("group_expressions"), n.List("group_sets")
	all := n.Is("aggregate_handling", "FORCE_AGGREGATES")
	if len(found) == 0 && len(sets) == 0 && !all {
		return in
	}
	o := p.List(op("AGGREGATE", in), " ", found, style{})
	switch {
	case all:
		o.write(" GROUP BY ALL")
	case len(sets) == 1 && len(groups) > 0:
		p.List(o, " GROUP BY ", groups, style{})
	case len(sets) > 1:
		o.write(" GROUP BY GROUPING SETS (")
		for i, s := range sets {
			if i > 0 {
				o.write(", ")
			}
			var members []*sqltree.Node
			for _, m := range s.([]any) {
				if at := sqltree.IndexOf(m); at >= 0 && at < len(groups) {
					members = append(members, groups[at])
				}
			}
			p.List(o.write("("), "", members, style{}).write(")")
		}
		o.write(")")
	}
	return o
}

// sampleText returns the size of a sample.
func sampleText(s *sqltree.Node) string {
	lit, _ := sqltree.LiteralValue(s.Child("sample_size"))
	if s.Flag("is_percentage") {
		return lit.Text + "%"
	}
	return lit.Text + " ROWS"
}

// from returns the plan of an item of FROM, or nil.
func (p *planner) from(ref *sqltree.Node) *operator {
	var out *operator
	switch ref.Str("type") {
	case "BASE_TABLE":
		out = p.scan(ref)
	case "JOIN":
		out = p.join(ref)
	case "SUBQUERY":
		out = op(strings.TrimSuffix("SUBQUERY "+ref.Str("alias"), " "), p.query(ref.Child("subquery").Child("node")))
	case "TABLE_FUNCTION":
		out = op("TABLE FUNCTION ")
		p.expression(out, ref.Child("function"), style{})
		out.write(aliasText(ref))
	case "EXPRESSION_LIST":
		out = op("VALUES " + count(len(ref.List("values")), "row"))
	case "PIVOT":
		out = p.pivot(ref)
	case "SHOW_REF":
		name := "DESCRIBE"
		if ref.Is("show_type", "SUMMARY") {
			name = "SUMMARIZE"
		}
		out = op(name, p.query(ref.Child("query")))
	default:
		return nil
	}
	if s := ref.Child("sample"); s != nil {
		out = op("SAMPLE "+sampleText(s), out)
	}
	return out
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

func aliasText(ref *sqltree.Node) string {
	if alias := ref.Str("alias"); alias != "" {
		return " AS " + alias
	}
	return ""
}

// scan returns the operator that reads a table, with the columns that the statement may
// need.
func (p *planner) scan(ref *sqltree.Node) *operator {
	t, ok := p.tables[ref]
	if !ok {
		return op("CTE SCAN " + ref.Str("table_name") + aliasText(ref))
	}
	text := "SCAN " + t.Name
	switch {
	case t.AtVersion != nil:
		text += " AT VERSION " + strconv.FormatInt(*t.AtVersion, 10)
	case t.AtTimestamp != nil:
		text += " AT TIMESTAMP " + t.AtTimestamp.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	text += aliasText(ref)
	if len(t.Columns) > 0 {
		text += " (" + strings.Join(t.Columns, ", ") + ")"
	}
	return op(text)
}

func (p *planner) join(ref *sqltree.Node) *operator {
	kind := ref.Str("join_type") + " JOIN"
	switch r := ref.Str("ref_type"); r {
	case "REGULAR":
	case "CROSS", "POSITIONAL":
		kind = r + " JOIN"
	default:
		kind = r + " " + kind
	}
	o := op(kind)
	if using := ref.Strings("using_columns"); len(using) > 0 {
		o.write(" USING (" + strings.Join(using, ", ") + ")")
	}
	o.reads(p.from(ref.Child("left"))).reads(p.from(ref.Child("right")))
	if c := ref.Child("condition"); c != nil {
		p.condition(o.write(" ON "), c)
	}
	return o
}

func (p *planner) pivot(ref *sqltree.Node) *operator {
	name := "PIVOT"
	if len(ref.List("aggregates")) == 0 {
		name = "UNPIVOT"
	}
	o := p.List(op(name, p.from(ref.Child("source"))), " ", ref.Nodes("aggregates"), style{named: true})
	if names := ref.Strings("unpivot_names"); len(names) > 0 {
		o.write(" " + strings.Join(names, ", "))
	}
	for i, c := range ref.Nodes("pivots") {
		before := " ON "
		if i > 0 {
			before = ", "
		}
		o.write(before + strings.Join(c.Strings("unpivot_names"), ", "))
		p.List(o, "", c.Nodes("pivot_expressions"), style{})
		o.write(" IN (" + count(len(c.List("entries")), "value") + ")")
	}
	if groups := ref.Strings("groups"); len(groups) > 0 {
		o.write(" GROUP BY " + strings.Join(groups, ", "))
	}
	return o.write(aliasText(ref))
}
