package sqlguard

import (
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// table visits one item of FROM.
func (a *analysis) table(n *sqltree.Node, sc *scope) *refusal.Error {
	a.sampling(n)
	if err := a.countSource(n, sc); err != nil {
		return err
	}
	switch n.Str("type") {
	case "BASE_TABLE":
		return a.baseTable(n, sc)
	case "JOIN":
		if n.Is("ref_type", "NATURAL") || n.Is("ref_type", "POSITIONAL") {
			a.q.allNeeded = true
		}
		for _, c := range n.Strings("using_columns") {
			a.need(c)
			a.mention(n, c)
		}
		for _, side := range []string{"left", "right"} {
			if err := a.table(n.Child(side), sc); err != nil {
				return err
			}
		}
		return a.walk(n.Get("condition"), grammar.Expr, sc)
	case "TABLE_FUNCTION":
		a.define(n.Strings("column_name_alias"))
		f := n.Child("function")
		if !f.Is("class", "FUNCTION") {
			return refusal.Malformed("table function")
		}
		return a.function(f, "table", sc)
	case "PIVOT":
		a.q.allNeeded = true // every column that is not named is a group
		for p := range n.Each("pivots") {
			a.define(p.Strings("unpivot_names"))
		}
		a.define(n.Strings("unpivot_names"))
	case "SHOW_REF":
		if n.Child("query") == nil || n.Str("table_name") != "" || n.Str("catalog_name") != "" || n.Str("schema_name") != "" {
			return refusal.New(refusal.CodeStatement, "SHOW", "this SHOW statement is not served here")
		}
		if !n.Is("show_type", "DESCRIBE") && !n.Is("show_type", "SUMMARY") {
			return refusal.New(refusal.CodeStatement, "SHOW", "this SHOW statement is not served here")
		}
	case "SUBQUERY":
		a.define(n.Strings("column_name_alias"))
	case "EXPRESSION_LIST":
		a.rename() // it becomes part of another SELECT
	}
	return a.Fields(n, grammar.Table, sc)
}

// sampling visits the sample of a table reference or SELECT. The method SYSTEM, which is
// the default for percentages, selects whole row groups: over a filtered copy their borders
// would reveal how many rows are hidden between the visible ones. It is replaced by
// BERNOULLI, which decides row by row.
func (a *analysis) sampling(n *sqltree.Node) {
	sample := n.Child("sample")
	if sample == nil {
		return
	}
	a.q.volatile = true
	if sample.Is("method", "System") {
		a.edits.Add(func() { sample.Set("method", "Bernoulli") })
	}
}

func (a *analysis) baseTable(n *sqltree.Node, sc *scope) *refusal.Error {
	ref := TableRef{Catalog: n.Str("catalog_name"), Schema: n.Str("schema_name"), Name: n.Str("table_name"), Alias: n.Str("alias")}
	if ref.Name == "" {
		return refusal.Malformed("table without a name")
	}
	if err := a.walk(n.Get("sample"), grammar.Sample, sc); err != nil {
		return err
	}
	aliases := n.Strings("column_name_alias")
	a.define(aliases)
	if ref.Catalog == "" && ref.Schema == "" {
		if def := sc.cte(ref.Name); def != nil {
			if n.Child("at_clause") != nil {
				return refusal.New(refusal.CodeTimeTravel, ref.Name, "AT applies to tables, not to a WITH query").At(n)
			}
			a.edits.Add(func() {
				n.Set("table_name", def.rename)
				if ref.Alias == "" {
					n.Set("alias", ref.Name)
				}
			})
			return nil
		}
	}
	use := &tableUse{TableRef: ref, node: n, aliased: ref.Alias != "", renamed: len(aliases) > 0, sampled: n.Child("sample") != nil}
	if !use.aliased {
		use.Alias = ref.Name
	}
	use.Position = refusal.PositionIn(a.q.text, sqltree.Offset(n))
	a.mention(n, ref.Name)
	if err := use.timeTravel(n.Child("at_clause")); err != nil {
		return err.At(n)
	}
	a.q.tables = append(a.q.tables, use)
	a.rename() // a result column around it must not get the name of our relation
	if sel := nearestSelect(sc); sel != nil {
		sel.tables = append(sel.tables, use)
		use.sel = sel
	}
	return nil
}

// timeTravel reads the constant version or timestamp of an AT clause.
func (t *tableUse) timeTravel(at *sqltree.Node) *refusal.Error {
	if at == nil {
		return nil
	}
	bad := refusal.New(refusal.CodeTimeTravel, t.Name, "AT takes a constant: AT (VERSION => 3) or AT (TIMESTAMP => '2024-01-31 12:00:00')")
	lit, ok := sqltree.LiteralOf(at.Child("expr"))
	if !ok {
		return bad
	}
	if at.Is("unit", "VERSION") {
		v, err := strconv.ParseInt(lit.Text, 10, 64)
		if lit.Family != sqltree.ExactNumber || err != nil || v < 0 {
			return bad
		}
		t.AtVersion = &v
		return nil
	}
	if lit.Family != sqltree.TextLiteral && lit.Family != sqltree.Date && lit.Family != sqltree.Timestamp && lit.Family != sqltree.Instant {
		return bad
	}
	ts, ok := parseInstant(lit.Text)
	if !ok {
		return bad
	}
	t.AtTimestamp = &ts
	return nil
}

// parseInstant returns a timestamp; without an offset it is in UTC.
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
