package limits

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// scope resolves names inside one query node.
type scope struct {
	parent *scope
	ctes   map[string]*query
	// columnIndex holds the columns of all relations, and byAlias those of the relations
	// of one name.
	columnIndex
	byAlias map[string]*columnIndex
	// named holds results and parameters of lambdas that later expressions may name.
	named map[string]column
	// larger holds those of them that are as large as the columns of the same name.
	larger map[string]bool
	// widest represents a name that is not found: nothing that it can mean is larger.
	// unknown reports whether it may be a column of an unknown table.
	widest  column
	unknown bool
	// binds is how often the engine may bind an expression of the scope.
	binds int64
	// star is the column that COLUMNS(…) represents while its expression is visited.
	star *column
	// query accumulates the sizes to which the query node expands.
	query *query
	// aggregates and windows count those of the SELECT.
	aggregates, windows int64
}

func newScope(parent *scope, binds int64) *scope {
	return &scope{parent: parent, ctes: map[string]*query{}, named: map[string]column{}, widest: unknownColumn(), binds: binds}
}

// query is a query with all that it expands to.
type query struct {
	columns   []column
	relations int64
	used      bool // some FROM names the WITH query
}

// source is one relation of a FROM.
type source struct {
	alias   string
	columns []column
	// whole is the whole row as one value; nil until it is needed.
	whole *column
	// merged holds the columns that USING or NATURAL takes from another relation.
	merged map[string]bool
	hidden bool // it is the side of a SEMI or ANTI JOIN that has no columns in the result
}

// query visits a query node.
func (p *plan) query(n *sqltree.Node, parent *scope, binds int64) *query {
	out := &query{}
	if n == nil || p.err != nil {
		return out
	}
	sc := newScope(parent, binds)
	sc.query = out
	for entry := range n.Child("cte_map").Each("map") {
		body := entry.Child("value")
		cte := p.query(body.Child("query").Child("node"), sc, binds)
		cte.columns = aliased(cte.columns, body.Strings("aliases"))
		sc.ctes[strings.ToLower(entry.Str("key"))] = cte
	}
	defer func() {
		for _, cte := range sc.ctes {
			if !cte.used {
				p.countRelations(out, cte.relations)
			}
		}
	}()
	switch n.Str("type") {
	case "SELECT_NODE":
		p.selectNode(n, sc, out)
		return out
	case "SET_OPERATION_NODE":
		p.setOperation(n, sc, out)
	case "RECURSIVE_CTE_NODE":
		left := p.query(n.Child("left"), sc, binds)
		own := &query{columns: aliased(left.columns, n.Strings("aliases")), relations: 1}
		for i := range own.columns {
			own.columns[i].terms = 1 // no condition moves into a recursion
		}
		sc.ctes[strings.ToLower(n.Str("cte_name"))] = own
		right := p.query(n.Child("right"), sc, binds)
		out.columns = own.columns
		p.countRelations(out, sum(left.relations, right.relations))
	}
	p.modifiers(n, sc, out.columns)
	return out
}

func (p *plan) countRelations(q *query, n int64) {
	p.count(&q.relations, n, maxRelations, "the statement expands to more than %d tables and subqueries")
}

func (p *plan) setOperation(n *sqltree.Node, sc *scope, out *query) {
	sides := n.List("children")
	if len(sides) == 0 {
		sides = []any{n.Get("left"), n.Get("right")}
	}
	byName := n.Is("setop_type", "UNION_BY_NAME")
	places := map[string]int{}
	for i, side := range sides {
		query, _ := side.(*sqltree.Node)
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
			case p.err != nil:
				return
			case at >= len(out.columns):
				out.columns = append(out.columns, c)
			case i > 0:
				have := &out.columns[at]
				have.terms, have.typ = sum(have.terms, c.terms), p.common(have.typ, c.typ)
				have.class = joinClasses(have.class, c.class)
			}
		}
	}
	if !n.Flag("setop_all") {
		p.countCompared(product(int64(len(out.columns)), int64(len(out.columns))))
	}
	p.countColumns(out.columns)
}

func (p *plan) selectNode(n *sqltree.Node, sc *scope, out *query) {
	if from := n.Child("from_table"); from != nil {
		p.countRelations(out, p.from(from, sc))
	}
	for e := range n.Each("select_list") {
		if p.err != nil {
			return
		}
		item := e
		columns := p.item(item, sc)
		p.countColumns(columns)
		out.columns = append(out.columns, columns...)
		if alias := strings.ToLower(item.Str("alias")); alias != "" && len(columns) > 0 {
			sc.named[alias] = largerColumn(sc.named[alias], columns[0])
		}
	}
	p.filter(n.Child("where_clause"), sc)
	groups := int64(0)
	for g := range n.Each("group_expressions") {
		groups = sum(groups, p.expressions(g, sc))
	}
	sets := int64(len(n.List("group_sets")))
	p.count(&p.sets, sets, maxGroupingSets, "the statement has more than %d grouping sets")
	p.filter(n.Child("having"), sc)
	p.filter(n.Child("qualify"), sc)
	p.modifiers(n, sc, out.columns)
	p.countCompared(product(groups, groups) / 4)
	p.countCompared(product(sc.aggregates, sc.aggregates) / aggregatePairs)
	p.countCompared(product(sc.windows, product(windowPairs, sc.windows)))
}

// The cost of comparing two of them, as a multiple or, for aggregates, as a fraction of
// the cost of comparing two columns.
const (
	aggregatePairs = 32
	naturalPairs   = 2
	renamePairs    = 2
	replacePairs   = 16
	unnestPairs    = 8
	windowPairs    = 8
)

func (p *plan) modifiers(n *sqltree.Node, sc *scope, columns []column) {
	for modifier := range n.Each("modifiers") {
		if modifier.Is("type", "DISTINCT_MODIFIER") {
			width := int64(len(columns))
			if targets := modifier.List("distinct_on_targets"); len(targets) > 0 {
				width = 0
				for _, t := range targets {
					width = sum(width, p.expressions(t.(*sqltree.Node), sc))
				}
			}
			p.countCompared(product(width, width))
			continue
		}
		for o := range modifier.Each("orders") {
			p.expressions(o.Child("expression"), sc)
		}
		for _, name := range []string{"limit", "offset"} {
			if e := modifier.Child(name); e != nil {
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

// largerColumn returns a column that is at least as large as both.
func largerColumn(a, b column) column {
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

// add makes a relation visible.
func (sc *scope) add(s *source) {
	sc.sources = append(sc.sources, s)
	if sc.byAlias == nil {
		sc.byAlias = map[string]*columnIndex{}
	}
	if sc.byAlias[s.alias] == nil {
		sc.byAlias[s.alias] = &columnIndex{}
	}
	same := sc.byAlias[s.alias]
	same.sources = append(same.sources, s)
	for i := range s.columns {
		c := &s.columns[i]
		sc.widest.terms = max(sc.widest.terms, c.terms)
		if c.typ.members > sc.widest.typ.members {
			sc.widest.typ = c.typ
		}
	}
}
