package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/arguments"
	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// expr visits one expression.
func (a *analysis) expr(n *sqltree.Node, sc *scope) *refusal.Error {
	switch n.Str("class") {
	case "FUNCTION":
		return a.function(n, "scalar", sc)
	case "WINDOW":
		return a.window(n, sc)
	case "COLUMN_REF":
		return a.column(n, sc)
	case "STAR":
		return a.star(n, sc)
	case "CONSTANT":
		return a.constant(n)
	case "PARAMETER":
		a.params[n.Str("identifier")] = true
		return nil
	case "POSITIONAL_REFERENCE":
		a.q.allNeeded = true // counts columns of FROM, so none may be left out
		return nil
	case "COLLATE":
		return a.collation(n, sc)
	case "SUBQUERY":
		return a.subquery(n, sc)
	case "LAMBDA":
		if n != a.lambda {
			if err := a.bounds.Arrow(n); err != nil {
				return err.At(n)
			}
		}
		if printer.IsLambdaKeyword(n) {
			a.rename()
		}
	case "CAST":
		if printer.LosesName(n, a.q.text) {
			a.rename()
		}
	case "CONJUNCTION":
		if err := a.countAlternatives(n); err != nil {
			return err
		}
	case "OPERATOR":
		if n.Is("type", "COMPARE_IN") || n.Is("type", "COMPARE_NOT_IN") || n.Is("type", "OPERATOR_COALESCE") {
			break
		}
		if len(n.List("children")) > 4 && !n.Is("type", "GROUPING_FUNCTION") && !n.Is("type", "ARRAY_CONSTRUCTOR") {
			return refusal.Malformed("operands")
		}
		if n.Is("type", "ARRAY_SLICE") {
			return a.slice(n, sc)
		}
	}
	return a.Fields(n, grammar.Expr, sc)
}

func (a *analysis) window(n *sqltree.Node, sc *scope) *refusal.Error {
	if err := a.allowed(n, "scalar"); err != nil {
		return err
	}
	f, _ := functions.Lookup("scalar", n.Str("function_name"))
	if f.Rule == "separator" {
		if err := arguments.Separator(n, 1); err != nil {
			return err.At(n)
		}
	} else if f.Class == functions.Constant || f.Class == functions.Cap {
		return refusal.New(refusal.CodeFunction, f.Name, "%s cannot be used as a window function", f.Name).At(n)
	}
	return a.Fields(n, grammar.Expr, sc)
}

func (a *analysis) column(n *sqltree.Node, sc *scope) *refusal.Error {
	parts := n.Strings("column_names")
	if len(parts) == 0 {
		return refusal.Malformed("column without a name")
	}
	for _, p := range parts {
		a.need(p)
	}
	a.mention(n, parts[len(parts)-1])
	if len(parts) > 1 {
		a.mention(n, parts[0])
		a.mention(n, strings.Join(parts, "."))
	}
	if len(parts) == 1 {
		word := strings.ToLower(parts[0])
		a.q.singles[word] = true
		switch which := functions.BareWords[word]; which {
		case "":
		case "volatile":
			a.q.volatile = true
		default:
			// Whether it is a column is known when the tables are; the name of a
			// result column must then already be settled.
			a.rename()
			a.q.values = append(a.q.values, &sqlValue{node: n, word: which})
		}
		return nil
	}
	if drop := a.qualifier(parts, sc); drop > 0 {
		rest := make([]any, 0, len(parts))
		for _, p := range parts[drop:] {
			rest = append(rest, p)
		}
		a.edits.Add(func() { n.Set("column_names", rest) })
	}
	return nil
}

// qualifier returns the number of leading parts of a column name that are the catalog and
// schema of a table in scope. The generated subqueries have the table's name only.
func (a *analysis) qualifier(parts []string, sc *scope) int {
	for ; sc != nil; sc = sc.parent {
		if sc.sel == nil {
			continue
		}
		for _, t := range sc.sel.tables {
			if t.aliased {
				continue
			}
			catalog, schema := t.Catalog, t.Schema
			if catalog == "" {
				catalog = a.q.opts.Catalog
			}
			if schema == "" {
				schema = a.q.opts.Schema
			}
			fold := strings.EqualFold
			if len(parts) >= 4 && fold(parts[0], catalog) && fold(parts[1], schema) && fold(parts[2], t.Name) {
				return 2
			}
			if len(parts) >= 3 && fold(parts[0], schema) && fold(parts[1], t.Name) {
				return 1
			}
		}
	}
	return 0
}

