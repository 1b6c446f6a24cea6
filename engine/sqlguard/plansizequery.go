package sqlguard

import "strings"

// planScope resolves the names inside one query node.
type planScope struct {
	parent  *planScope
	ctes    map[string]*plannedQuery
	sources []*plannedSource
	// named holds result columns and lambda parameters that later expressions may
	// name.
	named map[string]planColumn
	// widest stands for a name that is not found; no possible meaning of the name is
	// larger. unknown reports that the name may be a column of an unknown table.
	widest  planColumn
	unknown bool
	// binds is the number of times that the engine may bind an expression in this
	// scope.
	binds int64
	// star is the column that COLUMNS(…) currently stands for.
	star *planColumn
	// query is what the query node expands to so far.
	query *plannedQuery
	// aggregates and windows count those of the SELECT.
	aggregates, windows int64
}

func newPlanScope(parent *planScope, binds int64) *planScope {
	return &planScope{parent: parent, ctes: map[string]*plannedQuery{}, named: map[string]planColumn{}, widest: unknownColumn(), binds: binds}
}

// plannedQuery is a query with the size of what it expands to.
type plannedQuery struct {
	columns   []planColumn
	relations int64
	used      bool // whether a FROM names the WITH query
}

// plannedSource is one relation of a FROM.
type plannedSource struct {
	alias   string
	columns []planColumn
	byName  map[string]int
	// merged holds the columns that USING or NATURAL takes from another relation.
	merged map[string]bool
	hidden bool // the right side of a SEMI or ANTI JOIN
}

func (s *plannedSource) find(name string) *planColumn {
	if s.byName == nil {
		s.byName = make(map[string]int, len(s.columns))
		for i := range s.columns {
			if name := s.columns[i].name; s.byName[name] == 0 {
				s.byName[name] = i + 1
			}
		}
	}
	if i := s.byName[name]; i > 0 && name != "" {
		return &s.columns[i-1]
	}
	return nil
}

// query visits a query node.
func (p *planSize) query(n *node, parent *planScope, binds int64) *plannedQuery {
	out := &plannedQuery{}
	if n == nil || p.err != nil {
		return out
	}
	sc := newPlanScope(parent, binds)
	sc.query = out
	for _, e := range n.child("cte_map").list("map") {
		entry := e.(*node)
		body := entry.child("value")
		cte := p.query(body.child("query").child("node"), sc, binds)
		cte.columns = aliased(cte.columns, body.strings("aliases"))
		sc.ctes[lower(entry.str("key"))] = cte
	}
	defer func() {
		for _, cte := range sc.ctes {
			if !cte.used {
				p.countRelations(out, cte.relations)
			}
		}
	}()
	switch n.str("type") {
	case "SELECT_NODE":
		p.selectNode(n, sc, out)
		return out
	case "SET_OPERATION_NODE":
		p.setOperation(n, sc, out)
	case "RECURSIVE_CTE_NODE":
		left := p.query(n.child("left"), sc, binds)
		own := &plannedQuery{columns: aliased(left.columns, n.strings("aliases")), relations: 1}
		for i := range own.columns {
			own.columns[i].terms = 1 // conditions are not pushed into a recursion
		}
		sc.ctes[lower(n.str("cte_name"))] = own
		right := p.query(n.child("right"), sc, binds)
		out.columns = own.columns
		p.countRelations(out, sum(left.relations, right.relations))
	}
	p.modifiers(n, sc, out.columns)
	return out
}

func (p *planSize) countRelations(q *plannedQuery, n int64) {
	p.count(&q.relations, n, maxRelations, "the statement expands to more than %d tables and subqueries")
}

func (p *planSize) setOperation(n *node, sc *planScope, out *plannedQuery) {
	sides := n.list("children")
	if len(sides) == 0 {
		sides = []any{n.get("left"), n.get("right")}
	}
	byName := n.is("setop_type", "UNION_BY_NAME")
	places := map[string]int{}
	for i, side := range sides {
		query, _ := side.(*node)
		q := p.query(query, sc, sc.binds)
		p.countRelations(out, q.relations)
		for j, c := range q.columns {
			at := j
			if byName {
				var found bool
				if at, found = places[c.name]; !found {
					at = len(out.columns)
					places[c.name] = at
				}
			}
			switch {
			case at >= len(out.columns):
				out.columns = append(out.columns, c)
			case i > 0:
				have := &out.columns[at]
				have.terms, have.typ = sum(have.terms, c.terms), have.typ.common(c.typ)
				have.class = joinClasses(have.class, c.class)
			}
		}
	}
	if !n.flag("setop_all") {
		p.countCompared(product(int64(len(out.columns)), int64(len(out.columns))))
	}
	p.countColumns(out.columns)
}

