package sqlguard

// filter visits a condition. The engine pushes it down to the relations of its columns
// and replaces these columns by their expressions.
func (p *planSize) filter(n *node, sc *planScope) {
	if n == nil || p.err != nil {
		return
	}
	if n.is("type", "CONJUNCTION_AND") {
		for _, c := range n.list("children") {
			p.filter(c.(*node), sc)
		}
		return
	}
	p.eachStar(n, sc, func() {
		if n.is("class", "COMPARISON") && n.is("type", "COMPARE_EQUAL") {
			left, right := p.expression(n.child("left"), sc), p.expression(n.child("right"), sc)
			p.equate(left.classOf(n.child("left")), right.classOf(n.child("right")))
			p.countFilter(sum(1, sum(left.terms, right.terms)))
			return
		}
		p.countFilter(p.expression(n, sc).terms)
	})
}

func (p *planSize) countFilter(terms int64) {
	p.count(&p.filterTerms, terms, maxFilterTerms, "the conditions expand to more than %d terms: result columns or functions build on each other too often")
}

// expressions visits an expression and returns how many expressions it expands to.
func (p *planSize) expressions(n *node, sc *planScope) int64 {
	return p.eachStar(n, sc, func() { p.expression(n, sc) })
}

// eachStar calls visit for every column that COLUMNS(…) in an expression stands for,
// or once if there is none.
func (p *planSize) eachStar(n *node, sc *planScope, visit func()) int64 {
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

// repeatedStar returns the star that makes the engine repeat an expression for each
// column, or nil.
func repeatedStar(v any) *node {
	switch v := v.(type) {
	case *node:
		switch {
		case v == nil || v.is("class", "SUBQUERY") || v.is("type", "OPERATOR_UNPACK"):
			return nil
		case v.is("class", "STAR"):
			if v.flag("unpacked") {
				return nil
			}
			return v
		}
		for _, x := range v.vals {
			if star := repeatedStar(x); star != nil {
				return star
			}
		}
	case []any:
		for _, x := range v {
			if star := repeatedStar(x); star != nil {
				return star
			}
		}
	}
	return nil
}

// starColumns returns the columns that a star stands for, or more.
func (p *planSize) starColumns(star *node, sc *planScope) []planColumn {
	relation := lower(star.str("relation_name"))
	excluded := map[string]bool{}
	for _, name := range star.strings("exclude_list") {
		excluded[lower(name)] = true
	}
	for _, q := range star.list("qualified_exclude_list") {
		if relation != "" || q.(*node).str("table") == "" {
			excluded[lower(q.(*node).str("column"))] = true
		}
	}
	replaced := map[string]planColumn{}
	for _, r := range star.list("replace_list") {
		v := p.expression(r.(*node).child("value"), sc)
		v.name = lower(r.(*node).str("key"))
		replaced[v.name] = v
	}
	named := map[string]string{}
	for _, r := range star.list("rename_list") {
		named[lower(r.(*node).child("key").str("column"))] = lower(r.(*node).str("value"))
	}
	if e := star.child("expr"); e != nil && e.is("class", "FUNCTION") {
		p.expression(e, sc)
	}
	var out []planColumn
	for s := sc; s != nil; s = s.parent {
		for _, source := range s.sources {
			if relation == "" && source.hidden || relation != "" && source.alias != relation {
				continue
			}
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
			break // a star finds only relations in an outer scope
		}
	}
	if relation != "" && len(out) == 0 {
		whole := sc.column([]string{relation})
		out = membersOf(whole)
	}
	p.countCompared(product(int64(replacePairs*len(replaced)+renamePairs*len(named)), int64(len(out))))
	p.count(&p.boundTerms, product(sc.binds, int64(len(out))), maxBoundTerms, tooManyTerms)
	return out
}

// membersOf returns the members of a value as columns.
func membersOf(c planColumn) []planColumn {
	var out []planColumn
	for name, t := range c.typ.fields {
		out = append(out, planColumn{name: name, terms: sum(c.terms, 1), typ: t, class: c.class})
	}
	if out == nil {
		for range min(c.typ.members, maxColumns+1) {
			out = append(out, planColumn{terms: sum(c.terms, 1), typ: scalarType, class: c.class})
		}
	}
	return out
}

// item visits one expression of a select list and returns the columns that it makes.
func (p *planSize) item(n *node, sc *planScope) []planColumn {
	if n.is("class", "STAR") && !n.flag("columns") {
		p.visit(n)
		return p.starColumns(n, sc)
	}
	var out []planColumn
	p.eachStar(n, sc, func() {
		c := p.expression(n, sc)
		c.class = c.classOf(n)
		if n.is("class", "FUNCTION") && n.is("function_name", "unnest") {
			out = append(out, p.unnested(n, c)...)
			return
		}
		switch {
		case n.str("alias") != "":
			c.name = lower(n.str("alias"))
		case n.is("class", "COLUMN_REF"):
			names := n.strings("column_names")
			c.name = lower(names[len(names)-1])
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
func (p *planSize) unnested(n *node, arguments planColumn) []planColumn {
	args := n.list("children")
	of := arguments
	of.terms = 1 // no condition moves below it
	switch {
	case len(args) > 1: // recursive, or to a depth
		if of.typ.nested() {
			p.countCompared(product(unnestPairs, product(of.typ.members, of.typ.members)))
		}
		of.typ = opaqueType(of.typ.members)
		return membersOf(of)
	case of.typ.fields != nil:
		return membersOf(of)
	case of.typ.element != nil:
		of.typ = of.typ.element
	}
	of.name = lower(n.str("alias"))
	return []planColumn{of}
}

const tooManyTerms = "the statement expands to more than %d terms: COLUMNS or subqueries inside expressions are nested or repeated too much"

// expression visits one expression and returns its size and type.
func (p *planSize) expression(n *node, sc *planScope) planColumn {
	out := planColumn{terms: 1, typ: scalarType}
	if n == nil || p.err != nil {
		return out
	}
	p.visit(n)
	p.count(&p.boundTerms, sc.binds, maxBoundTerms, tooManyTerms)
	switch n.str("class") {
	case "COLUMN_REF":
		return sc.column(n.strings("column_names"))
	case "POSITIONAL_REFERENCE":
		return planColumn{terms: sc.widest.terms, typ: sc.widest.typ, class: sc.widest.class}
	case "STAR":
		return p.starValue(n, sc)
	case "SUBQUERY":
		return p.subqueryValue(n, sc)
	case "CAST":
		v := p.expression(n.child("child"), sc)
		v.terms, v.typ = sum(v.terms, 1), typeOfCast(n.child("cast_type"))
		return v
	}
	if n.is("class", "FUNCTION") && isAggregate(n) {
		sc.aggregates++
	}
	parts := p.operands(n, sc)
	for _, v := range parts {
		out.terms = sum(out.terms, v.terms)
		out.class = joinClasses(out.class, v.class)
	}
	out.typ = typeOfResult(n, parts)
	switch n.str("class") {
	case "WINDOW":
		sc.windows++
		out.terms, out.class = 1, &columnClass{}
	case "FUNCTION":
		out.terms = product(out.terms, int64(MacroCopies(n.str("function_name"))))
		if isAggregate(n) {
			out.terms, out.class = 1, &columnClass{}
		}
	}
	return out
}

// operands visits the expressions below n in the order of the tree, lambdas last.
func (p *planSize) operands(n *node, sc *planScope) []planColumn {
	var out []planColumn
	var lambdas []*node
	later := &lambdas
	if !n.is("class", "FUNCTION") || !takesLambda(n) {
		later = nil // an arrow is an operator of JSON here
	}
	for _, x := range n.vals {
		out = append(out, p.operand(x, sc, later)...)
	}
	if len(lambdas) == 0 {
		return out
	}
	inner := newPlanScope(sc, sc.binds)
	inner.star, inner.query = sc.star, sc.query
	value := unknownColumn() // of a parameter: it holds what the other operands hold
	for _, v := range out {
		if v.typ.members > value.typ.members {
			value.typ = v.typ
		}
	}
	if value.typ.element != nil {
		value.typ = value.typ.element
	}
	for _, lambda := range lambdas {
		for _, name := range lambdaParams(lambda) {
			inner.named[name] = value
		}
		out = append(out, p.expression(lambda.child("expr"), inner))
	}
	return out
}

func (p *planSize) operand(v any, sc *planScope, lambdas *[]*node) []planColumn {
	var out []planColumn
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, p.operand(x, sc, lambdas)...)
		}
	case *node:
		switch {
		case v == nil:
		case v.is("class", "LAMBDA") && lambdas != nil:
			*lambdas = append(*lambdas, v)
		case v.is("type", "OPERATOR_UNPACK") || v.is("class", "STAR") && v.flag("unpacked"):
			return p.unpacked(v, sc)
		case v.get("class") != nil:
			c := p.expression(v, sc)
			c.name = lower(v.str("alias"))
			return []planColumn{c}
		default: // a part of an expression, such as a WHEN
			for _, x := range v.vals {
				out = append(out, p.operand(x, sc, lambdas)...)
			}
		}
	}
	return out
}

// unpacked returns the columns of a star that are the arguments of one call.
func (p *planSize) unpacked(n *node, sc *planScope) []planColumn {
	star := n
	if !n.is("class", "STAR") {
		star = firstStar(n)
	}
	if star == nil {
		return nil
	}
	return p.starColumns(star, sc)
}

func firstStar(n *node) *node {
	for _, c := range n.list("children") {
		if e := c.(*node); e.is("class", "STAR") {
			return e
		} else if star := firstStar(e); star != nil {
			return star
		}
	}
	return nil
}

// starValue returns the column that a star inside an expression currently stands for.
func (p *planSize) starValue(n *node, sc *planScope) planColumn {
	if sc.star != nil {
		return *sc.star
	}
	out := planColumn{terms: 1, typ: scalarType}
	for _, c := range p.starColumns(n, sc) {
		out.terms = sum(out.terms, c.terms)
		out.class = joinClasses(out.class, c.class)
		out.typ = opaqueType(sum(out.typ.members, c.typ.members))
	}
	return out
}

// subqueryValue visits a subquery in an expression. Conditions hold its result like a
// column.
func (p *planSize) subqueryValue(n *node, sc *planScope) planColumn {
	out := planColumn{terms: 1, typ: scalarType, class: &columnClass{}}
	if child := n.child("child"); child != nil {
		v := p.expression(child, sc)
		out.terms = sum(v.terms, 1)
	}
	q := p.query(n.child("subquery").child("node"), sc, product(sc.binds, bindsAgain))
	p.countRelations(sc.query, q.relations)
	if n.is("subquery_type", "SCALAR") {
		var types []*planType
		for _, c := range q.columns {
			types = append(types, c.typ)
		}
		if out.typ = joined(types); len(types) == 1 {
			out.typ = types[0]
		}
	}
	return out
}
