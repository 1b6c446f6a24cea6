package limits

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Values that a lambda builds are not covered by the engine's memory limit. In list_reduce
// the result of one step is the argument of the next: a body that uses it twice in a text
// doubles it with every element.

// maxJoinedUses is how often the lambda of list_transform may use its
// parameters in one text or list.
const maxJoinedUses = 3

// growing holds the functions whose result can be longer than their arguments.
var growing = sqltree.Set("||", "concat", "concat_ws", "list_concat", "list_cat", "array_concat", "array_cat", "list_append",
	"array_append", "array_push_back", "list_prepend", "array_prepend", "array_push_front", "list_value", "list_pack",
	"array_value", "struct_pack", "row", "struct_insert", "struct_concat", "map", "map_concat", "map_from_entries",
	"list_zip", "array_zip", "list_resize", "array_resize", "json_array", "json_object", "json_merge_patch", "repeat",
	"format", "printf")

// joining holds the functions whose result is one text as long as all arguments together.
// In list_transform the result of one element is not the argument of the next, so structs
// and lists of the parameters do not add up.
var joining = sqltree.Set("||", "concat", "concat_ws")

// multiplying holds the functions that make a long text of one argument, so that even one
// use of it is refused.
var multiplying = sqltree.Set("hex", "to_hex", "bin", "to_binary", "base64", "to_base64", "url_encode", "regexp_escape", "to_json",
	"array_to_json", "row_to_json", "json_quote", "json_object", "json_array", "list_resize", "array_resize", "repeat",
	"format", "printf", "replace", "regexp_replace", "translate", "json_group_array")

// MaxGrownBy caps the bytes of constants that a step of list_reduce may add.
const MaxGrownBy = 8

// CheckLambda refuses lambdas whose body builds values that grow too fast.
func CheckLambda(call, lambda *sqltree.Node) *refusal.Error {
	name := call.Function()
	fold := strings.HasSuffix(name, "reduce")
	if !fold && strings.HasSuffix(name, "filter") {
		return nil
	}
	params := map[string]int{}
	for _, p := range sqltree.LambdaParameters(lambda) {
		params[p] = 0
	}
	if fold && countUses(lambda.Child("expr"), params, multiplying, false, true) > 0 {
		return refusal.New(refusal.CodeArgument, name, "the lambda of %s makes its argument longer in every step", name)
	}
	counted := joining
	if fold {
		counted = growing
	}
	for p := range params {
		uses := map[string]int{p: 0}
		countUses(lambda.Child("expr"), uses, counted, false, fold)
		if fold && uses[p] > 1 || uses[p] > maxJoinedUses {
			return refusal.New(refusal.CodeArgument, name, "the lambda of %s uses %s too often in one text or list", name, p)
		}
	}
	return nil
}

// MakesLonger reports whether the lambda of a fold uses its result so far in a longer
// value. Each step then copies all that came before, and the memory limit does not cover a
// vector of such results.
func MakesLonger(lambda *sqltree.Node) bool {
	params := sqltree.LambdaParameters(lambda)
	return len(params) > 0 && countUses(lambda.Child("expr"), map[string]int{params[0]: 0}, growing, false, true) > 0
}

// GrowsByElements reports whether every step adds at most an element of the list and a few
// constants, so that the list bounds the length of the result.
func GrowsByElements(lambda *sqltree.Node) bool {
	params := sqltree.Set(sqltree.LambdaParameters(lambda)...)
	constants := 0
	return onlyUses(lambda.Child("expr"), params, &constants) && constants <= MaxGrownBy
}

func onlyUses(body *sqltree.Node, params map[string]bool, constants *int) bool {
	other := sqltree.Walk(body, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "COLUMN_REF"):
			if parts := n.Strings("column_names"); len(parts) == 0 || !params[strings.ToLower(parts[0])] {
				return sqltree.Stop
			}
			return sqltree.Over
		case n.Is("class", "PARAMETER"), n.Is("class", "SUBQUERY"), n.Is("class", "FUNCTION") && lengthening[n.Function()]:
			return sqltree.Stop
		case n.Is("class", "CONSTANT"):
			s, _ := n.Child("value").Get("value").(string)
			*constants += len(s)
		}
		return sqltree.Into
	})
	return !other
}

// lengthening holds the functions that make a long value of short constants.
var lengthening = sqltree.Set("repeat", "lpad", "rpad", "format", "printf", "bar", "range", "generate_series", "list_resize",
	"array_resize", "bitstring", "equi_width_bins")

// countUses counts the uses of each parameter inside a call of one of the functions, and
// returns their sum. With nested, an array and an inner lambda count as such calls.
func countUses(v any, params map[string]int, functions map[string]bool, inside, nested bool) int {
	total := 0
	sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		parts := n.Strings("column_names")
		switch {
		case n.Is("class", "COLUMN_REF"):
			if inside && len(parts) > 0 {
				if _, ok := params[strings.ToLower(parts[0])]; ok {
					params[strings.ToLower(parts[0])]++
					total++
				}
			}
			return sqltree.Over
		case inside:
		case n.Is("class", "FUNCTION") && functions[n.Function()],
			nested && (n.Is("type", "ARRAY_CONSTRUCTOR") || n.Is("class", "LAMBDA")):
			for _, x := range n.Fields() {
				total += countUses(x, params, functions, true, nested)
			}
			return sqltree.Over
		}
		return sqltree.Into
	})
	return total
}
