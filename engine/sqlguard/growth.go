package sqlguard

import "strings"

// What a lambda builds lies outside the engine's memory limit. In list_reduce
// the result of one step is the argument of the next: a body that names it
// twice in a text doubles it with every element.

// maxJoinedUses is how often the lambda of list_transform may use its
// parameters in one text or list.
const maxJoinedUses = 3

// growing are the functions whose result can be longer than their arguments.
var growing = set("||", "concat", "concat_ws", "list_concat", "list_cat", "array_concat", "array_cat", "list_append",
	"array_append", "array_push_back", "list_prepend", "array_prepend", "array_push_front", "list_value", "list_pack",
	"array_value", "struct_pack", "row", "struct_insert", "struct_concat", "map", "map_concat", "map_from_entries",
	"list_zip", "array_zip", "list_resize", "array_resize", "json_array", "json_object", "json_merge_patch", "repeat",
	"format", "printf")

// joining are those whose result is one text as long as all arguments together.
// In list_transform the result of one element is not the argument of the next,
// so structs and lists of the parameters do not add up.
var joining = set("||", "concat", "concat_ws")

// multiplying are those that make a long text out of one argument, so that one
// use of it is enough.
var multiplying = set("hex", "to_hex", "bin", "to_binary", "base64", "to_base64", "url_encode", "regexp_escape", "to_json",
	"array_to_json", "row_to_json", "json_quote", "json_object", "json_array", "list_resize", "array_resize", "repeat",
	"format", "printf", "replace", "regexp_replace", "translate", "json_group_array")

// checkGrowth refuses lambdas whose body builds values that grow too fast.
func checkGrowth(call, lambda *node) *Error {
	name := lower(call.str("function_name"))
	fold := strings.HasSuffix(name, "reduce")
	if !fold && strings.HasSuffix(name, "filter") {
		return nil
	}
	params := map[string]int{}
	for _, p := range lambdaParams(lambda) {
		params[p] = 0
	}
	if fold && countUses(lambda.child("expr"), params, multiplying, false, true) > 0 {
		return refuse(CodeArgument, name, "the lambda of %s makes its argument longer in every step", name)
	}
	counted := joining
	if fold {
		counted = growing
	}
	for p := range params {
		uses := map[string]int{p: 0}
		countUses(lambda.child("expr"), uses, counted, false, fold)
		if fold && uses[p] > 1 || uses[p] > maxJoinedUses {
			return refuse(CodeArgument, name, "the lambda of %s uses %s too often in one text or list", name, p)
		}
	}
	return nil
}

// lambdaParams are the names of a lambda's parameters, in order.
func lambdaParams(lambda *node) []string {
	lhs := lambda.child("lhs")
	list := []any{lhs}
	if lhs.is("class", "FUNCTION") {
		list = lhs.list("children")
	}
	var out []string
	for _, p := range list {
		if parts := p.(*node).strings("column_names"); len(parts) == 1 {
			out = append(out, lower(parts[0]))
		}
	}
	return out
}

// makesLonger reports whether the lambda of a fold puts its result so far into a
// longer one. Each step then copies all that came before, and a vector of such
// results lies outside the memory limit.
func makesLonger(lambda *node) bool {
	params := lambdaParams(lambda)
	return len(params) > 0 && countUses(lambda.child("expr"), map[string]int{params[0]: 0}, growing, false, true) > 0
}

// growsByElements reports whether what a step adds is as long as an element of
// the list and a few constants: then the list says how long the result becomes.
func growsByElements(lambda *node) bool {
	params := set(lambdaParams(lambda)...)
	constants := 0
	return onlyUses(lambda.child("expr"), params, &constants) && constants <= maxGrownBy
}

func onlyUses(v any, params map[string]bool, constants *int) bool {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if !onlyUses(x, params, constants) {
				return false
			}
		}
	case *node:
		switch {
		case v == nil:
			return true
		case v.is("class", "COLUMN_REF"):
			parts := v.strings("column_names")
			return len(parts) > 0 && params[lower(parts[0])]
		case v.is("class", "PARAMETER"), v.is("class", "SUBQUERY"), v.is("class", "FUNCTION") && lengthening[lower(v.str("function_name"))]:
			return false
		case v.is("class", "CONSTANT"):
			s, _ := v.child("value").get("value").(string)
			*constants += len(s)
		}
		for _, x := range v.vals {
			if !onlyUses(x, params, constants) {
				return false
			}
		}
	}
	return true
}

// lengthening are those that make a long value out of short constants.
var lengthening = set("repeat", "lpad", "rpad", "format", "printf", "bar", "range", "generate_series", "list_resize", "array_resize",
	"bitstring", "equi_width_bins")

// countUses counts the parameters that stand inside a call of one of the
// functions, and returns their number. With nested, an array and an inner lambda
// count like one.
func countUses(v any, params map[string]int, functions map[string]bool, inside, nested bool) int {
	total := 0
	switch v := v.(type) {
	case *node:
		if v == nil {
			return 0
		}
		if v.is("class", "COLUMN_REF") {
			if parts := v.strings("column_names"); inside && len(parts) > 0 {
				if _, ok := params[lower(parts[0])]; ok {
					params[lower(parts[0])]++
					return 1
				}
			}
			return 0
		}
		inside = inside || v.is("class", "FUNCTION") && functions[lower(v.str("function_name"))] ||
			nested && (v.is("type", "ARRAY_CONSTRUCTOR") || v.is("class", "LAMBDA"))
		for _, x := range v.vals {
			total += countUses(x, params, functions, inside, nested)
		}
	case []any:
		for _, x := range v {
			total += countUses(x, params, functions, inside, nested)
		}
	}
	return total
}
