package leakproof

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// from proves an item of FROM and returns the relations that it makes visible. alone allows
// a derived table to have fallible columns.
func (p *prover) from(n *sqltree.Node, sc *scope, alone bool) ([]item, error) {
	if n.Child("sample") != nil {
		return nil, doubt("a sample")
	}
	if len(n.Strings("column_name_alias")) > 0 && !n.Is("type", "SUBQUERY") {
		return nil, doubt("names for the columns of a table")
	}
	switch n.Str("type") {
	case "EMPTY":
		return nil, nil
	case "BASE_TABLE":
		return p.tableItem(n)
	case "SUBQUERY":
		return p.derived(n, alone)
	case "JOIN":
		return p.join(n, sc)
	}
	return nil, doubtf("%s in FROM", n.Str("type"))
}

func (p *prover) tableItem(n *sqltree.Node) ([]item, error) {
	t, ok := p.tables[n]
	if !ok {
		columns, ok := p.ctes[n.Str("table_name")]
		return []item{newItem(n.Str("alias"), columns)}, unless(ok, "a table that is not known")
	}
	return []item{itemOf(t)}, nil
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
func (p *prover) derived(n *sqltree.Node, alone bool) ([]item, error) {
	sel, err := p.selectNode(n.Child("subquery").Child("node"), nil, false)
	if err != nil {
		return nil, err
	}
	if !alone {
		if err := certain(sel.columns); err != nil {
			return nil, err
		}
	}
	columns, err := renamed(sel.columns, n.Strings("column_name_alias"))
	return []item{newItem(n.Str("alias"), columns)}, err
}

// renamed returns the columns with new names for the first of them.
func renamed(columns []column, names []string) ([]column, error) {
	if len(names) > len(columns) {
		return nil, doubt("more names than columns")
	}
	out := append([]column(nil), columns...)
	for i, name := range names {
		out[i].name = name
	}
	return out, nil
}

// certain doubts columns that may fail to be computed.
func certain(columns []column) error {
	for _, c := range columns {
		if c.value.fallible {
			return doubtf("%s may fail below the outermost query", c.name)
		}
	}
	return nil
}

func (p *prover) join(n *sqltree.Node, sc *scope) ([]item, error) {
	if !n.Is("ref_type", "REGULAR") && !n.Is("ref_type", "CROSS") {
		return nil, doubtf("a join of type %s", n.Str("ref_type"))
	}
	left, err := p.from(n.Child("left"), sc, false)
	if err != nil {
		return nil, err
	}
	right, err := p.from(n.Child("right"), sc, false)
	if err != nil {
		return nil, err
	}
	both := append(append([]item(nil), left...), right...)
	if err := p.using(n, sc, left, right); err != nil {
		return nil, err
	}
	if on := n.Child("condition"); on != nil {
		inner := &scope{parent: sc.parent, items: both, merged: sc.merged}
		if err := p.condition(on, spot{scope: inner}); err != nil {
			return nil, err
		}
	}
	if n.Is("join_type", "SEMI") || n.Is("join_type", "ANTI") {
		return left, nil
	}
	return both, nil
}

// using records the columns of USING, each of which represents a column of either side.
// Both must have the same exact type.
func (p *prover) using(n *sqltree.Node, sc *scope, left, right []item) error {
	for _, name := range n.Strings("using_columns") {
		l, countL := (&scope{items: left, merged: sc.merged}).own([]string{name})
		r, countR := (&scope{items: right, merged: sc.merged}).own([]string{name})
		if countL != 1 || countR != 1 || !l.known || !r.known || l.value.sqlType() != r.value.sqlType() || !l.value.exact() {
			return doubtf("USING %s", name)
		}
		sc.merged[strings.ToLower(name)] = true
	}
	return nil
}

// commonTables proves the queries of WITH, each with those before it in scope. All have
// unique names at this point, so none hides another.
func (p *prover) commonTables(m *sqltree.Node) error {
	for entry := range m.Each("map") {
		body := entry.Child("value")
		sel, err := p.selectNode(body.Child("query").Child("node"), nil, false)
		if err != nil {
			return err
		}
		if err := certain(sel.columns); err != nil {
			return err
		}
		if len(body.List("key_targets")) > 0 {
			return doubt("keys of a query in WITH")
		}
		columns, err := renamed(sel.columns, body.Strings("aliases"))
		if err != nil {
			return err
		}
		p.ctes[entry.Str("key")] = columns
	}
	return nil
}
