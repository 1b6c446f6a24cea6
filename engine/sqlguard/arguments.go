package sqlguard

import (
	"strconv"
	"strings"
)

// The bounds of arguments. The engine neither limits the memory of long texts
// nor interrupts the quadratic functions, so a value of a vector of 2,048 rows
// must stay small.
const (
	maxPad        = 10_000    // result of lpad and rpad, characters
	maxRepeat     = 10_000    // result of repeat over computed arguments, bytes
	maxRepeatText = 10_000    // result of repeat over constants, bytes
	maxWidth      = 1_000     // field widths of format, printf and bar
	maxDistance   = 250       // length of texts whose distance is computed, bytes
	manyDistances = 100       // the same in a statement with more than two distances
	maxDistances  = 16        // distances in one statement
	maxReduce     = 5_000     // elements folded by list_reduce
	manyReduced   = 1_000     // the same in a statement with more than two of them
	maxReduces    = 16        // calls of list_reduce in one statement
	maxGrown      = 1_000     // list_reduce that makes its result longer in every step: its list as text, bytes
	maxGrownBy    = 8         // the constants that every step adds, bytes
	maxReplace    = 200_000   // length of a text times that of its replacement, bytes
	maxSeparator  = 100       // separator of array_to_string, bytes
	maxSeries     = 10_000    // elements of a list that range makes
	maxUnnested   = 1_000_000 // the same, directly below unnest and without columns
	maxSeriesRows = 1_000_000_000
	maxResize     = 10_000
	maxBits       = 10_000
	maxBins       = 10_000
	maxSamples    = 8_192  // values that an approximate quantile keeps, in every group
	maxNested     = 16_000 // text of JSON that the engine walks by recursion, bytes
	maxStructure  = 4_096  // structure that from_json takes, bytes
)

// argumentRules bound the arguments of functions of class Cap. Constants are
// checked here; computed arguments are wrapped so that a value over the bound
// is an error while rows flow.
var argumentRules map[string]func(a *analysis, n *node, namespace string) *Error

func init() {
	argumentRules = map[string]func(a *analysis, n *node, namespace string) *Error{
		"length":      func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxPad) },
		"bar":         func(a *analysis, n *node, _ string) *Error { return a.bound(n, 3, "", maxWidth) },
		"reduce":      reduceRule,
		"replacement": replaceRule,
		"separator":   func(_ *analysis, n *node, _ string) *Error { return separatorRule(n, 1) },
		"resize":      func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxResize) },
		"bits":        func(a *analysis, n *node, _ string) *Error { return a.bound(n, 1, "", maxBits) },
		"bins":        func(a *analysis, n *node, _ string) *Error { return a.bound(n, 2, "", maxBins) },
		"distance":    distanceRule,
		"repeat":      repeatRule,
		"format":      formatRule,
		"series":      seriesRule,
		"aggregate":   aggregateRule,
		"jsontype":    jsonTypeRule,
		"nesting":     nestingRule,
		"path":        pathsRule,
		"samples":     samplesRule,
		"bitrange":    bitRangeRule,
		"pattern":     patternRule,
		"needle":      needleRule,
		"matches":     func(a *analysis, n *node, _ string) *Error { return a.bound(n, 0, "strlen", maxMatched) },
	}
}

// argument returns the i-th argument of a call, or nil.
func argument(n *node, i int) *node {
	if args := n.list("children"); i < len(args) {
		return args[i].(*node)
	}
	return nil
}

// distanceRule bounds the lengths of texts that are compared in time quadratic
// in them: an interrupt waits for the whole vector, and for all distances that
// stand in one operator.
func distanceRule(a *analysis, n *node, _ string) *Error {
	a.distances++
	if a.distances > maxDistances {
		return refuse(CodeTooComplex, "", "more than %d text distances in one statement", maxDistances)
	}
	for i := range 2 {
		if err := a.boundLater(n, i, "strlen", maxDistance, func() int64 {
			if a.distances > 2 {
				return manyDistances
			}
			return maxDistance
		}); err != nil {
			return err
		}
	}
	return nil
}