// star visits *, x.* and COLUMNS(…). Their columns depend on the table, so the whole table
// is read.
func (a *analysis) star(n *sqltree.Node, sc *scope) *refusal.Error {
	if rel := n.Str("relation_name"); rel != "" {
		a.q.rowStars[strings.ToLower(rel)] = true
		a.need(rel) // it may be a struct
		a.mention(n, rel)
	} else if sel := nearestSelect(sc); sel != nil && !(sel.exists && sqltree.PlainStar(n)) {
		sel.star = true
	}
	if e := n.Child("expr"); e != nil && !n.Flag("columns") && !e.Is("class", "FUNCTION") {
		return refusal.Malformed("star")
	}
	a.bounds.ColumnNames(n.Get("expr"))
	for _, name := range n.Strings("exclude_list") {
		a.mention(n, name)
	}
	for r := range n.Each("rename_list") {
		a.define([]string{r.Str("value")})
	}
	return a.Fields(n, grammar.Expr, sc)
}

func nearestSelect(sc *scope) *selectUse {
	for ; sc != nil; sc = sc.parent {
		if sc.sel != nil {
			return sc.sel
		}
	}
	return nil
}

// constant replaces constants that the printer changes: 1e6 would come back as a DECIMAL.
func (a *analysis) constant(n *sqltree.Node) *refusal.Error {
	value := n.Child("value")
	if value == nil {
		return refusal.Malformed("constant without a value")
	}
	if isOpenBound(value) {
		return refusal.Malformed("constant expected").At(n) // only a slice has one
	}
	if err := grammar.CheckType(value.Child("type")); err != nil {
		return err.At(n)
	}
	if value.Child("type").Is("id", "BOOLEAN") {
		a.rename() // true prints as true and parses as CAST('t' AS BOOLEAN)
	}
	switch num, isNumber := value.Get("value").(sqltree.Number); {
	case !isNumber:
	case value.Child("type").Is("id", "DOUBLE"):
		a.edits.Replace(n, func() *sqltree.Node { return sqltree.Cast(sqltree.Text(string(num)), "DOUBLE") })
	case value.Child("type").Child("type_info").Get("scale") == sqltree.Number("0"):
		// 5. is a DECIMAL, but prints as 5, which is an INTEGER.
		a.edits.Replace(n, func() *sqltree.Node {
			cast := sqltree.Cast(sqltree.Text(string(num)), "DECIMAL")
			cast.Set("cast_type", value.Get("type"))
			return cast
		})
	}
	return nil
}

// isOpenBound reports whether a value represents the missing bound of a slice such as
// x[2:]. The parser gives an empty list for it.
func isOpenBound(value *sqltree.Node) bool {
	return value.Child("type").Is("id", "LIST")
}

// slice visits x[from:to] and x[from:to:step], in which each bound may be missing.
func (a *analysis) slice(n *sqltree.Node, sc *scope) *refusal.Error {
	for i, child := range n.List("children") {
		c := child.(*sqltree.Node)
		if i > 0 && c.Is("class", "CONSTANT") && isOpenBound(c.Child("value")) {
			continue
		}
		if err := a.expr(c, sc); err != nil {
			return err
		}
	}
	return nil
}

// collations holds the collations without a parameter; others are two-letter languages.
var collations = sqltree.Set("nocase", "noaccent", "nfc", "binary", "c", "posix")

func (a *analysis) collation(n *sqltree.Node, sc *scope) *refusal.Error {
	a.mention(n.Child("child"), n.Str("collation")) // of the word itself there is no place
	for _, part := range strings.Split(strings.ToLower(n.Str("collation")), ".") {
		lang, region, _ := strings.Cut(part, "_")
		if !collations[part] && !(isLower(lang, 3) && (region == "" || isLower(region, 3))) {
			return refusal.New(refusal.CodeSyntaxNode, n.Str("collation"), "this collation is not served").At(n)
		}
	}
	return a.Fields(n, grammar.Expr, sc)
}

func isLower(s string, longest int) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= longest
}

func (a *analysis) subquery(n *sqltree.Node, sc *scope) *refusal.Error {
	if err := a.walk(n.Get("child"), grammar.Expr, sc); err != nil {
		return err
	}
	stmt := n.Child("subquery")
	if stmt == nil {
		return refusal.Malformed("empty subquery")
	}
	if t := n.Str("subquery_type"); t == "EXISTS" || t == "NOT_EXISTS" {
		a.exists = stmt.Child("node")
	}
	return a.Fields(stmt, grammar.Statement, sc)
}