func (p *planSize) selectNode(n *node, sc *planScope, out *plannedQuery) {
	if from := n.child("from_table"); from != nil {
		p.countRelations(out, p.from(from, sc))
	}
	for _, e := range n.list("select_list") {
		if p.err != nil {
			return
		}
		item := e.(*node)
		columns := p.item(item, sc)
		out.columns = append(out.columns, columns...)
		if alias := lower(item.str("alias")); alias != "" && len(columns) > 0 {
			sc.named[alias] = largerColumn(sc.named[alias], columns[0])
		}
	}
	p.countColumns(out.columns)
	p.filter(n.child("where_clause"), sc)
	groups := int64(0)
	for _, g := range n.list("group_expressions") {
		groups = sum(groups, p.expressions(g.(*node), sc))
	}
	sets := int64(len(n.list("group_sets")))
	p.count(&p.sets, sets, maxGroupingSets, "the statement has more than %d grouping sets")
	p.filter(n.child("having"), sc)
	p.filter(n.child("qualify"), sc)
	p.modifiers(n, sc, out.columns)
	p.countCompared(product(groups, groups) / 4)
	p.countCompared(product(sc.aggregates, sc.aggregates) / aggregatePairs)
	p.countCompared(product(sc.windows, product(windowPairs, sc.windows)))
}

// What comparing two of them costs as a multiple, and of aggregates as a part, of
// comparing two columns.
const (
	aggregatePairs = 32
	naturalPairs   = 2
	renamePairs    = 2
	replacePairs   = 16
	unnestPairs    = 8
	windowPairs    = 8
)

func (p *planSize) modifiers(n *node, sc *planScope, columns []planColumn) {
	for _, m := range n.list("modifiers") {
		modifier := m.(*node)
		if modifier.is("type", "DISTINCT_MODIFIER") {
			width := int64(len(columns))
			if targets := modifier.list("distinct_on_targets"); len(targets) > 0 {
				width = 0
				for _, t := range targets {
					width = sum(width, p.expressions(t.(*node), sc))
				}
			}
			p.countCompared(product(width, width))
			continue
		}
		for _, o := range modifier.list("orders") {
			p.expressions(o.(*node).child("expression"), sc)
		}
		for _, name := range []string{"limit", "offset"} {
			if e := modifier.child(name); e != nil {
				p.expression(e, sc)
			}
		}
	}
}

func joinClasses(a, b *columnClass) *columnClass {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.join(b)
}

// largerColumn returns a column at least as large as both.
func largerColumn(a, b planColumn) planColumn {
	if a.typ == nil {
		return b
	}
	out := b
	out.terms = max(a.terms, b.terms)
	if a.typ.members > b.typ.members {
		out.typ = a.typ
	}
	out.class = joinClasses(a.class, b.class)
	return out
}

// add makes a relation visible in the scope.
func (sc *planScope) add(s *plannedSource) {
	sc.sources = append(sc.sources, s)
	for i := range s.columns {
		c := &s.columns[i]
		sc.widest.terms = max(sc.widest.terms, c.terms)
		if c.typ.members > sc.widest.typ.members {
			sc.widest.typ = c.typ
		}
	}
}

// column resolves a name with its qualifiers.
func (sc *planScope) column(parts []string) planColumn {
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = strings.ToLower(part)
	}
	widest, unknown := unknownColumn(), false
	for s := sc; s != nil; s = s.parent {
		if c, ok := s.own(names); ok {
			return c
		}
		widest, unknown = largerColumn(widest, planColumn{terms: s.widest.terms, typ: s.widest.typ, class: s.widest.class}), unknown || s.unknown
	}
	if unknown {
		return unknownColumn()
	}
	return widest
}

// own resolves a name in this scope only. At most two leading qualifiers name a table.
func (sc *planScope) own(names []string) (planColumn, bool) {
	for skip := 0; skip < min(3, len(names)-1); skip++ {
		for _, s := range sc.sources {
			if s.alias != names[skip] {
				continue
			}
			if c := s.find(names[skip+1]); c != nil {
				return c.member(names[skip+2:]), true
			}
		}
	}
	if c, ok := sc.named[names[0]]; ok {
		for _, s := range sc.sources {
			if own := s.find(names[0]); own != nil {
				c = largerColumn(c, *own)
			}
		}
		return c.member(names[1:]), true
	}
	for _, s := range sc.sources {
		if c := s.find(names[0]); c != nil {
			return c.member(names[1:]), true
		}
	}
	for _, s := range sc.sources {
		if s.alias == names[0] {
			return s.row().member(names[1:]), true
		}
	}
	return planColumn{}, false
}

// member returns a member of a column's type.
func (c planColumn) member(names []string) planColumn {
	for _, name := range names {
		c.typ = c.typ.field(name)
		c.terms = sum(c.terms, 1)
	}
	return c
}

// row returns the whole row of a relation as one value.
func (s *plannedSource) row() planColumn {
	out := planColumn{terms: 1}
	fields := make(map[string]*planType, len(s.columns))
	var types []*planType
	for _, c := range s.columns {
		out.terms = sum(out.terms, c.terms)
		fields[c.name] = c.typ
		types = append(types, c.typ)
	}
	out.typ = structType(fields)
	if len(fields) < len(types) { // some names are not known, or stand twice
		out.typ = opaqueType(sum(2, joined(append(types, listType(scalarType))).members))
	}
	out.class = &columnClass{}
	return out
}
