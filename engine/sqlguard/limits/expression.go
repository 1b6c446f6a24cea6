package limits

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// filter visits a condition. The engine moves it towards the relations of its columns,
// and replaces the columns by their expressions on the way.
func (p *plan) filter(n *sqltree.Node, sc *scope) {
	if n == nil || p.err != nil {
		return
	}
	if n.Is("type", "CONJUNCTION_AND") {
		for c := range n.Each("children") {
			p.filter(c, sc)
		}
		return
	}
	p.eachStar(n, sc, func() {
		if n.Is("class", "COMPARISON") && n.Is("type", "COMPARE_EQUAL") {
			left, right := p.expression(n.Child("left"), sc), p.expression(n.Child("right"), sc)
			p.equate(left.classOf(n.Child("left")), right.classOf(n.Child("right")))
			p.countFilter(sum(1, sum(left.terms, right.terms)))
			return
		}
		p.countFilter(p.expression(n, sc).terms)
	})
}

func (p *plan) countFilter(terms int64) {
	p.count(&p.filterTerms, terms, maxFilterTerms,
		"the conditions expand to more than %d terms: result columns or functions build on each other too often")
}

// expressions visits an expression that may expand to several, and returns their number.
func (p *plan) expressions(n *sqltree.Node, sc *scope) int64 {
	return p.eachStar(n, sc, func() { p.expression(n, sc) })
}

// eachStar calls visit for every column that the COLUMNS(…) of an expression expands
// to, or once if there is none.
func (p *plan) eachStar(n *sqltree.Node, sc *scope, visit func()) int64 {
	star := repeatedStar(n)
	if star == nil {
		visit()
		return 1
	}
	outer := sc.star
	defer func() { sc.star = outer }()
	columns := p.starColumns(star, sc)
	for i := range columns {
		if p.err != nil {
			break
		}
		sc.star = &columns[i]
		visit()
	}
	return int64(len(columns))
}

// repeatedStar returns the star of an expression that is computed for each column
// separately.
func repeatedStar(e *sqltree.Node) (star *sqltree.Node) {
	sqltree.Walk(e, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "SUBQUERY") || n.Is("type", "OPERATOR_UNPACK") || n.Is("class", "STAR") && n.Flag("unpacked"):
			return sqltree.Over
		case n.Is("class", "STAR"):
			star = n
			return sqltree.Stop
		}
		return sqltree.Into
	})
	return star
}

// starColumns returns at least the columns that a star expands to.
func (p *plan) starColumns(star *sqltree.Node, sc *scope) []column {
	relation := strings.ToLower(star.Str("relation_name"))
	parts := 0
	for _, list := range []string{"exclude_list", "qualified_exclude_list", "replace_list", "rename_list"} {
		parts += len(star.List(list))
	}
	if !p.countVisited(int64(parts)) {
		return nil
	}
	excluded := map[string]bool{}
	for _, name := range star.Strings("exclude_list") {
		excluded[strings.ToLower(name)] = true
	}
	for q := range star.Each("qualified_exclude_list") {
		if relation != "" || q.Str("table") == "" {
			excluded[strings.ToLower(q.Str("column"))] = true
		}
	}
	replaced := map[string]column{}
	for r := range star.Each("replace_list") {
		v := p.expression(r.Child("value"), sc)
		v.name = strings.ToLower(r.Str("key"))
		replaced[v.name] = v
	}
	named := map[string]string{}
	for r := range star.Each("rename_list") {
		named[strings.ToLower(r.Child("key").Str("column"))] = strings.ToLower(r.Str("value"))
	}
	if e := star.Child("expr"); e != nil && e.Is("class", "FUNCTION") {
		p.expression(e, sc)
	}
	var out []column
	for s := sc; s != nil; s = s.parent {
		sources := s.sources
		if relation != "" {
			sources = nil
			if same := s.byAlias[relation]; same != nil {
				sources = same.sources
			}
		}
		for _, source := range sources {
			if !p.bind(int64(1+len(source.columns)), sc) {
				return nil
			}
			if relation == "" && source.hidden {
				continue
			}
			out = slices.Grow(out, len(source.columns))
			for _, c := range source.columns {
				if excluded[c.name] && c.name != "" || relation == "" && source.merged[c.name] {
					continue
				}
				if r, ok := replaced[c.name]; ok {
					c = r
				}
				if name, ok := named[c.name]; ok {
					c.name = name
				}
				out = append(out, c)
			}
		}
		if len(out) > 0 || relation == "" {
			break // in an outer scope, only the name of a relation is resolved
		}
	}
	if relation != "" && len(out) == 0 {
		out = p.membersOf(p.column([]string{relation}, sc))
		p.count(&p.boundTerms, product(sc.binds, int64(len(out))), maxBoundTerms, tooManyTerms)
	}
	p.countCompared(product(int64(replacePairs*len(replaced)+renamePairs*len(named)), int64(len(out))))
	return out
}

