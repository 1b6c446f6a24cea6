package printer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The engine names a result column without an alias by the text of its expression. The
// serialised tree lacks some parts of that text: whether the user wrote a type (DATE) or
// the parser inserted it (DOUBLE, in the casts that INTERVAL 3 DAY becomes), the numbers
// after a type, and whether a lambda was written with the keyword or the arrow. The namer
// restores these, if necessary from the user's text. An error of the namer affects only a
// name.

// IsInterval reports whether n is the form that INTERVAL <number> <unit> has in the tree.
func IsInterval(n *sqltree.Node) bool {
	if !strings.HasPrefix(n.Str("function_name"), "to_") {
		return false
	}
	outer := n.Argument(0)
	trunc := outer.Child("child")
	return outer.Is("class", "CAST") && trunc.Is("function_name", "trunc") && trunc.Argument(0).Is("class", "CAST")
}

// namer prepares copies of expressions for printing, so that they print as the
// names that the engine gives the originals.
type namer struct {
	text string // the statement's text, to which the positions of nodes refer
	mark string // a name that occurs nowhere in text
}

// restore changes an expression so that it prints as its name.
func (w namer) restore(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			w.restore(x)
		}
	case *sqltree.Node:
		if v == nil {
			return
		}
		if IsInterval(v) {
			w.restore(v.Argument(0).Child("child").Argument(0).Get("child"))
			return
		}
		if v.Is("class", "CAST") && !isDateCall(v, w.text) {
			written, found := castModifiers(v, w.text)
			v.Set("cast_type", writtenType(v.Child("cast_type"), written, found))
		}
		restoreMethod(v)
		if w.markInfinity(v) {
			return
		}
		for k, x := range v.Fields() {
			if k != "cast_type" {
				w.restore(x)
			}
		}
		if IsLambdaKeyword(v) {
			w.markLambda(v)
		}
	}
}

// restoreMethod undoes [MethodCall].
func restoreMethod(n *sqltree.Node) {
	column := n.Argument(0)
	if !n.Is("class", "FUNCTION") || column.Get("query_location") != methodLocation {
		return
	}
	parts := column.Strings("column_names")
	n.Set("schema", parts[len(parts)-1])
	if len(parts) > 1 {
		n.Set("catalog", parts[0])
	}
	n.Set("children", n.List("children")[1:])
}

// IsLambdaKeyword reports whether n is a lambda written with the keyword, whose
// parameters have no position. The printer writes only the arrow.
func IsLambdaKeyword(n *sqltree.Node) bool {
	if !n.Is("class", "LAMBDA") {
		return false
	}
	lhs := n.Child("lhs")
	return sqltree.Offset(lhs) < 0 && (lhs.Is("class", "COLUMN_REF") || lhs.Is("function_name", "row") && lhs.Str("schema") == "")
}

// markLambda turns a lambda into an operator that prints as
// "(MARK_args(x, y) MARK_body …)"; see [namer.unmark].
func (w namer) markLambda(n *sqltree.Node) {
	parameters := []any{n.Get("lhs")}
	if lhs := n.Child("lhs"); lhs.Is("class", "FUNCTION") {
		parameters = lhs.List("children")
	}
	n.Become(sqltree.Call(w.mark+"_body", true, sqltree.Call(w.mark+"_args", false, parameters...), n.Get("expr")))
}

// Infinity returns the value of a constant beyond the range of DOUBLE.
func Infinity(n *sqltree.Node) (sqltree.Number, bool) {
	num, _ := n.Child("value").Get("value").(sqltree.Number)
	return num, n.Is("class", "CONSTANT") && (num == "Infinity" || num == "-Infinity")
}

// markInfinity replaces a constant beyond the range of DOUBLE, which the printer does not
// accept, by a column that [namer.unmark] replaces.
func (w namer) markInfinity(n *sqltree.Node) bool {
	num, ok := Infinity(n)
	if ok {
		n.Become(sqltree.Column(w.mark + map[sqltree.Number]string{"Infinity": "_plus", "-Infinity": "_minus"}[num]))
	}
	return ok
}

// unmark replaces the marks of [namer.markLambda] and [namer.markInfinity] in the printed
// name by the engine's text.
func (w namer) unmark(name string) string {
	name = strings.NewReplacer(w.mark+"_plus", "1e1000", w.mark+"_minus", "-1e1000").Replace(name)
	for {
		before, rest, found := strings.Cut(name, w.mark+"_args(")
		if !found {
			return name
		}
		parameters, body, found := strings.Cut(rest, ") "+w.mark+"_body ")
		if !found {
			return name
		}
		name = before + "lambda " + parameters + ": " + body
	}
}

// isDateCall reports whether n was written as date(x), which becomes a cast without a
// position. It returns false for a literal such as DATE '2020-01-01', which
// becomes a cast to a type that the user wrote.
func isDateCall(n *sqltree.Node, text string) bool {
	if sqltree.Offset(n) >= 0 || n.Flag("try_cast") || !n.Child("cast_type").Is("id", "DATE") {
		return false
	}
	child := n.Child("child")
	if !child.Is("class", "CONSTANT") {
		return true
	}
	at := sqltree.Offset(child)
	return at >= 0 && at <= len(text) && strings.HasSuffix(strings.TrimRight(text[:at], " \t\r\n"), "(")
}

// modifierText matches a type name and the numbers after it.
var modifierText = regexp.MustCompile(`^\s*"?[A-Za-z_]\w*"?(?:\s+(?i:precision|varying))?\s*(?:\(\s*([0-9]+(?:\s*,\s*[0-9]+)*)\s*\))?`)

