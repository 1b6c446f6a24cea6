package sqlguard

import (
	"regexp"
	"slices"
	"strings"
)

// The engine names a result column without an alias by the text of its expression. The
// serialised tree lacks some of what this text depends on: whether the user wrote a
// type ("DATE") or the parser chose it (DOUBLE, in the casts that INTERVAL 3 DAY
// becomes), the numbers after a type, and whether a lambda was written with the
// keyword or the arrow. The namer restores these, from the user's text where the tree
// has lost them. An error of the namer affects only a name.

// isInterval recognises what INTERVAL <number> <unit> becomes.
func isInterval(n *node) bool {
	if !strings.HasPrefix(n.str("function_name"), "to_") {
		return false
	}
	outer := argument(n, 0)
	trunc := outer.child("child")
	return outer.is("class", "CAST") && trunc.is("function_name", "trunc") && argument(trunc, 0).is("class", "CAST")
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
	case *node:
		if v == nil {
			return
		}
		if isInterval(v) {
			w.restore(argument(argument(v, 0).child("child"), 0).get("child"))
			return
		}
		if v.is("class", "CAST") && !isDateCall(v, w.text) {
			written, found := castModifiers(v, w.text)
			v.set("cast_type", writtenType(v.child("cast_type"), written, found))
		}
		restoreMethod(v)
		if w.markInfinity(v) {
			return
		}
		for i, k := range v.keys {
			if k != "cast_type" {
				w.restore(v.vals[i])
			}
		}
		if isLambdaKeyword(v) {
			w.markLambda(v)
		}
	}
}

// restoreMethod undoes [analysis.method].
func restoreMethod(n *node) {
	column := argument(n, 0)
	if !n.is("class", "FUNCTION") || column.get("query_location") != methodLocation {
		return
	}
	parts := column.strings("column_names")
	n.set("schema", parts[len(parts)-1])
	if len(parts) > 1 {
		n.set("catalog", parts[0])
	}
	n.set("children", n.list("children")[1:])
}

// isLambdaKeyword reports whether n is a lambda written with the keyword, whose
// parameters have no position. The printer writes only the arrow.
func isLambdaKeyword(n *node) bool {
	if !n.is("class", "LAMBDA") {
		return false
	}
	lhs := n.child("lhs")
	return offset(lhs) < 0 && (lhs.is("class", "COLUMN_REF") || lhs.is("function_name", "row") && lhs.str("schema") == "")
}

// markLambda turns a lambda into an operator that prints as
// "(MARK_args(x, y) MARK_body …)"; see [namer.unmark].
func (w namer) markLambda(n *node) {
	parameters := []any{n.get("lhs")}
	if lhs := n.child("lhs"); lhs.is("class", "FUNCTION") {
		parameters = lhs.list("children")
	}
	n.become(callNode(w.mark+"_body", true, callNode(w.mark+"_args", false, parameters...), n.get("expr")))
}

// infinity returns the value of a constant beyond the range of DOUBLE.
func infinity(n *node) (number, bool) {
	num, _ := n.child("value").get("value").(number)
	return num, n.is("class", "CONSTANT") && (num == "Infinity" || num == "-Infinity")
}

// markInfinity replaces a constant beyond the range of DOUBLE, which the printer does not
// accept, by a column that [namer.unmark] replaces.
func (w namer) markInfinity(n *node) bool {
	num, ok := infinity(n)
	if ok {
		n.become(columnNode(w.mark + map[number]string{"Infinity": "_plus", "-Infinity": "_minus"}[num]))
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
func isDateCall(n *node, text string) bool {
	if offset(n) >= 0 || n.flag("try_cast") || !n.child("cast_type").is("id", "DATE") {
		return false
	}
	child := n.child("child")
	if !child.is("class", "CONSTANT") {
		return true
	}
	at := offset(child)
	return at >= 0 && at <= len(text) && strings.HasSuffix(strings.TrimRight(text[:at], " \t\r\n"), "(")
}

// modifierText matches a type name and the numbers after it.
var modifierText = regexp.MustCompile(`^\s*"?[A-Za-z_]\w*"?(?:\s+(?i:precision|varying))?\s*(?:\(\s*([0-9]+(?:\s*,\s*[0-9]+)*)\s*\))?`)

// castModifiers returns the numbers that the user wrote after the innermost type of a
// cast. The tree does not hold them as written: VARCHAR(10) becomes VARCHAR, and
// DECIMAL becomes DECIMAL(18,3). found is false if the position of the type is
// unknown.
func castModifiers(n *node, text string) (modifiers []string, found bool) {
	at := offset(n)
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
	if word := strings.ToLower(firstWord(text[i:])); word != "cast" && word != "try_cast" {
		return "", false
	}
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = skipQuoted(text, i, c, false)
			continue
		case c == '$' && dollarTag(text[i:]) != "":
			tag := dollarTag(text[i:])
			end := strings.Index(text[i+len(tag):], tag)
			if end < 0 {
				return "", false
			}
			i += end + 2*len(tag)
			continue
		case skipBlank(text, i) > i:
			i = skipBlank(text, i)
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth <= 0 {
				return "", false
			}
		case isWord(c):
			word := i
			for i < len(text) && (isWord(text[i]) || text[i] >= 0x80) {
				i++
			}
			switch {
			case depth == 1 && strings.EqualFold(text[word:i], "as"):
				return text[i:], true
			case strings.EqualFold(text[word:i], "e") && i < len(text) && text[i] == '\'':
				i = skipQuoted(text, i, '\'', true)
			}
			continue
		}
		i++
	}
	return "", false
}

// losesName reports whether printing and parsing a cast again changes its name.
func losesName(n *node, text string) bool {
	if isDateCall(n, text) {
		return true
	}
	written, found := castModifiers(n, text)
	if !found {
		return false
	}
	t := innermost(n.child("cast_type"))
	if !t.is("id", "DECIMAL") {
		return len(written) > 0 && !t.is("id", "UNBOUND")
	}
	info := t.child("type_info")
	return !slices.Equal(written, []string{digits(info.get("width")), digits(info.get("scale"))})
}

// innermost returns the element type of nested lists and arrays.
func innermost(t *node) *node {
	for t.is("id", "LIST") || t.is("id", "ARRAY") {
		t = t.child("type_info").child("child_type")
	}
	return t
}

func digits(v any) string {
	n, _ := v.(number)
	return string(n)
}

// writtenType converts a type to the unresolved form that users write. If found is
// true, written holds the numbers after the type.
func writtenType(t *node, written []string, found bool) *node {
	id, info := t.str("id"), t.child("type_info")
	modifiers := []any{}
	switch id {
	case "UNBOUND", "STRUCT", "MAP", "UNION":
		return t
	case "LIST", "ARRAY":
		child := writtenType(info.child("child_type"), written, found)
		info = info.clone()
		info.set("child_type", child)
		return obj("id", id, "type_info", info)
	case "DECIMAL":
		if !found {
			written = []string{digits(info.get("width")), digits(info.get("scale"))}
		}
	case "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		if len(written) > 0 {
			id = "TIMESTAMP" // TIMESTAMP(3)
		}
	}
	for _, m := range written {
		modifiers = append(modifiers, obj("type", typeNode("INTEGER"), "is_null", false, "value", number(m)))
	}
	return obj("id", "UNBOUND", "type_info", obj("type", "UNBOUND_TYPE_INFO", "alias", "", "extension_info", nil,
		"name", id, "catalog", "", "schema", "", "user_type_modifiers", modifiers))
}
