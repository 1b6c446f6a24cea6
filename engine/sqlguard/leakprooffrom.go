package sqlguard

// from proves an item of FROM and returns what can be named of it. alone says
// that columns may be doubtful, if it is a query.
func (p *prover) from(n *node, sc *provenScope, alone bool) ([]provenItem, error) {
	if n.child("sample") != nil {
		return nil, doubt("a sample")
	}
	if len(n.strings("column_name_alias")) > 0 && !n.is("type", "SUBQUERY") {
		return nil, doubt("names for the columns of a table")
	}
	switch n.str("type") {
	case "EMPTY":
		return nil, nil
	case "BASE_TABLE":
		return p.tableItem(n)
	case "SUBQUERY":
		return p.derived(n, alone)
	case "JOIN":
		return p.join(n, sc)
	}
	return nil, doubtf("%s in FROM", n.str("type"))
}

func (p *prover) tableItem(n *node) ([]provenItem, error) {
	t := p.tables[n]
	if t == nil {
		columns, ok := p.ctes[n.str("table_name")]
		return []provenItem{newItem(n.str("alias"), columns)}, unless(ok, "a table that is not known")
	}
	var columns []provenColumn
	for _, c := range p.relations[n].Columns {
		v, known := columnValueOf(c.Type)
		columns = append(columns, provenColumn{name: c.Name, value: v, known: known})
	}
	return []provenItem{newItem(t.Alias, columns)}, nil
}

// derived proves a query in FROM. It sees nothing of what surrounds it: one that
// names a column of its neighbours is doubted.
func (p *prover) derived(n *node, alone bool) ([]provenItem, error) {
	sel, err := p.selectNode(n.child("subquery").child("node"), nil, false)
	if err != nil {
		return nil, err
	}
	if !alone {
		if err := certain(sel.columns); err != nil {
			return nil, err
		}
	}
	columns, err := renamed(sel.columns, n.strings("column_name_alias"))
	return []provenItem{newItem(n.str("alias"), columns)}, err
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

func (p *prover) join(n *node, sc *provenScope) ([]provenItem, error) {
	if !n.is("ref_type", "REGULAR") && !n.is("ref_type", "CROSS") {
		return nil, doubtf("a join of type %s", n.str("ref_type"))
	}
	left, err := p.from(n.child("left"), sc, false)
	if err != nil {
		return nil, err
	}
	right, err := p.from(n.child("right"), sc, false)
	if err != nil {
		return nil, err
	}
	both := append(append([]provenItem(nil), left...), right...)
	if err := p.using(n, sc, left, right); err != nil {
		return nil, err
	}
	if on := n.child("condition"); on != nil {
		inner := &provenScope{parent: sc.parent, items: both, merged: sc.merged}
		if err := p.condition(on, spot{scope: inner}); err != nil {
			return nil, err
		}
	}
	if n.is("join_type", "SEMI") || n.is("join_type", "ANTI") {
		return left, nil
	}
	return both, nil
}

// using notes columns that stand for one of each side: both of one exact type.
func (p *prover) using(n *node, sc *provenScope, left, right []provenItem) error {
	for _, name := range n.strings("using_columns") {
		l, countL := (&provenScope{items: left, merged: sc.merged}).own([]string{name})
		r, countR := (&provenScope{items: right, merged: sc.merged}).own([]string{name})
		if countL != 1 || countR != 1 || !l.known || !r.known || l.value.sqlType() != r.value.sqlType() || !l.value.exact() {
			return doubtf("USING %s", name)
		}
		sc.merged[lower(name)] = true
	}
	return nil
}

// commonTables proves the queries of WITH, each seeing those before it. Their
// names are ours by now, so they cannot hide one another.
func (p *prover) commonTables(m *node) error {
	for _, e := range m.list("map") {
		entry := e.(*node)
		body := entry.child("value")
		sel, err := p.selectNode(body.child("query").child("node"), nil, false)
		if err != nil {
			return err
		}
		if err := certain(sel.columns); err != nil {
			return err
		}
		if len(body.list("key_targets")) > 0 {
			return doubt("keys of a query in WITH")
		}
		columns, err := renamed(sel.columns, body.strings("aliases"))
		if err != nil {
			return err
		}
		p.ctes[entry.str("key")] = columns
	}
	return nil
}