// reduceRule bounds the lists that list_reduce folds.
func reduceRule(a *analysis, n *node, _ string) *Error {
	a.reduces++
	if a.reduces > maxReduces {
		return refuse(CodeTooComplex, "", "more than %d calls of list_reduce in one statement", maxReduces)
	}
	if a.lambdas > 0 {
		return nil // bounded already
	}
	if lambda := argument(n, 1); makesLonger(lambda) {
		if !growsByElements(lambda) {
			return refuse(CodeArgument, "", "a lambda that makes its first argument longer in every step may use its arguments and %d bytes of constants", maxGrownBy)
		}
		return a.bound(n, 0, measureText, maxGrown)
	}
	return a.boundLater(n, 0, "len", maxReduce, func() int64 {
		if a.reduces > 2 {
			return manyReduced
		}
		return maxReduce
	})
}

// samplesRule bounds what reservoir_quantile keeps: it is allocated at once, and
// where it cannot be the engine breaks.
func samplesRule(_ *analysis, n *node, _ string) *Error {
	size := argument(n, 2)
	if size == nil {
		return nil
	}
	if v, ok := constantInt(size); !ok || v < 1 || v > maxSamples {
		return refuse(CodeArgument, "", "the size of the sample must be a number from 1 to %d", maxSamples)
	}
	return nil
}

// bitRangeRule bounds the bits that bitstring_agg sets up for every group. Without
// a range it takes the engine's statistics of the column, which may be those of
// hidden rows.
func bitRangeRule(_ *analysis, n *node, _ string) *Error {
	low, okLow := constantInt(argument(n, 1))
	high, okHigh := constantInt(argument(n, 2))
	if !okLow || !okHigh || high-low >= maxBits || high < low {
		return refuse(CodeArgument, "", "the smallest and the largest value must be given as numbers less than %d apart", maxBits)
	}
	return nil
}

// constantInt reads a constant integer of less than 61 bits, so that two may be
// subtracted.
func constantInt(n *node) (int64, bool) {
	lit, ok := constantOf(n)
	v, err := strconv.ParseInt(lit.text, 10, 61)
	return v, ok && err == nil && lit.family == litNumber
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

// separatorRule takes constant separators only, which is what the engine does
// too.
func separatorRule(n *node, i int) *Error {
	sep := argument(n, i)
	if sep == nil {
		return nil
	}
	size, ok := constantSize(sep)
	switch {
	case !ok:
		return refuse(CodeArgument, "", "the separator must be a constant text")
	case size > maxSeparator:
		return refuse(CodeArgument, "", "the separator is longer than %d bytes", maxSeparator)
	}
	return nil
}

// constantSize is the length of a constant text, of chr(…), or of several of
// these joined.
func constantSize(n *node) (int, bool) {
	if lit, ok := constantOf(n); ok {
		return len(lit.text), lit.family == litText
	}
	switch n.str("function_name") {
	case "chr":
		_, ok := constantOf(argument(n, 0))
		return 4, ok
	case "||", "concat":
		total := 0
		for i := range n.list("children") {
			size, ok := constantSize(argument(n, i))
			if !ok {
				return 0, false
			}
			total += size
		}
		return total, true
	}
	return 0, false
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
		if f.Rule != "separator" {
			return refuse(CodeFunction, lit.text, "the aggregate %s is not allowed here", lit.text)
		}
		return separatorRule(n, 2)
	}
	return nil
}

// nestingRule bounds JSON that the engine walks by recursion: its stack ends,
// and with it the process, at some ten thousand levels.
func nestingRule(a *analysis, n *node, _ string) *Error {
	for i := range n.list("children") {
		if err := a.bound(n, i, "strlen", maxNested); err != nil {
			return err
		}
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
	if len(lit.text) > maxStructure {
		return refuse(CodeArgument, "", "the structure is longer than %d bytes", maxStructure)
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
