package sqlguard

import (
	"strconv"
	"strings"
)

// selectPlan is the plan of one SELECT, from its FROM upwards.
func (p *planner) selectPlan(n *node) *operator {
	out := p.from(n.child("from_table"))
	out = p.filter("FILTER", n.child("where_clause"), out)
	if s := n.child("sample"); s != nil {
		out = op("SAMPLE "+sampleText(s), out)
	}
	list := nodes(n.list("select_list"))
	out = p.aggregate(n, append(append([]*node(nil), list...), results(n)...), out)
	out = p.filter("HAVING", n.child("having"), out)
	if windows := calls(append(list, results(n)...), isWindow); len(windows) > 0 {
		out = p.list(op("WINDOW", out), " ", windows, style{})
	}
	out = p.filter("QUALIFY", n.child("qualify"), out)
	return p.list(op("PROJECT", out), " ", list, style{named: true})
}

// results are the expressions beside the select list that may hold aggregates
// and window functions.
func results(n *node) []*node {
	var out []*node
	for _, e := range []*node{n.child("having"), n.child("qualify")} {
		if e != nil {
			out = append(out, e)
		}
	}
	for _, m := range nodes(n.list("modifiers")) {
		for _, o := range nodes(m.list("orders")) {
			out = append(out, o.child("expression"))
		}
	}
	return out
}

// filter writes a condition with its top-level ANDs.
func (p *planner) filter(name string, condition *node, in *operator) *operator {
	if condition == nil {
		return in
	}
	return p.condition(op(name+" ", in), condition)
}

func (p *planner) condition(o *operator, condition *node) *operator {
	parts := topConjuncts(condition)
	for i, c := range parts {
		if i > 0 {
			o.write(" AND ")
		}
		p.expression(o, c, style{closed: len(parts) > 1 && c.is("class", "CONJUNCTION")})
	}
	return o
}

// aggregateNames are the aggregates that users may call.
var aggregateNames = set(strings.Fields(`any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max
	arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor
	bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum
	group_concat histogram histogram_exact json_group_array json_group_object json_group_structure kahan_sum kurtosis
	kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc
	regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem
	skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance wavg weighted_avg`)...)

func isAggregate(n *node) bool {
	return n.is("class", "FUNCTION") && !n.flag("is_operator") && aggregateNames[lower(n.str("function_name"))]
}

func isWindow(n *node) bool { return n.is("class", "WINDOW") }

// calls finds the outermost expressions of a sort, each once, and leaves
// subqueries out.
func calls(exprs []*node, wanted func(*node) bool) []*node {
	var out []*node
	seen := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case *node:
			if v == nil || v.is("class", "SUBQUERY") {
				return
			}
			if wanted(v) {
				same := v.clone()
				same.set("alias", "")
				if key := string(encode(nil, withoutPlaces(same))); !seen[key] {
					seen[key] = true
					out = append(out, v)
				}
				return
			}
			for _, x := range v.vals {
				walk(x)
			}
		}
	}
	for _, e := range exprs {
		walk(e)
	}
	return out
}

// withoutPlaces forgets where in the text a tree stood.
func withoutPlaces(v any) any {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			withoutPlaces(x)
		}
	case *node:
		if v == nil {
			return v
		}
		for i, k := range v.keys {
			if k == "query_location" {
				v.vals[i] = nil
			} else {
				withoutPlaces(v.vals[i])
			}
		}
	}
	return v
}

func (p *planner) aggregate(n *node, results []*node, in *operator) *operator {
	found := calls(results, isAggregate)
	groups, sets := nodes(n.list("group_expressions")), n.list("group_sets")
	all := n.is("aggregate_handling", "FORCE_AGGREGATES")
	if len(found) == 0 && len(sets) == 0 && !all {
		return in
	}
	o := p.list(op("AGGREGATE", in), " ", found, style{})
	switch {
	case all:
		o.write(" GROUP BY ALL")
	case len(sets) == 1 && len(groups) > 0:
		p.list(o, " GROUP BY ", groups, style{})
	case len(sets) > 1:
		o.write(" GROUP BY GROUPING SETS (")
		for i, s := range sets {
			if i > 0 {
				o.write(", ")
			}
			var members []*node
			for _, m := range s.([]any) {
				if at := atoi(m); at >= 0 && at < len(groups) {
					members = append(members, groups[at])
				}
			}
			p.list(o.write("("), "", members, style{}).write(")")
		}
		o.write(")")
	}
	return o
}

