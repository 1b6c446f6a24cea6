package limits

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// from visits an item of FROM, makes its columns visible and returns the number of
// relations that it expands to.
func (p *plan) from(n *sqltree.Node, sc *scope) int64 {
	if n == nil || p.err != nil {
		return 0
	}
	p.visit(n)
	switch n.Str("type") {
	case "EMPTY":
		return 0
	case "JOIN":
		return p.joinOf(n, sc)
	}
	columns, relations := p.relation(n, sc)
	source := &source{alias: strings.ToLower(n.Str("alias")), columns: aliased(columns, n.Strings("column_name_alias"))}
	if source.alias == "" {
		source.alias = strings.ToLower(n.Str("table_name"))
	}
	p.countColumns(source.columns)
	sc.add(source)
	return sum(relations, 1)
}

// relation returns the columns of an item of FROM that is not a join.
func (p *plan) relation(n *sqltree.Node, sc *scope) (columns []column, relations int64) {
	switch n.Str("type") {
	case "BASE_TABLE":
		return p.baseTable(n, sc)
	case "SUBQUERY":
		q := p.query(n.Child("subquery").Child("node"), sc, sc.binds)
		return q.columns, q.relations
	case "EXPRESSION_LIST":
		return p.valuesOf(n, sc), 0
	case "TABLE_FUNCTION":
		return p.tableFunction(n, sc), 0
	case "PIVOT":
		return p.pivotOf(n, sc)
	case "SHOW_REF":
		q := p.query(n.Child("query"), sc, sc.binds)
		if n.Is("show_type", "SUMMARY") {
			aggregates := product(summaryAggregates, int64(len(q.columns)))
			p.countCompared(product(aggregates, aggregates) / aggregatePairs)
		}
		return manyColumns(summaryAggregates), q.relations
	}
	return nil, 0
}

// summaryAggregates is the number of values that SUMMARIZE computes for each column.
const summaryAggregates = 12

func manyColumns(n int64) []column {
	out := make([]column, n)
	for i := range out {
		out[i] = unknownColumn()
	}
	return out
}

func (p *plan) baseTable(n *sqltree.Node, sc *scope) ([]column, int64) {
	if n.Str("schema_name") == "" && n.Str("catalog_name") == "" {
		for s := sc; s != nil; s = s.parent {
			if cte := s.ctes[strings.ToLower(n.Str("table_name"))]; cte != nil {
				cte.used = true
				return cte.columns, cte.relations
			}
		}
	}
	columns, known := p.tables[n]
	if !known {
		sc.unknown = true
		return manyColumns(1), 0
	}
	out := make([]column, len(columns))
	for i, c := range columns {
		out[i] = column{name: strings.ToLower(c.Name), terms: 1, typ: typeOfColumn(c.Type), class: &columnClass{}}
	}
	return out, 0
}

func (p *plan) joinOf(n *sqltree.Node, sc *scope) int64 {
	first := len(sc.sources)
	relations := p.from(n.Child("left"), sc)
	middle := len(sc.sources)
	relations = sum(relations, p.from(n.Child("right"), sc))
	left, right := sc.sources[first:middle], sc.sources[middle:]
	shared := map[string]bool{}
	for _, c := range n.Strings("using_columns") {
		shared[strings.ToLower(c)] = true
	}
	widths := [2]int64{}
	for i, side := range [][]*source{left, right} {
		for _, s := range side {
			widths[i] += int64(len(s.columns))
			if i == 0 && n.Is("ref_type", "NATURAL") && p.countVisited(int64(len(s.columns))) {
				for _, c := range s.columns {
					shared[c.name] = true
				}
			}
		}
	}
	delete(shared, "")
	switch {
	case n.Is("ref_type", "NATURAL"):
		p.countCompared(product(naturalPairs, product(widths[0], widths[1])))
	default:
		p.countCompared(product(int64(len(shared)), sum(widths[0], widths[1])))
	}
	for _, s := range right {
		s.hidden = s.hidden || n.Is("join_type", "SEMI") || n.Is("join_type", "ANTI")
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
	p.filter(n.Child("condition"), sc)
	return relations
}

// valuesOf returns the columns of VALUES.
func (p *plan) valuesOf(n *sqltree.Node, sc *scope) []column {
	var out []column
	for _, row := range n.List("values") {
		list, _ := row.([]any)
		for i, e := range list {
			v := p.expression(e.(*sqltree.Node), sc)
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

func (p *plan) tableFunction(n *sqltree.Node, sc *scope) []column {
	f := n.Child("function")
	arguments := p.expression(f, sc)
	out := manyColumns(1)
	switch f.Function() {
	case "unnest":
		out = p.unnested(f, arguments)
	case "json_each", "json_tree":
		out = manyColumns(fixedColumns)
	}
	if n.Is("with_ordinality", "WITH_ORDINALITY") {
		out = append(out, unknownColumn())
	}
	if len(out) == 1 && out[0].name == "" {
		out[0].name = f.Function()
	}
	return out
}

// pivotOf returns the columns of PIVOT and UNPIVOT. Their names are ignored.
func (p *plan) pivotOf(n *sqltree.Node, sc *scope) ([]column, int64) {
	inner := newScope(sc, sc.binds)
	inner.query = sc.query
	relations := p.from(n.Child("source"), inner)
	var types []*dataType
	var out []column
	for _, s := range inner.sources {
		for _, c := range s.columns {
			types = append(types, c.typ)
			c.terms = 1
			out = append(out, c)
		}
	}
	made := max(1, int64(len(n.List("aggregates"))))
	for a := range n.Each("aggregates") {
		p.expression(a, inner)
	}
	for pivot := range n.Each("pivots") {
		for e := range pivot.Each("pivot_expressions") {
			p.expressions(e, inner)
		}
		made = product(made, max(1, int64(len(pivot.List("entries")))))
		for e := range pivot.Each("entries") {
			if star := e.Child("star_expr"); star != nil {
				p.expressions(star, inner)
			}
		}
	}
	if len(n.List("unpivot_names")) > 0 {
		made = 2 + int64(len(n.List("unpivot_names")))
	}
	value := unknownColumn()
	value.typ = joined(types)
	for range min(made, maxColumns) {
		out = append(out, value)
	}
	return out, relations
}
