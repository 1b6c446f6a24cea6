package sqlguard

import (
	"math/big"
	"strconv"
	"strings"
)

// The bounds of arguments. The engine neither limits the memory of long texts
// nor interrupts the quadratic functions, so a value of a vector of 2,048 rows
// must stay small.
const (
	maxPad        = 10_000    // result of lpad and rpad, characters
	maxRepeat     = 10_000    // result of repeat over computed arguments, bytes
	maxRepeatText = 100_000   // result of repeat over constants, bytes
	maxWidth      = 1_000     // field widths of format, printf and bar
	maxDistance   = 1_000     // length of texts whose distance is computed, bytes
	maxReduce     = 10_000    // elements folded by list_reduce
	maxReplace    = 1_000     // replacement of replace, bytes
	maxSeparator  = 100       // separator of array_to_string, bytes
	maxSeries     = 1_000_000 // elements of a constant list
	maxSeriesRows = 1_000_000_000
	maxBits       = 10_000
	maxBins       = 10_000
)

// argumentRules bound the arguments of functions of class Cap. Constants are
// checked here; computed arguments are wrapped so that a value over the bound
// is an error while rows flow.
var argumentRules map[string]func(a *analysis, n *node, namespace string) *Error

func init() {
	argumentRules = map[string]func(a *analysis, n *node, namespace string) *Error{
		"length":      func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxPad) },
		"bar":         func(a *analysis, n *node, _ string) *Error { return a.bound(n, 3, "", maxWidth) },
		"reduce":      func(a *analysis, n *node, _ string) *Error { return a.bound(n, 0, "len", maxReduce) },
		"replacement": func(a *analysis, n *node, _ string) *Error { return a.bound(n, 2, "strlen", maxReplace) },
		"separator":   func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "strlen", maxSeparator) },
		"resize":      func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxSeries) },
		"bits":        func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxBits) },
		"bins":        func(a *analysis, n *node, _ string) *Error { return a.bound(n, 2, "", maxBins) },
		"distance": func(a *analysis, n *node, _ string) *Error {
			if err := a.bound(n, 0, "strlen", maxDistance); err != nil {
				return err
			}
			return a.bound(n, 1, "strlen", maxDistance)
		},
		"repeat":    repeatRule,
		"format":    formatRule,
		"series":    seriesRule,
		"aggregate": aggregateRule,
		"jsontype":  jsonTypeRule,
	}
}

// argument returns the i-th argument of a call, or nil.
func argument(n *node, i int) *node {
	if args := n.list("children"); i < len(args) {
		return args[i].(*node)
	}
	return nil
}

// bound limits an argument: its value when measure is empty, else what the
// function of that name says about it.
func (a *analysis) bound(n *node, i int, measure string, limit int64) *Error {
	arg := argument(n, i)
	if arg == nil {
		return nil
	}
	if lit, ok := constantOf(arg); ok {
		over := lit.family == litText && int64(len(lit.text)) > limit
		if measure == "" {
			v, isNum := new(big.Float).SetString(lit.text)
			over = isNum && v.Cmp(new(big.Float).SetInt64(limit)) > 0
		}
		if over {
			return refuse(CodeArgument, "", "argument %d exceeds the limit of %d", i+1, limit)
		}
		if measure == "" && lit.family != litText || measure != "" && lit.family == litText {
			return nil
		}
	}
	a.edit(func() {
		inner := &node{keys: arg.keys, vals: arg.vals}
		subject := inner.clone()
		subject.set("alias", "")
		measured := columnNode(guardArg)
		if measure != "" {
			measured = callNode(measure, false, measured)
		}
		guarded := caseNode(greaterNode(measured, intNode(limit)), guardError(), columnNode(guardArg))
		wrapped := guard(subject, guarded)
		wrapped.set("alias", arg.str("alias"))
		arg.become(wrapped)
	})
	return nil
}

// guardArg is the lambda's parameter in our guards.
const guardArg = "lw_arg"

// guard evaluates subject once and yields body over it. A lambda is the one
// expression of SQL that can name a value.
func guard(subject, body *node) *node {
	lambda := expression("LAMBDA", "LAMBDA", "lhs", columnNode(guardArg), "expr", body)
	list := callNode("list_transform", false, callNode("list_value", false, subject), lambda)
	return callNode("list_extract", false, list, intNode(1))
}

func guardError() *node { return callNode("error", false, textNode("argument exceeds the limit")) }