// sampleText is the size of a sample.
func sampleText(s *node) string {
	lit, _ := plainConstant(s.child("sample_size"))
	if s.flag("is_percentage") {
		return lit.text + "%"
	}
	return lit.text + " ROWS"
}

// from is the plan of an item of FROM; nil where there is none.
func (p *planner) from(ref *node) *operator {
	var out *operator
	switch ref.str("type") {
	case "BASE_TABLE":
		out = p.scan(ref)
	case "JOIN":
		out = p.join(ref)
	case "SUBQUERY":
		out = op(strings.TrimSuffix("SUBQUERY "+ref.str("alias"), " "), p.query(ref.child("subquery").child("node")))
	case "TABLE_FUNCTION":
		out = op("TABLE FUNCTION ")
		p.expression(out, ref.child("function"), style{})
		out.write(aliasText(ref))
	case "EXPRESSION_LIST":
		out = op("VALUES " + count(len(ref.list("values")), "row"))
	case "PIVOT":
		out = p.pivot(ref)
	case "SHOW_REF":
		name := "DESCRIBE"
		if ref.is("show_type", "SUMMARY") {
			name = "SUMMARIZE"
		}
		out = op(name, p.query(ref.child("query")))
	default:
		return nil
	}
	if s := ref.child("sample"); s != nil {
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

func aliasText(ref *node) string {
	if alias := ref.str("alias"); alias != "" {
		return " AS " + alias
	}
	return ""
}

// scan names the table as far as its name is known, with the columns that the
// statement may need.
func (p *planner) scan(ref *node) *operator {
	i, ok := p.tables[ref]
	if !ok {
		return op("CTE SCAN " + ref.str("table_name") + aliasText(ref))
	}
	t := p.q.tables[i]
	text := "SCAN " + p.fullName(t.TableRef)
	switch {
	case t.AtVersion != nil:
		text += " AT VERSION " + strconv.FormatInt(*t.AtVersion, 10)
	case t.AtTimestamp != nil:
		text += " AT TIMESTAMP " + t.AtTimestamp.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	text += aliasText(ref)
	if columns := p.relations[i].Columns; len(columns) > 0 {
		names := []string{}
		for _, c := range p.q.neededColumns(t, columns) {
			names = append(names, c.Name)
		}
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return op(text)
}

func (p *planner) fullName(t TableRef) string {
	catalog, schema := t.Catalog, t.Schema
	if schema == "" && p.q.opts.Schema != defaultSchema {
		schema = p.q.opts.Schema
	}
	if schema == "" {
		return t.Name
	}
	setDefault(&catalog, p.q.opts.Catalog)
	return catalog + "." + schema + "." + t.Name
}

func (p *planner) join(ref *node) *operator {
	kind := ref.str("join_type") + " JOIN"
	switch r := ref.str("ref_type"); r {
	case "REGULAR":
	case "CROSS", "POSITIONAL":
		kind = r + " JOIN"
	default:
		kind = r + " " + kind
	}
	o := op(kind)
	if using := ref.strings("using_columns"); len(using) > 0 {
		o.write(" USING (" + strings.Join(using, ", ") + ")")
	}
	o.reads(p.from(ref.child("left"))).reads(p.from(ref.child("right")))
	if c := ref.child("condition"); c != nil {
		p.condition(o.write(" ON "), c)
	}
	return o
}

func (p *planner) pivot(ref *node) *operator {
	name := "PIVOT"
	if len(ref.list("aggregates")) == 0 {
		name = "UNPIVOT"
	}
	o := p.list(op(name, p.from(ref.child("source"))), " ", nodes(ref.list("aggregates")), style{named: true})
	if names := ref.strings("unpivot_names"); len(names) > 0 {
		o.write(" " + strings.Join(names, ", "))
	}
	for i, c := range nodes(ref.list("pivots")) {
		before := " ON "
		if i > 0 {
			before = ", "
		}
		o.write(before + strings.Join(c.strings("unpivot_names"), ", "))
		p.list(o, "", nodes(c.list("pivot_expressions")), style{})
		o.write(" IN (" + count(len(c.list("entries")), "value") + ")")
	}
	if groups := ref.strings("groups"); len(groups) > 0 {
		o.write(" GROUP BY " + strings.Join(groups, ", "))
	}
	return o.write(aliasText(ref))
}