// membersOf returns the members of a value as columns.
func (p *plan) membersOf(c column) []column {
	if !p.countVisited(c.typ.members) {
		return nil
	}
	out := make([]column, 0, c.typ.members)
	for name, t := range c.typ.fields {
		out = append(out, column{name: name, terms: sum(c.terms, 1), typ: t, class: c.class})
	}
	if len(out) == 0 {
		for range c.typ.members {
			out = append(out, column{terms: sum(c.terms, 1), typ: scalarType, class: c.class})
		}
	}
	return out
}

// item visits one expression of a select list and returns the columns that it makes.
func (p *plan) item(n *sqltree.Node, sc *scope) []column {
	if n.Is("class", "STAR") && !n.Flag("columns") {
		p.visit(n)
		return p.starColumns(n, sc)
	}
	var out []column
	p.eachStar(n, sc, func() {
		c := p.expression(n, sc)
		c.class = c.classOf(n)
		if n.Is("class", "FUNCTION") && n.Is("function_name", "unnest") {
			out = append(out, p.unnested(n, c)...)
			return
		}
		switch {
		case n.Str("alias") != "":
			c.name = strings.ToLower(n.Str("alias"))
		case n.Is("class", "COLUMN_REF"):
			names := n.Strings("column_names")
			c.name = strings.ToLower(names[len(names)-1])
		case sc.star != nil:
			c.name = sc.star.name
		default:
			c.name = ""
		}
		out = append(out, c)
	})
	return out
}

// unnested returns the columns that unnest makes of its arguments.
func (p *plan) unnested(n *sqltree.Node, arguments column) []column {
	args := n.List("children")
	of := arguments
	of.terms = 1 // no condition moves below it
	switch {
	case len(args) > 1: // recursive, or to a depth
		if of.typ.nested() {
			p.countCompared(product(unnestPairs, product(of.typ.members, of.typ.members)))
		}
		of.typ = opaqueType(of.typ.members)
		return p.membersOf(of)
	case of.typ.fields != nil:
		return p.membersOf(of)
	case of.typ.element != nil:
		of.typ = of.typ.element
	}
	of.name = strings.ToLower(n.Str("alias"))
	return []column{of}
}

const tooManyTerms = "the statement expands to more than %d terms: COLUMNS or subqueries inside expressions are nested or repeated too much"

// expression visits one expression and returns its size and type.
func (p *plan) expression(n *sqltree.Node, sc *scope) column {
	out := column{terms: 1, typ: scalarType}
	if n == nil || p.err != nil {
		return out
	}
	p.visit(n)
	if !p.bind(1, sc) {
		return out
	}
	switch n.Str("class") {
	case "COLUMN_REF":
		return p.column(n.Strings("column_names"), sc)
	case "POSITIONAL_REFERENCE":
		return column{terms: sc.widest.terms, typ: sc.widest.typ, class: sc.widest.class}
	case "STAR":
		return p.starValue(n, sc)
	case "SUBQUERY":
		return p.subqueryValue(n, sc)
	case "CAST":
		v := p.expression(n.Child("child"), sc)
		v.terms, v.typ = sum(v.terms, 1), p.typeOfCast(n)
		return v
	}
	if n.Is("class", "FUNCTION") && functions.IsAggregate(n) {
		sc.aggregates++
	}
	parts := p.operands(n, sc)
	for _, v := range parts {
		out.terms = sum(out.terms, v.terms)
		out.class = joinClasses(out.class, v.class)
	}
	out.typ = p.typeOfResult(n, parts)
	switch n.Str("class") {
	case "WINDOW":
		sc.windows++
		out.terms, out.class = 1, &columnClass{}
	case "FUNCTION":
		out.terms = product(out.terms, int64(MacroCopies(n.Str("function_name"))))
		if functions.IsAggregate(n) {
			out.terms, out.class = 1, &columnClass{}
		}
	}
	return out
}

