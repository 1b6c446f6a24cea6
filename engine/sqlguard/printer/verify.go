package printer

import (
	"context"
	"slices"
	"sort"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Verify parses sql and compares its tree with want, from which it was printed, so that a
// defect of the printer cannot change what runs.
func Verify(ctx context.Context, parser engine.Parser, want *sqltree.Node, sql string) error {
	raw, err := parser.Serialize(ctx, sql)
	if err != nil {
		return Unprintable(ctx, err)
	}
	if sqltree.Matches(raw, sqltree.Document(want)) {
		return nil
	}
	root, err := sqltree.Decode(raw, 1<<20, true)
	if err != nil || root.Flag("error") || len(root.List("statements")) != 1 {
		return refusal.New(refusal.CodePrinter, "", "the statement cannot be passed on unchanged")
	}
	if !sqltree.Equal(canonical(want), canonical(sqltree.StatementOf(root))) {
		return refusal.New(refusal.CodePrinter, "", "the statement cannot be passed on unchanged; write it in a simpler form")
	}
	return nil
}

// canonical replaces forms that the printer writes in another way with the same meaning. It
// changes its argument.
func canonical(v *sqltree.Node) *sqltree.Node {
	var all []*sqltree.Node
	sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		all = append(all, n)
		return sqltree.Into
	})
	for _, n := range slices.Backward(all) { // what is below a node first
		collapseValues(n)
		booleanConstant(n)
		groupOrder(n)
	}
	return v
}

// collapseValues removes a SELECT around VALUES: VALUES prints as (SELECT * FROM (VALUES
// …)).
func collapseValues(n *sqltree.Node) {
	if !n.Is("type", "SUBQUERY") || n.Get("class") != nil || len(n.List("column_name_alias")) > 0 || n.Child("sample") != nil {
		return
	}
	sel := n.Child("subquery").Child("node")
	from := sel.Child("from_table")
	if !sel.Is("type", "SELECT_NODE") || !from.Is("type", "EXPRESSION_LIST") || from.Str("alias") != n.Str("alias") {
		return
	}
	list := sel.List("select_list")
	if len(list) != 1 || !sqltree.PlainStar(list[0].(*sqltree.Node)) || list[0].(*sqltree.Node).Str("alias") != "" {
		return
	}
	for _, f := range []string{"where_clause", "having", "sample", "qualify"} {
		if sel.Child(f) != nil {
			return
		}
	}
	if len(sel.List("modifiers")) > 0 || len(sel.List("group_sets")) > 0 || len(sel.Child("cte_map").List("map")) > 0 ||
		!sqltree.IsDefault(sel.Str("aggregate_handling")) {
		return
	}
	n.Become(from)
}

// booleanConstant replaces a BOOLEAN, which prints as true, by CAST('t' AS BOOLEAN), as
// which that parses.
func booleanConstant(n *sqltree.Node) {
	if !n.Is("class", "CONSTANT") || !n.Child("value").Child("type").Is("id", "BOOLEAN") || n.Child("value").Flag("is_null") {
		return
	}
	text := "f"
	if n.Child("value").Flag("value") {
		text = "t"
	}
	cast := sqltree.Cast(sqltree.Text(text), "BOOLEAN")
	cast.Set("alias", n.Str("alias"))
	n.Become(cast)
}

// groupOrder numbers the expressions of GROUP BY in the order in which the grouping sets
// use them, as the parser does.
func groupOrder(n *sqltree.Node) {
	sets, exprs := n.List("group_sets"), n.List("group_expressions")
	if !n.Is("type", "SELECT_NODE") || len(sets) == 0 {
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
			at := sqltree.IndexOf(i)
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
			renamed[j] = sqltree.NumberOf(i.(int))
		}
		sets[k] = renamed
	}
	n.Set("group_expressions", ordered)
}