// repeatRule bounds the product of length and count.
func repeatRule(a *analysis, n *node, _ string) *Error {
	text, count := argument(n, 0), argument(n, 1)
	if text == nil || count == nil || argument(n, 2) != nil {
		return nil // not a call that exists
	}
	t, okText := constantOf(text)
	c, okCount := constantOf(count)
	if okText && okCount && t.family == litText && c.family == litNumber {
		v, err := strconv.ParseInt(c.text, 10, 64)
		if err != nil || v > 0 && int64(len(t.text)) > maxRepeatText/v {
			return refuse(CodeArgument, "", "the result exceeds the limit of %d bytes", maxRepeatText)
		}
		return nil
	}
	a.edit(func() {
		t, c := text.clone(), count.clone()
		t.set("alias", "t")
		c.set("alias", "n")
		size := callNode("*", true, callNode("strlen", false, columnNode(guardArg, "t")), columnNode(guardArg, "n"))
		body := caseNode(greaterNode(size, intNode(maxRepeat)), guardError(),
			callNode("repeat", false, columnNode(guardArg, "t"), columnNode(guardArg, "n")))
		wrapped := guard(callNode("struct_pack", false, t, c), body)
		wrapped.set("alias", n.str("alias"))
		n.become(wrapped)
	})
	return nil
}

// formatRule takes constant formats with small widths only.
func formatRule(_ *analysis, n *node, _ string) *Error {
	lit, ok := constantOf(argument(n, 0))
	if !ok || lit.family != litText {
		return refuse(CodeArgument, "", "the format must be a constant text")
	}
	open, end := "%", "diouxXeEfFgGaAcspt%"
	if n.is("function_name", "format") {
		open, end = "{", "}{"
	}
	rest := lit.text
	for {
		i := strings.Index(rest, open)
		if i < 0 {
			return nil
		}
		spec := rest[i+1:]
		j := strings.IndexAny(spec, end)
		if j < 0 {
			return refuse(CodeArgument, "", "the format ends inside a field")
		}
		if open == "{" && spec[j] == '{' && j > 0 || strings.Contains(spec[:j], "*") {
			return refuse(CodeArgument, "", "a width in the format must be a number")
		}
		for _, digits := range strings.FieldsFunc(spec[:j], func(r rune) bool { return r < '0' || r > '9' }) {
			if v, err := strconv.Atoi(digits); err != nil || v > maxWidth {
				return refuse(CodeArgument, "", "a width in the format exceeds %d", maxWidth)
			}
		}
		rest = spec[j+1:]
	}
}

// seriesRule bounds constant ranges. Computed ones are left to the engine: as a
// list they stay within its memory limit, as rows they are a stream that can be
// interrupted (both measured).
func seriesRule(_ *analysis, n *node, namespace string) *Error {
	limit := int64(maxSeries)
	if namespace == "table" {
		limit = maxSeriesRows
	}
	var v [3]*big.Int
	args := n.list("children")
	if len(args) == 0 || len(args) > 3 {
		return nil
	}
	for i := range args {
		lit, ok := constantOf(argument(n, i))
		if !ok || lit.family != litNumber {
			return nil
		}
		x, ok := new(big.Int).SetString(lit.text, 10)
		if !ok {
			return nil
		}
		v[i] = x
	}
	from, to, step := new(big.Int), v[0], big.NewInt(1)
	if len(args) > 1 {
		from, to = v[0], v[1]
	}
	if len(args) == 3 {
		step = v[2]
	}
	if step.Sign() == 0 {
		return nil // the engine's own error
	}
	count := new(big.Int).Sub(to, from)
	count.Div(count, step)
	if count.Cmp(big.NewInt(limit)) > 0 {
		return refuse(CodeArgument, "", "the series has more than %d elements", limit)
	}
	return nil
}

// aggregateRule holds the aggregate that list_aggregate names against the list
// of functions.
func aggregateRule(_ *analysis, n *node, _ string) *Error {
	lit, ok := constantOf(argument(n, 1))
	if !ok || lit.family != litText {
		return refuse(CodeArgument, "", "the aggregate must be named by a constant text")
	}
	f, ok := LookupFunction("scalar", lit.text)
	if !ok || f.Class != Allow {
		return refuse(CodeFunction, lit.text, "the aggregate %s is not allowed here", lit.text)
	}
	return nil
}

// jsonTypeRule keeps type names that a cast may not use out of the structure
// that from_json takes.
func jsonTypeRule(_ *analysis, n *node, _ string) *Error {
	lit, ok := constantOf(argument(n, 1))
	if !ok || lit.family != litText {
		return refuse(CodeArgument, "", "the structure must be a constant text")
	}
	words := strings.FieldsFunc(strings.ToUpper(lit.text), func(r rune) bool { return !(r < 0x80 && isWord(byte(r))) })
	for _, w := range words {
		switch w {
		case "BIGNUM", "VARINT", "VARIANT", "GEOMETRY", "ENUM":
			return refuse(CodeType, w, "the type %s is not served", w)
		}
	}
	return nil
}