// castModifiers returns the numbers that the user wrote after the innermost type of a cast.
// The tree does not hold them as written: VARCHAR(10) becomes VARCHAR, and DECIMAL becomes
// DECIMAL(18,3). found is false if the position of the type is unknown.
func castModifiers(n *sqltree.Node, text string) (modifiers []string, found bool) {
	at := sqltree.Offset(n)
	if at < 0 || at >= len(text) {
		return nil, false
	}
	rest, ok := strings.CutPrefix(text[at:], "::")
	if !ok {
		if rest, ok = castTarget(text, at); !ok {
			return nil, false
		}
	}
	m := modifierText.FindStringSubmatch(rest)
	if m == nil {
		return nil, false
	}
	if m[1] != "" {
		for _, number := range strings.Split(m[1], ",") {
			modifiers = append(modifiers, strings.TrimSpace(number))
		}
	}
	return modifiers, true
}

// castTarget returns the text after AS of the CAST or TRY_CAST that starts at i.
func castTarget(text string, i int) (string, bool) {
	if word := strings.ToLower(sqltext.FirstWord(text[i:])); word != "cast" && word != "try_cast" {
		return "", false
	}
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = sqltext.SkipQuoted(text, i, c, false)
			continue
		case c == '$' && sqltext.DollarTag(text[i:]) != "":
			tag := sqltext.DollarTag(text[i:])
			end := strings.Index(text[i+len(tag):], tag)
			if end < 0 {
				return "", false
			}
			i += end + 2*len(tag)
			continue
		case sqltext.SkipBlank(text, i) > i:
			i = sqltext.SkipBlank(text, i)
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth <= 0 {
				return "", false
			}
		case sqltext.IsWord(c):
			word := i
			for i < len(text) && (sqltext.IsWord(text[i]) || text[i] >= 0x80) {
				i++
			}
			switch {
			case depth == 1 && strings.EqualFold(text[word:i], "as"):
				return text[i:], true
			case strings.EqualFold(text[word:i], "e") && i < len(text) && text[i] == '\'':
				i = sqltext.SkipQuoted(text, i, '\'', true)
			}
			continue
		}
		i++
	}
	return "", false
}

// LosesName reports whether printing and parsing a cast again changes its name.
func LosesName(n *sqltree.Node, text string) bool {
	if isDateCall(n, text) {
		return true
	}
	written, found := castModifiers(n, text)
	if !found {
		return false
	}
	t := innermost(n.Child("cast_type"))
	if !t.Is("id", "DECIMAL") {
		return len(written) > 0 && !t.Is("id", "UNBOUND")
	}
	info := t.Child("type_info")
	return !slices.Equal(written, []string{digits(info.Get("width")), digits(info.Get("scale"))})
}

// innermost returns the element type of nested lists and arrays.
func innermost(t *sqltree.Node) *sqltree.Node {
	for t.Is("id", "LIST") || t.Is("id", "ARRAY") {
		t = t.Child("type_info").Child("child_type")
	}
	return t
}

func digits(v any) string {
	n, _ := v.(sqltree.Number)
	return string(n)
}

// writtenType converts a type to the unresolved form that users write. If found is
// true, written holds the numbers after the type.
func writtenType(t *sqltree.Node, written []string, found bool) *sqltree.Node {
	id, info := t.Str("id"), t.Child("type_info")
	modifiers := []any{}
	switch id {
	case "UNBOUND", "STRUCT", "MAP", "UNION":
		return t
	case "LIST", "ARRAY":
		child := writtenType(info.Child("child_type"), written, found)
		info = info.Clone()
		info.Set("child_type", child)
		return sqltree.Object("id", id, "type_info", info)
	case "DECIMAL":
		if !found {
			written = []string{digits(info.Get("width")), digits(info.Get("scale"))}
		}
	case "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		if len(written) > 0 {
			id = "TIMESTAMP" // TIMESTAMP(3)
		}
	}
	for _, m := range written {
		modifiers = append(modifiers, sqltree.Object("type", sqltree.Type("INTEGER"), "is_null", false, "value", sqltree.Number(m)))
	}
	return sqltree.Object("id", "UNBOUND", "type_info", sqltree.Object("type", "UNBOUND_TYPE_INFO", "alias", "", "extension_info", nil,
		"name", id, "catalog", "", "schema", "", "user_type_modifiers", modifiers))
}

// schemasOfFunctions holds the engine's own schemas. A column with such a name has no
// methods.
var schemasOfFunctions = sqltree.Set("main", "pg_catalog", "information_schema")

// methodLocation is the position of the columns that [MethodCall] makes. The parser never
// uses it.
const methodLocation = sqltree.Number("18446744073709551614")

// MethodCall converts a method call such as id.abs() or t.id.abs() into abs(id), as the
// engine does for columns, and reports whether n was one. In the parser's tree it is a call
// of a function in the schema id.
func MethodCall(n *sqltree.Node) bool {
	schema, catalog := n.Str("schema"), n.Str("catalog")
	if schema == "" || schemasOfFunctions[strings.ToLower(schema)] || n.Flag("is_operator") {
		return false
	}
	parts := []string{schema}
	if catalog != "" {
		parts = []string{catalog, schema}
	}
	column := sqltree.Column(parts...)
	column.Set("query_location", methodLocation)
	n.Set("children", append([]any{column}, n.List("children")...))
	n.Set("schema", "")
	n.Set("catalog", "")
	return true
}