// operands visits the expressions below n in the order of the tree, lambdas last.
func (p *plan) operands(n *sqltree.Node, sc *scope) []column {
	var out []column
	var lambdas []*sqltree.Node
	later := &lambdas
	if !n.Is("class", "FUNCTION") || !functions.TakesLambda(n) {
		later = nil // here an arrow is an operator of JSON
	}
	for _, x := range n.Fields() {
		out = p.operand(out, x, sc, later)
	}
	if len(lambdas) == 0 {
		return out
	}
	inner := newScope(sc, sc.binds)
	inner.star, inner.query = sc.star, sc.query
	value := unknownColumn() // a parameter may hold anything that the other operands hold
	for _, v := range out {
		if v.typ.members > value.typ.members {
			value.typ = v.typ
		}
	}
	if value.typ.element != nil {
		value.typ = value.typ.element
	}
	for _, lambda := range lambdas {
		for _, name := range sqltree.LambdaParameters(lambda) {
			inner.named[name] = value
		}
		out = append(out, p.expression(lambda.Child("expr"), inner))
	}
	return out
}

// operand appends the operands that a value of the tree holds.
func (p *plan) operand(out []column, v any, sc *scope, lambdas *[]*sqltree.Node) []column {
	switch v := v.(type) {
	case []any:
		out = slices.Grow(out, len(v))
		for _, x := range v {
			out = p.operand(out, x, sc, lambdas)
		}
	case *sqltree.Node:
		switch {
		case v == nil:
		case v.Is("class", "LAMBDA") && lambdas != nil:
			*lambdas = append(*lambdas, v)
		case v.Is("type", "OPERATOR_UNPACK") || v.Is("class", "STAR") && v.Flag("unpacked"):
			columns := p.unpacked(v, sc)
			if len(out) == 0 {
				return columns
			}
			return append(out, columns...)
		case v.Get("class") != nil:
			c := p.expression(v, sc)
			c.name = strings.ToLower(v.Str("alias"))
			return append(out, c)
		default: // a part of an expression, such as a WHEN
			for _, x := range v.Fields() {
				out = p.operand(out, x, sc, lambdas)
			}
		}
	}
	return out
}

// unpacked returns the columns of a star that are arguments of one call.
func (p *plan) unpacked(n *sqltree.Node, sc *scope) []column {
	star := n
	if !n.Is("class", "STAR") {
		star = firstStar(n)
	}
	if star == nil {
		return nil
	}
	return p.starColumns(star, sc)
}

func firstStar(n *sqltree.Node) *sqltree.Node {
	for c := range n.Each("children") {
		if e := c; e.Is("class", "STAR") {
			return e
		} else if star := firstStar(e); star != nil {
			return star
		}
	}
	return nil
}

// starValue returns the column that a star inside an expression currently represents.
func (p *plan) starValue(n *sqltree.Node, sc *scope) column {
	if sc.star != nil {
		return *sc.star
	}
	out := column{terms: 1, typ: scalarType}
	for _, c := range p.starColumns(n, sc) {
		out.terms = sum(out.terms, c.terms)
		out.class = joinClasses(out.class, c.class)
		out.typ = opaqueType(sum(out.typ.members, c.typ.members))
	}
	return out
}

// subqueryValue visits a subquery in an expression. In a condition its result counts like a
// column.
func (p *plan) subqueryValue(n *sqltree.Node, sc *scope) column {
	out := column{terms: 1, typ: scalarType, class: &columnClass{}}
	if child := n.Child("child"); child != nil {
		v := p.expression(child, sc)
		out.terms = sum(v.terms, 1)
	}
	q := p.query(n.Child("subquery").Child("node"), sc, product(sc.binds, bindsAgain))
	p.countRelations(sc.query, q.relations)
	if n.Is("subquery_type", "SCALAR") {
		var types []*dataType
		for _, c := range q.columns {
			types = append(types, c.typ)
		}
		if out.typ = joined(types); len(types) == 1 {
			out.typ = types[0]
		}
	}
	return out
}
