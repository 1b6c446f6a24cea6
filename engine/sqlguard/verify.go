package sqlguard

import (
	"context"
	"sort"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
)

// verify parses sql and compares the tree with the one it was printed from, so
// that a defect of the printer cannot change what runs.
func verify(ctx context.Context, parser engine.Parser, want *node, sql string) error {
	raw, err := parser.Serialize(ctx, sql)
	if err != nil {
		return unprintable(ctx, err)
	}
	if matches(raw, document(want)) {
		return nil
	}
	root, err := decodeTree(raw, 1<<20, true)
	if err != nil || root.flag("error") || len(root.list("statements")) != 1 {
		return refuse(CodePrinter, "", "the statement cannot be passed on unchanged")
	}
	if !equal(canonical(want), canonical(root.list("statements")[0])) {
		return refuse(CodePrinter, "", "the statement cannot be passed on unchanged; write it in a simpler form")
	}
	return nil
}

// canonical rewrites the few things that the printer writes in another way with
// the same meaning. It changes its argument.
func canonical(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case *node:
		if v == nil {
			return nil
		}
		for i := range v.vals {
			v.vals[i] = canonical(v.vals[i])
		}
		collapseValues(v)
		booleanConstant(v)
		groupOrder(v)
	}
	return v
}

// collapseValues: VALUES prints as (SELECT * FROM (VALUES …)).
func collapseValues(n *node) {
	if !n.is("type", "SUBQUERY") || n.get("class") != nil || len(n.list("column_name_alias")) > 0 || n.child("sample") != nil {
		return
	}
	sel := n.child("subquery").child("node")
	from := sel.child("from_table")
	if !sel.is("type", "SELECT_NODE") || !from.is("type", "EXPRESSION_LIST") || from.str("alias") != n.str("alias") {
		return
	}
	list := sel.list("select_list")
	if len(list) != 1 || !plainStar(list[0].(*node)) || list[0].(*node).str("alias") != "" {
		return
	}
	for _, f := range []string{"where_clause", "having", "sample", "qualify"} {
		if sel.child(f) != nil {
			return
		}
	}
	if len(sel.list("modifiers")) > 0 || len(sel.list("group_sets")) > 0 || len(sel.child("cte_map").list("map")) > 0 ||
		!isDefault(sel.str("aggregate_handling")) {
		return
	}
	n.become(from)
}

// booleanConstant: a BOOLEAN prints as true, which parses as CAST('t' AS BOOLEAN).
func booleanConstant(n *node) {
	if !n.is("class", "CONSTANT") || !n.child("value").child("type").is("id", "BOOLEAN") || n.child("value").flag("is_null") {
		return
	}
	text := "f"
	if n.child("value").flag("value") {
		text = "t"
	}
	cast := castNode(textNode(text), "BOOLEAN")
	cast.set("alias", n.str("alias"))
	n.become(cast)
}

// groupOrder numbers the expressions of GROUP BY in the order in which the
// grouping sets name them, as the parser does.
func groupOrder(n *node) {
	sets, exprs := n.list("group_sets"), n.list("group_expressions")
	if !n.is("type", "SELECT_NODE") || len(sets) == 0 {
		return
	}
	place := map[any]int{}
	var ordered []any
	for _, s := range sets {
		set, _ := s.([]any)
		for _, i := range set {
			if _, seen := place[i]; seen {
				continue
			}
			at := atoi(i)
			if at < 0 || at >= len(exprs) {
				return
			}
			place[i] = len(ordered)
			ordered = append(ordered, exprs[at])
		}
	}
	if len(ordered) != len(exprs) {
		return
	}
	for k, s := range sets {
		set := s.([]any)
		renamed := make([]any, len(set))
		for j, i := range set {
			renamed[j] = place[i]
		}
		sort.Slice(renamed, func(a, b int) bool { return renamed[a].(int) < renamed[b].(int) })
		for j, i := range renamed {
			renamed[j] = itoa(i.(int))
		}
		sets[k] = renamed
	}
	n.set("group_expressions", ordered)
}

// equal compares two trees. Positions do not count, and an absent field equals
// its default.
func equal(a, b any) bool {
	switch x := a.(type) {
	case *node:
		y, ok := b.(*node)
		if x == nil || !ok || y == nil {
			return isDefault(a) && isDefault(b)
		}
		for i, k := range x.keys {
			other := y.get(k)
			if other == nil && trueByDefault[k] {
				other = true
			}
			if k != "query_location" && !equal(x.vals[i], other) {
				return false
			}
		}
		for i, k := range y.keys {
			if k == "query_location" || x.get(k) != nil {
				continue
			}
			if trueByDefault[k] && y.vals[i] != true || !trueByDefault[k] && !isDefault(y.vals[i]) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return isDefault(a) && isDefault(b)
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return a == b || isDefault(a) && isDefault(b)
}

// trueByDefault are the flags that mean true when they are left out.
var trueByDefault = set("setop_all", "union_all")

// isDefault reports the values that a field has when it is left out.
func isDefault(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "STANDARD_HANDLING" || v == "CTE_MATERIALIZE_DEFAULT" || v == "NO_OTHER" || v == "WITHOUT_ORDINALITY"
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case *node:
		return v == nil || isEmptyNode(v)
	}
	return false
}

// isEmptyNode reports an object that holds defaults only, as an empty WITH or
// an empty ORDER BY of an aggregate does.
func isEmptyNode(n *node) bool {
	for i, k := range n.keys {
		if k == "type" && n.vals[i] == "ORDER_MODIFIER" {
			continue
		}
		if !isDefault(n.vals[i]) {
			return false
		}
	}
	return true
}

func atoi(v any) int {
	num, _ := v.(number)
	n := -1
	for i, c := range string(num) {
		if c < '0' || c > '9' || i > 6 {
			return -1
		}
		n = max(n, 0)*10 + int(c-'0')
	}
	return n
}

func itoa(i int) number { return number(strconv.Itoa(i)) }
