package leakproof

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// from proves an item of FROM and returns the relations that it makes visible. alone allows
// a derived table to have fallible columns.
func (p *prover) from(n *sqltree.Node, sc *scope, alone bool) []item {
	doubtIf(n.Child("sample") != nil, "a sample")
	doubtIf(len(n.Strings("column_name_alias")) > 0 && !n.Is("type", "SUBQUERY"), "names for the columns of a table")
	switch n.Str("type") {
	case "EMPTY":
		return nil
	case "BASE_TABLE":
		return p.tableItem(n)
	case "SUBQUERY":
		return p.derived(n, alone)
	case "JOIN":
		return p.join(n, sc)
	}
	panic(doubtf("%s in FROM", n.Str("type")))
}

func (p *prover) tableItem(n *sqltree.Node) []item {
	t, ok := p.tables[n]
	if !ok {
		columns, ok := p.ctes[n.Str("table_name")]
		doubtIf(!ok, "a table that is not known")
		return []item{newItem(n.Str("alias"), columns)}
	}
	return []item{itemOf(t)}
}

func itemOf(t Table) item {
	var columns []column
	for _, c := range t.Columns {
		v, known := columnValueOf(c.Type)
		columns = append(columns, column{name: c.Name, value: v, known: known})
	}
	return newItem(t.Alias, columns)
}

// derived proves a derived table. It has no outer scope, so one that names a column of its
// neighbours is doubted.
func (p *prover) derived(n *sqltree.Node, alone bool) []item {
	sel := p.selectNode(n.Child("subquery").Child("node"), nil, false)
	if !alone {
		certain(sel.columns)
	}
	return []item{newItem(n.Str("alias"), renamed(sel.columns, n.Strings("column_name_alias")))}
}

// renamed returns the columns with new names for the first of them.
func renamed(columns []column, names []string) []column {
	doubtIf(len(names) > len(columns), "more names than columns")
	out := append([]column(nil), columns...)
	for i, name := range names {
		out[i].name = name
	}
	return out
}

// certain doubts columns that may fail to be computed.
func certain(columns []column) {
	for _, c := range columns {
		doubtIf(c.value.fallible, "%s may fail below the outermost query", c.name)
	}
}

func (p *prover) join(n *sqltree.Node, sc *scope) []item {
	doubtIf(!n.Is("ref_type", "REGULAR") && !n.Is("ref_type", "CROSS"), "a join of type %s", n.Str("ref_type"))
	left := p.from(n.Child("left"), sc, false)
	right := p.from(n.Child("right"), sc, false)
	both := append(append([]item(nil), left...), right...)
	p.using(n, sc, left, right)
	if on := n.Child("condition"); on != nil {
		inner := &scope{parent: sc.parent, items: both, merged: sc.merged}
		p.condition(on, spot{scope: inner})
	}
	if n.Is("join_type", "SEMI") || n.Is("join_type", "ANTI") {
		return left
	}
	return both
}

// using records the columns of USING, each of which represents a column of either side.
// Both must have the same exact type.
func (p *prover) using(n *sqltree.Node, sc *scope, left, right []item) {
	for _, name := range n.Strings("using_columns") {
		l, countL := (&scope{items: left, merged: sc.merged}).own([]string{name})
		r, countR := (&scope{items: right, merged: sc.merged}).own([]string{name})
		if countL != 1 || countR != 1 || !l.known || !r.known || l.value.sqlType() != r.value.sqlType() || !l.value.exact() {
			panic(doubtf("USING %s", name))
		}
		sc.merged[strings.ToLower(name)] = true
	}
}

// commonTables proves the queries of WITH, each with those before it in scope. All have
// unique names at this point, so none hides another.
func (p *prover) commonTables(m *sqltree.Node) {
	for entry := range m.Each("map") {
		body := entry.Child("value")
		sel := p.selectNode(body.Child("query").Child("node"), nil, false)
		certain(sel.columns)
		doubtIf(len(body.List("key_targets")) > 0, "keys of a query in WITH")
		columns := renamed(sel.columns, body.Strings("aliases"))
		p.ctes[entry.Str("key")] = columns
	}
}
