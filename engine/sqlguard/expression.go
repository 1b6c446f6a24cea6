package sqlguard

import "strings"

// expr visits one expression.
func (a *analysis) expr(n *node, sc *scope) *Error {
	switch n.str("class") {
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
		a.params[n.str("identifier")] = true
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
			if err := a.arrow(n); err != nil {
				return err.at(n)
			}
		}
		if isLambdaKeyword(n) {
			a.rename()
		}
	case "CAST":
		if losesName(n, a.q.text) {
			a.rename()
		}
	case "CONJUNCTION":
		if err := a.countAlternatives(n); err != nil {
			return err
		}
	case "OPERATOR":
		if n.is("type", "COMPARE_IN") || n.is("type", "COMPARE_NOT_IN") || n.is("type", "OPERATOR_COALESCE") {
			break
		}
		if len(n.list("children")) > 4 && !n.is("type", "GROUPING_FUNCTION") && !n.is("type", "ARRAY_CONSTRUCTOR") {
			return malformed("operands")
		}
		if n.is("type", "ARRAY_SLICE") {
			return a.slice(n, sc)
		}
	}
	return a.fields(n, kExpr, sc)
}

func (a *analysis) window(n *node, sc *scope) *Error {
	if err := a.allowed(n, "scalar"); err != nil {
		return err
	}
	f, _ := LookupFunction("scalar", n.str("function_name"))
	if f.Rule == "separator" {
		if err := separatorRule(n, 1); err != nil {
			return err.at(n)
		}
	} else if f.Class == Constant || f.Class == Cap {
		return refuse(CodeFunction, f.Name, "%s cannot be used as a window function", f.Name).at(n)
	}
	return a.fields(n, kExpr, sc)
}

// bareWords are the names that DuckDB calls as functions when no column of
// that name exists.
var bareWords = map[string]string{
	"current_user": "user", "user": "user", "session_user": "user", "current_role": "user",
	"current_catalog": "catalog", "current_schema": "schema",
	"current_date": "volatile", "current_time": "volatile", "current_timestamp": "volatile",
	"localtime": "volatile", "localtimestamp": "volatile",
}

func (a *analysis) column(n *node, sc *scope) *Error {
	parts := n.strings("column_names")
	if len(parts) == 0 {
		return malformed("column without a name")
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
		switch which := bareWords[word]; which {
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
		a.edit(func() { n.set("column_names", rest) })
	}
	return nil
}

// qualifier returns how many leading parts of a column name are catalog and
// schema of a table in scope. Our subqueries answer to the table's name only.
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

// star visits *, x.* and COLUMNS(…). Which columns they mean depends on the
// table, so the table is read whole.
func (a *analysis) star(n *node, sc *scope) *Error {
	if rel := n.str("relation_name"); rel != "" {
		a.q.rowStars[strings.ToLower(rel)] = true
		a.need(rel) // it may be a struct
		a.mention(n, rel)
	} else if sel := nearestSelect(sc); sel != nil && !(sel.exists && plainStar(n)) {
		sel.star = true
	}
	if e := n.child("expr"); e != nil && !n.flag("columns") && !e.is("class", "FUNCTION") {
		return malformed("star")
	}
	a.noteColumnNames(n.get("expr"))
	for _, name := range n.strings("exclude_list") {
		a.mention(n, name)
	}
	for _, r := range n.list("rename_list") {
		a.define([]string{r.(*node).str("value")})
	}
	return a.fields(n, kExpr, sc)
}

func nearestSelect(sc *scope) *selectUse {
	for ; sc != nil; sc = sc.parent {
		if sc.sel != nil {
			return sc.sel
		}
	}
	return nil
}

// plainStar reports whether n is * and nothing else.
func plainStar(n *node) bool {
	return n.is("class", "STAR") && n.str("relation_name") == "" && !n.flag("columns") && n.child("expr") == nil &&
		len(n.list("exclude_list")) == 0 && len(n.list("replace_list")) == 0 &&
		len(n.list("qualified_exclude_list")) == 0 && len(n.list("rename_list")) == 0
}

// constant replaces what the printer cannot print as it was: 1e6 would come
// back as a DECIMAL.
func (a *analysis) constant(n *node) *Error {
	value := n.child("value")
	if value == nil {
		return malformed("constant without a value")
	}
	if isOpenBound(value) {
		return malformed("constant expected").at(n) // only a slice has one
	}
	if err := checkType(value.child("type")); err != nil {
		return err.at(n)
	}
	if value.child("type").is("id", "BOOLEAN") {
		a.rename() // true prints as true and parses as CAST('t' AS BOOLEAN)
	}
	switch num, isNumber := value.get("value").(number); {
	case !isNumber:
	case value.child("type").is("id", "DOUBLE"):
		a.replaceCall(n, func() *node { return castNode(textNode(string(num)), "DOUBLE") })
	case value.child("type").child("type_info").get("scale") == number("0"):
		// 5. is a DECIMAL, but prints as 5, which is an INTEGER.
		a.replaceCall(n, func() *node {
			cast := castNode(textNode(string(num)), "DECIMAL")
			cast.set("cast_type", value.get("type"))
			return cast
		})
	}
	return nil
}

// isOpenBound reports whether a value represents the missing bound of a slice such as
// x[2:]. The parser gives an empty list for it.
func isOpenBound(value *node) bool {
	return value.child("type").is("id", "LIST")
}

// slice visits x[from:to] and x[from:to:step], in which each bound may be missing.
func (a *analysis) slice(n *node, sc *scope) *Error {
	for i, child := range n.list("children") {
		c := child.(*node)
		if i > 0 && c.is("class", "CONSTANT") && isOpenBound(c.child("value")) {
			continue
		}
		if err := a.expr(c, sc); err != nil {
			return err
		}
	}
	return nil
}

// collations are those without a parameter; others are two-letter languages.
var collations = set("nocase", "noaccent", "nfc", "binary", "c", "posix")

func (a *analysis) collation(n *node, sc *scope) *Error {
	a.mention(n.child("child"), n.str("collation")) // of the word itself there is no place
	for _, part := range strings.Split(strings.ToLower(n.str("collation")), ".") {
		lang, region, _ := strings.Cut(part, "_")
		if !collations[part] && !(isLower(lang, 3) && (region == "" || isLower(region, 3))) {
			return refuse(CodeSyntaxNode, n.str("collation"), "this collation is not served").at(n)
		}
	}
	return a.fields(n, kExpr, sc)
}

func isLower(s string, longest int) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= longest
}

func (a *analysis) subquery(n *node, sc *scope) *Error {
	if err := a.walk(n.get("child"), kExpr, sc); err != nil {
		return err
	}
	stmt := n.child("subquery")
	if stmt == nil {
		return malformed("empty subquery")
	}
	if t := n.str("subquery_type"); t == "EXISTS" || t == "NOT_EXISTS" {
		a.exists = stmt.child("node")
	}
	return a.fields(stmt, kStatement, sc)
}
