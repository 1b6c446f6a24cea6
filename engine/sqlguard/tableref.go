package sqlguard

import (
	"strconv"
	"strings"
	"time"
)

// table visits one item of FROM.
func (a *analysis) table(n *node, sc *scope) *Error {
	a.sampling(n)
	if err := a.countSource(n, sc); err != nil {
		return err
	}
	switch n.str("type") {
	case "BASE_TABLE":
		return a.baseTable(n, sc)
	case "JOIN":
		if n.is("ref_type", "NATURAL") || n.is("ref_type", "POSITIONAL") {
			a.q.allNeeded = true
		}
		for _, c := range n.strings("using_columns") {
			a.need(c)
			a.mention(n, c)
		}
		for _, side := range []string{"left", "right"} {
			if err := a.table(n.child(side), sc); err != nil {
				return err
			}
		}
		return a.walk(n.get("condition"), kExpr, sc)
	case "TABLE_FUNCTION":
		a.define(n.strings("column_name_alias"))
		f := n.child("function")
		if !f.is("class", "FUNCTION") {
			return malformed("table function")
		}
		return a.function(f, "table", sc)
	case "PIVOT":
		a.q.allNeeded = true // every column that is not named is a group
		for _, p := range n.list("pivots") {
			a.define(p.(*node).strings("unpivot_names"))
		}
		a.define(n.strings("unpivot_names"))
	case "SHOW_REF":
		if n.child("query") == nil || n.str("table_name") != "" || n.str("catalog_name") != "" || n.str("schema_name") != "" {
			return refuse(CodeStatement, "SHOW", "this SHOW statement is not served here")
		}
		if !n.is("show_type", "DESCRIBE") && !n.is("show_type", "SUMMARY") {
			return refuse(CodeStatement, "SHOW", "this SHOW statement is not served here")
		}
	case "SUBQUERY":
		a.define(n.strings("column_name_alias"))
	case "EXPRESSION_LIST":
		a.rename() // it becomes part of another SELECT
	}
	return a.fields(n, kTable, sc)
}

// sampling notes the sample of a table reference or SELECT. The method SYSTEM,
// which is the default for percentages, takes whole row groups: over a filtered
// copy their borders tell how many rows are hidden between the visible ones. It
// becomes BERNOULLI, which decides row by row.
func (a *analysis) sampling(n *node) {
	sample := n.child("sample")
	if sample == nil {
		return
	}
	a.q.volatile = true
	if sample.is("method", "System") {
		a.edit(func() { sample.set("method", "Bernoulli") })
	}
}

func (a *analysis) baseTable(n *node, sc *scope) *Error {
	ref := TableRef{Catalog: n.str("catalog_name"), Schema: n.str("schema_name"), Name: n.str("table_name"), Alias: n.str("alias")}
	if ref.Name == "" {
		return malformed("table without a name")
	}
	if err := a.walk(n.get("sample"), kSample, sc); err != nil {
		return err
	}
	aliases := n.strings("column_name_alias")
	a.define(aliases)
	if ref.Catalog == "" && ref.Schema == "" {
		if def := sc.cte(ref.Name); def != nil {
			if n.child("at_clause") != nil {
				return refuse(CodeTimeTravel, ref.Name, "AT applies to tables, not to a WITH query").at(n)
			}
			a.edit(func() {
				n.set("table_name", def.rename)
				if ref.Alias == "" {
					n.set("alias", ref.Name)
				}
			})
			return nil
		}
	}
	use := &tableUse{TableRef: ref, node: n, aliased: ref.Alias != "", renamed: len(aliases) > 0, sampled: n.child("sample") != nil}
	if !use.aliased {
		use.Alias = ref.Name
	}
	use.Position = place(a.q.text, offset(n))
	a.mention(n, ref.Name)
	if err := use.timeTravel(n.child("at_clause")); err != nil {
		return err.at(n)
	}
	a.q.tables = append(a.q.tables, use)
	a.rename() // a result column around it must not get the name of our relation
	if sel := nearestSelect(sc); sel != nil {
		sel.tables = append(sel.tables, use)
		use.sel = sel
	}
	return nil
}

// timeTravel takes a constant version or timestamp out of an AT clause.
func (t *tableUse) timeTravel(at *node) *Error {
	if at == nil {
		return nil
	}
	bad := refuse(CodeTimeTravel, t.Name, "AT takes a constant: AT (VERSION => 3) or AT (TIMESTAMP => '2024-01-31 12:00:00')")
	lit, ok := constantOf(at.child("expr"))
	if !ok {
		return bad
	}
	if at.is("unit", "VERSION") {
		v, err := strconv.ParseInt(lit.text, 10, 64)
		if lit.family != litNumber || err != nil || v < 0 {
			return bad
		}
		t.AtVersion = &v
		return nil
	}
	if lit.family != litText && lit.family != litDate && lit.family != litTimestamp && lit.family != litTimestampTZ {
		return bad
	}
	ts, ok := parseInstant(lit.text)
	if !ok {
		return bad
	}
	t.AtTimestamp = &ts
	return nil
}

// parseInstant reads a timestamp; without an offset it is UTC.
func parseInstant(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 10 && s[10] == 'T' {
		s = s[:10] + " " + s[11:]
	}
	for _, layout := range []string{
		"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.999999999",
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999 UTC",
		"2006-01-02 15:04:05.999999999 Z07:00",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
