package sqltree

import "strconv"

// Equal reports whether two trees are equal. Positions are ignored, and an absent field
// equals its default.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case *Node:
		y, ok := b.(*Node)
		if x == nil || !ok || y == nil {
			return IsDefault(a) && IsDefault(b)
		}
		for i, k := range x.keys {
			other := y.Get(k)
			if other == nil && trueByDefault[k] {
				other = true
			}
			if k != "query_location" && !Equal(x.vals[i], other) {
				return false
			}
		}
		for i, k := range y.keys {
			if k == "query_location" || x.Get(k) != nil {
				continue
			}
			if trueByDefault[k] && y.vals[i] != true || !trueByDefault[k] && !IsDefault(y.vals[i]) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return IsDefault(a) && IsDefault(b)
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return a == b || IsDefault(a) && IsDefault(b)
}

// trueByDefault holds the flags that are true if absent.
var trueByDefault = Set("setop_all", "union_all")

// IsDefault reports whether v is the value of an absent field.
func IsDefault(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "STANDARD_HANDLING" || v == "CTE_MATERIALIZE_DEFAULT" || v == "NO_OTHER" || v == "WITHOUT_ORDINALITY"
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case *Node:
		return v == nil || isEmptyNode(v)
	}
	return false
}

// isEmptyNode reports whether n holds defaults only, as an empty WITH or an empty ORDER BY
// of an aggregate does.
func isEmptyNode(n *Node) bool {
	for i, k := range n.keys {
		if k == "type" && n.vals[i] == "ORDER_MODIFIER" {
			continue
		}
		if !IsDefault(n.vals[i]) {
			return false
		}
	}
	return true
}

// IndexOf returns v, a [Number], as an int, or -1 if it is not a small index.
func IndexOf(v any) int {
	num, _ := v.(Number)
	n := -1
	for i, c := range string(num) {
		if c < '0' || c > '9' || i > 6 {
			return -1
		}
		n = max(n, 0)*10 + int(c-'0')
	}
	return n
}

// NumberOf returns an integer as a [Number].
func NumberOf(i int) Number { return Number(strconv.Itoa(i)) }
