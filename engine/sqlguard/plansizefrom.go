package sqlguard

// from visits an item of FROM, makes its columns visible and returns the number of
// relations that it expands to.
func (p *planSize) from(n *node, sc *planScope) int64 {
	if n == nil || p.err != nil {
		return 0
	}
	p.visit(n)
	switch n.str("type") {
	case "EMPTY":
		return 0
	case "JOIN":
		return p.joinOf(n, sc)
	}
	columns, relations := p.relation(n, sc)
	source := &plannedSource{alias: lower(n.str("alias")), columns: aliased(columns, n.strings("column_name_alias"))}
	if source.alias == "" {
		source.alias = lower(n.str("table_name"))
	}
	p.countColumns(source.columns)
	sc.add(source)
	return sum(relations, 1)
}

// relation returns the columns of an item of FROM that is not a join.
func (p *planSize) relation(n *node, sc *planScope) (columns []planColumn, relations int64) {
	switch n.str("type") {
	case "BASE_TABLE":
		return p.baseTable(n, sc)
	case "SUBQUERY":
		q := p.query(n.child("subquery").child("node"), sc, sc.binds)
		return q.columns, q.relations
	case "EXPRESSION_LIST":
		return p.valuesOf(n, sc), 0
	case "TABLE_FUNCTION":
		return p.tableFunction(n, sc), 0
	case "PIVOT":
		return p.pivotOf(n, sc)
	case "SHOW_REF":
		q := p.query(n.child("query"), sc, sc.binds)
		if n.is("show_type", "SUMMARY") {
			aggregates := product(summaryAggregates, int64(len(q.columns)))
			p.countCompared(product(aggregates, aggregates) / aggregatePairs)
		}
		return manyColumns(summaryAggregates), q.relations
	}
	return nil, 0
}

// summaryAggregates is the number of values that SUMMARIZE computes for each column.
const summaryAggregates = 12

func manyColumns(n int64) []planColumn {
	out := make([]planColumn, n)
	for i := range out {
		out[i] = unknownColumn()
	}
	return out
}

func (p *planSize) baseTable(n *node, sc *planScope) ([]planColumn, int64) {
	if n.str("schema_name") == "" && n.str("catalog_name") == "" {
		for s := sc; s != nil; s = s.parent {
			if cte := s.ctes[lower(n.str("table_name"))]; cte != nil {
				cte.used = true
				return cte.columns, cte.relations
			}
		}
	}
	r := p.relations[n]
	if r == nil {
		sc.unknown = true
		return manyColumns(1), 0
	}
	out := make([]planColumn, len(r.Columns))
	for i, c := range r.Columns {
		out[i] = planColumn{name: lower(c.Name), terms: 1, typ: typeOfColumn(c), class: &columnClass{}}
	}
	return out, 0
}

func (p *planSize) joinOf(n *node, sc *planScope) int64 {
	first := len(sc.sources)
	relations := p.from(n.child("left"), sc)
	middle := len(sc.sources)
	relations = sum(relations, p.from(n.child("right"), sc))
	left, right := sc.sources[first:middle], sc.sources[middle:]
	shared := map[string]bool{}
	for _, c := range n.strings("using_columns") {
		shared[lower(c)] = true
	}
	widths := [2]int64{}
	for i, side := range [][]*plannedSource{left, right} {
		for _, s := range side {
			widths[i] += int64(len(s.columns))
			if i == 0 && n.is("ref_type", "NATURAL") && p.countVisited(int64(len(s.columns))) {
				for _, c := range s.columns {
					shared[c.name] = true
				}
			}
		}
	}
	delete(shared, "")
	switch {
	case n.is("ref_type", "NATURAL"):
		p.countCompared(product(naturalPairs, product(widths[0], widths[1])))
	default:
		p.countCompared(product(int64(len(shared)), sum(widths[0], widths[1])))
	}
	for _, s := range right {
		s.hidden = s.hidden || n.is("join_type", "SEMI") || n.is("join_type", "ANTI")
		switch {
		case len(shared) == 0:
		case len(s.merged) == 0:
			s.merged = shared
		case p.countVisited(int64(len(s.merged) + len(shared))):
			merged := map[string]bool{}
			for name := range s.merged {
				merged[name] = true
			}
			for name := range shared {
				merged[name] = true
			}
			s.merged = merged
		}
	}
	p.filter(n.child("condition"), sc)
	return relations
}

// valuesOf returns the columns of VALUES.
func (p *planSize) valuesOf(n *node, sc *planScope) []planColumn {
	var out []planColumn
	for _, row := range n.list("values") {
		list, _ := row.([]any)
		for i, e := range list {
			v := p.expression(e.(*node), sc)
			v.terms, v.name = 1, ""
			if i < len(out) {
				v.typ = p.common(out[i].typ, v.typ)
				out[i] = v
			} else {
				out = append(out, v)
			}
		}
	}
	return out
}

// fixedColumns exceeds the number of columns that any table function makes by itself.
const fixedColumns = 10

func (p *planSize) tableFunction(n *node, sc *planScope) []planColumn {
	f := n.child("function")
	arguments := p.expression(f, sc)
	out := manyColumns(1)
	switch lower(f.str("function_name")) {
	case "unnest":
		out = p.unnested(f, arguments)
	case "json_each", "json_tree":
		out = manyColumns(fixedColumns)
	}
	if n.is("with_ordinality", "WITH_ORDINALITY") {
		out = append(out, unknownColumn())
	}
	if len(out) == 1 && out[0].name == "" {
		out[0].name = lower(f.str("function_name"))
	}
	return out
}

// pivotOf returns the columns of PIVOT and UNPIVOT. Their names are ignored.
func (p *planSize) pivotOf(n *node, sc *planScope) ([]planColumn, int64) {
	inner := newPlanScope(sc, sc.binds)
	inner.query = sc.query
	relations := p.from(n.child("source"), inner)
	var types []*planType
	var out []planColumn
	for _, s := range inner.sources {
		for _, c := range s.columns {
			types = append(types, c.typ)
			c.terms = 1
			out = append(out, c)
		}
	}
	made := max(1, int64(len(n.list("aggregates"))))
	for _, a := range n.list("aggregates") {
		p.expression(a.(*node), inner)
	}
	for _, c := range n.list("pivots") {
		pivot := c.(*node)
		for _, e := range pivot.list("pivot_expressions") {
			p.expressions(e.(*node), inner)
		}
		made = product(made, max(1, int64(len(pivot.list("entries")))))
		for _, e := range pivot.list("entries") {
			if star := e.(*node).child("star_expr"); star != nil {
				p.expressions(star, inner)
			}
		}
	}
	if len(n.list("unpivot_names")) > 0 {
		made = 2 + int64(len(n.list("unpivot_names")))
	}
	value := unknownColumn()
	value.typ = joined(types)
	for range min(made, maxColumns) {
		out = append(out, value)
	}
	return out, relations
}
