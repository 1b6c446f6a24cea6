package limits

import "strings"

// columnIndex finds the columns of relations by name.
type columnIndex struct {
	sources []*source
	// byName holds the columns of the first indexed sources.
	byName  map[string][]*column
	indexed int
}

// find returns the columns of a name, in the order of the relations.
func (x *columnIndex) find(name string) []*column {
	if x == nil {
		return nil
	}
	for ; x.indexed < len(x.sources); x.indexed++ {
		columns := x.sources[x.indexed].columns
		if x.byName == nil {
			x.byName = make(map[string][]*column, len(columns))
		}
		for i := range columns {
			if c := &columns[i]; c.name != "" {
				x.byName[c.name] = append(x.byName[c.name], c)
			}
		}
	}
	return x.byName[name]
}

// column resolves a name with its qualifiers.
func (p *plan) column(parts []string, sc *scope) column {
	for i, part := range parts {
		parts[i] = strings.ToLower(part)
	}
	unknown := false
	for s := sc; s != nil; s = s.parent {
		if c, ok := p.own(parts, s); ok {
			return c
		}
		unknown = unknown || s.unknown
	}
	widest := unknownColumn()
	for s := sc; s != nil && !unknown; s = s.parent {
		widest = largerColumn(widest, column{terms: s.widest.terms, typ: s.widest.typ, class: s.widest.class})
	}
	return widest
}

// own resolves a name in one scope. At most two leading qualifiers are those of a
// table.
func (p *plan) own(names []string, sc *scope) (column, bool) {
	for skip := 0; skip < min(3, len(names)-1); skip++ {
		if found := sc.byAlias[names[skip]].find(names[skip+1]); len(found) > 0 {
			return found[0].member(names[skip+2:]), true
		}
	}
	if c, ok := sc.named[names[0]]; ok {
		if !sc.larger[names[0]] {
			for _, own := range sc.find(names[0]) {
				c = largerColumn(c, *own)
			}
			if sc.larger == nil {
				sc.larger = map[string]bool{}
			}
			sc.named[names[0]], sc.larger[names[0]] = c, true
		}
		return c.member(names[1:]), true
	}
	if found := sc.find(names[0]); len(found) > 0 {
		return found[0].member(names[1:]), true
	}
	if same := sc.byAlias[names[0]]; same != nil {
		return p.row(same.sources[0], sc).member(names[1:]), true
	}
	return column{}, false
}

// member returns a member of a column's type.
func (c column) member(names []string) column {
	for _, name := range names {
		c.typ = c.typ.field(name)
		c.terms = sum(c.terms, 1)
	}
	return c
}

// row returns the whole row of a relation as one value. The engine names each of its
// columns.
func (p *plan) row(s *source, sc *scope) column {
	if !p.bind(int64(len(s.columns)), sc) {
		return unknownColumn()
	}
	if s.whole == nil {
		s.whole = wholeRow(s.columns)
	}
	out := *s.whole
	out.class = &columnClass{}
	return out
}

func wholeRow(columns []column) *column {
	out := &column{terms: 1}
	fields := make(map[string]*dataType, len(columns))
	types := make([]*dataType, 0, len(columns)+1)
	for _, c := range columns {
		out.terms = sum(out.terms, c.terms)
		fields[c.name] = c.typ
		types = append(types, c.typ)
	}
	out.typ = structType(fields)
	if len(fields) < len(types) { // some names are unknown or occur twice
		out.typ = opaqueType(sum(2, joined(append(types, listType(scalarType))).members))
	}
	return out
}
