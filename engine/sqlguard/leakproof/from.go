package leakproof

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// from proves an item of FROM and returns what can be named of it. alone says
// that columns may be doubtful, if it is a query.
func (p *prover) from(n *sqltree.Node, sc *provenScope, alone bool) ([]provenItem, error) {
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

func (p *prover) tableItem(n *sqltree.Node) ([]provenItem, error) {
	t, ok := p.tables[n]
	if !ok {
		columns, ok := p.ctes[n.Str("table_name")]
		return []provenItem{newItem(n.Str("alias"), columns)}, unless(ok, "a table that is not known")
	}
	return []provenItem{itemOf(t)}, nil
}

func itemOf(t Table) provenItem {
	var columns []provenColumn
	for _, c := range t.Columns {
		v, known := columnValueOf(c.Type)
		columns = append(columns, provenColumn{name: c.Name, value: v, known: known})
	}
	return newItem(t.Alias, columns)
}

// derived proves a query in FROM. It sees nothing of what surrounds it: one that
// names a column of its neighbours is doubted.
func (p *prover) derived(n *sqltree.Node, alone bool) ([]provenItem, error) {
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
	return []provenItem{newItem(n.Str("alias"), columns)}, err
}

// renamed are columns of which the first have got other names.
func renamed(columns []provenColumn, names []string) ([]provenColumn, error) {
	if len(names) > len(columns) {
		return nil, doubt("more names than columns")
	}
	out := append([]provenColumn(nil), columns...)
	for i, name := range names {
		out[i].name = name
	}
	return out, nil
}

// certain doubts columns whose values may fail to be computed.
func certain(columns []provenColumn) error {
	for _, c := range columns {
		if c.value.fallible {
			return doubtf("%s may fail below the outermost query", c.name)
		}
	}
	return nil
}

func (p *prover) join(n *sqltree.Node, sc *provenScope) ([]provenItem, error) {
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
	both := append(append([]provenItem(nil), left...), right...)
	if err := p.using(n, sc, left, right); err != nil {
		return nil, err
	}
	if on := n.Child("condition"); on != nil {
		inner := &provenScope{parent: sc.parent, items: both, merged: sc.merged}
		if err := p.condition(on, spot{scope: inner}); err != nil {
			return nil, err
		}
	}
	if n.Is("join_type", "SEMI") || n.Is("join_type", "ANTI") {
		return left, nil
	}
	return both, nil
}

// using notes columns that stand for one of each side: both of one exact type.
func (p *prover) using(n *sqltree.Node, sc *provenScope, left, right []provenItem) error {
	for _, name := range n.Strings("using_columns") {
		l, countL := (&provenScope{items: left, merged: sc.merged}).own([]string{name})
		r, countR := (&provenScope{items: right, merged: sc.merged}).own([]string{name})
		if countL != 1 || countR != 1 || !l.known || !r.known || l.value.sqlType() != r.value.sqlType() || !l.value.exact() {
			return doubtf("USING %s", name)
		}
		sc.merged[strings.ToLower(name)] = true
	}
	return nil
}

// commonTables proves the queries of WITH, each seeing those before it. Their
// names are ours by now, so they cannot hide one another.
func (p *prover) commonTables(m *sqltree.Node) error {
	for _, e := range m.List("map") {
		entry := e.(*sqltree.Node)
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
