package arguments

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The bounds of arguments. The engine neither limits the memory of long texts nor
// interrupts quadratic functions, so every value of a vector of 2,048 rows must be small.
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

// Bounds bounds the arguments of the calls of one statement. Constants are checked
// at once; computed arguments are wrapped so that a value over the bound is an error
// while rows flow.
type Bounds struct {
	edits *sqltree.Edits
	// distances counts the calls of quadratic text functions.
	distances int
	// patterns and searches count the calls among which [share] divides the work.
	patterns, searches int64
	// reduces counts the calls of list_reduce.
	reduces int
	// lambdas is the number of lambdas around the current expression. nested reports
	// whether the lambda that was visited last contains another one.
	lambdas int
	nested  bool
	// Unnested is the argument of the unnest that was seen last.
	Unnested *sqltree.Node
	// columnNames holds the calls inside COLUMNS(…), whose arguments are names of columns.
	columnNames map[*sqltree.Node]bool
}

// New returns bounds that add their guards to edits.
func New(edits *sqltree.Edits) *Bounds {
	return &Bounds{edits: edits, columnNames: map[*sqltree.Node]bool{}}
}

// Call bounds the arguments of a call of f, a function of class Cap.
func (b *Bounds) Call(f functions.Function, n *sqltree.Node, namespace string) *refusal.Error {
	err := argumentRules[f.Rule](b, n, namespace)
	if err != nil {
		err.Name = f.Name
		return err.At(n)
	}
	return nil
}

// argumentRules maps the rules of functions of class Cap.
var argumentRules map[string]func(b *Bounds, n *sqltree.Node, namespace string) *refusal.Error

func init() {
	argumentRules = map[string]func(b *Bounds, n *sqltree.Node, namespace string) *refusal.Error{
		"length":      func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 1, "", maxPad) },
		"bar":         func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 3, "", maxWidth) },
		"reduce":      reduceRule,
		"replacement": replaceRule,
		"separator":   func(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error { return Separator(n, 1) },
		"resize":      func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 1, "", maxResize) },
		"bits":        func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 1, "", maxBits) },
		"bins":        func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 2, "", maxBins) },
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
		"matches":     func(b *Bounds, n *sqltree.Node, _ string) *refusal.Error { return b.Bound(n, 0, "strlen", maxMatched) },
	}
}

// distanceRule bounds the lengths of texts that are compared in quadratic time: an
// interrupt waits for the whole vector, and for all distances in one operator.
func distanceRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	b.distances++
	if b.distances > maxDistances {
		return refusal.New(refusal.CodeTooComplex, "", "more than %d text distances in one statement", maxDistances)
	}
	for i := range 2 {
		if err := b.boundLater(n, i, "strlen", maxDistance, func() int64 {
			if b.distances > 2 {
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
func reduceRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	b.reduces++
	if b.reduces > maxReduces {
		return refusal.New(refusal.CodeTooComplex, "", "more than %d calls of list_reduce in one statement", maxReduces)
	}
	if b.lambdas > 0 {
		return nil // bounded already
	}
	if lambda := n.Argument(1); limits.MakesLonger(lambda) {
		if !limits.GrowsByElements(lambda) {
			return refusal.New(refusal.CodeArgument, "",
				"a lambda that makes its first argument longer in every step may use its arguments and %d bytes of constants", limits.MaxGrownBy)
		}
		return b.Bound(n, 0, measureText, maxGrown)
	}
	return b.boundLater(n, 0, "len", maxReduce, func() int64 {
		if b.reduces > 2 {
			return manyReduced
		}
		return maxReduce
	})
}

// samplesRule bounds the sample of reservoir_quantile. The engine allocates it at once and
// fails fatally if it cannot.
func samplesRule(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	size := n.Argument(2)
	if size == nil {
		return nil
	}
	if v, ok := constantInt(size); !ok || v < 1 || v > maxSamples {
		return refusal.New(refusal.CodeArgument, "", "the size of the sample must be a number from 1 to %d", maxSamples)
	}
	return nil
}

// bitRangeRule bounds the bits that bitstring_agg allocates for every group. Without a
// range the engine uses its statistics of the column, which may come from hidden rows.
func bitRangeRule(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	low, okLow := constantInt(n.Argument(1))
	high, okHigh := constantInt(n.Argument(2))
	if !okLow || !okHigh || high-low >= maxBits || high < low {
		return refusal.New(refusal.CodeArgument, "", "the smallest and the largest value must be given as numbers less than %d apart", maxBits)
	}
	return nil
}

// constantInt returns a constant integer of less than 61 bits, so that the difference of
// two fits int64.
func constantInt(n *sqltree.Node) (int64, bool) {
	lit, ok := sqltree.LiteralOf(n)
	v, err := strconv.ParseInt(lit.Text, 10, 61)
	return v, ok && err == nil && lit.Family == sqltree.ExactNumber
}

// formatRule allows only constant formats with small widths.
func formatRule(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	lit, ok := sqltree.LiteralOf(n.Argument(0))
	if !ok || lit.Family != sqltree.TextLiteral {
		return refusal.New(refusal.CodeArgument, "", "the format must be a constant text")
	}
	open, end := "%", "diouxXeEfFgGaAcspt%"
	if n.Is("function_name", "format") {
		open, end = "{", "}{"
	}
	rest := lit.Text
	for {
		i := strings.Index(rest, open)
		if i < 0 {
			return nil
		}
		spec := rest[i+1:]
		j := strings.IndexAny(spec, end)
		if j < 0 {
			return refusal.New(refusal.CodeArgument, "", "the format ends inside a field")
		}
		if open == "{" && spec[j] == '{' && j > 0 || strings.Contains(spec[:j], "*") {
			return refusal.New(refusal.CodeArgument, "", "a width in the format must be a number")
		}
		for _, digits := range strings.FieldsFunc(spec[:j], func(r rune) bool { return r < '0' || r > '9' }) {
			if v, err := strconv.Atoi(digits); err != nil || v > maxWidth {
				return refusal.New(refusal.CodeArgument, "", "a width in the format exceeds %d", maxWidth)
			}
		}
		rest = spec[j+1:]
	}
}

// Separator allows only constant separators, as the engine does.
func Separator(n *sqltree.Node, i int) *refusal.Error {
	sep := n.Argument(i)
	if sep == nil {
		return nil
	}
	size, ok := constantSize(sep)
	switch {
	case !ok:
		return refusal.New(refusal.CodeArgument, "", "the separator must be a constant text")
	case size > maxSeparator:
		return refusal.New(refusal.CodeArgument, "", "the separator is longer than %d bytes", maxSeparator)
	}
	return nil
}

// constantSize returns the length of a constant text, of chr(…), or of a concatenation of
// these.
func constantSize(n *sqltree.Node) (int, bool) {
	if lit, ok := sqltree.LiteralOf(n); ok {
		return len(lit.Text), lit.Family == sqltree.TextLiteral
	}
	switch n.Str("function_name") {
	case "chr":
		_, ok := sqltree.LiteralOf(n.Argument(0))
		return 4, ok
	case "||", "concat":
		total := 0
		for i := range n.List("children") {
			size, ok := constantSize(n.Argument(i))
			if !ok {
				return 0, false
			}
			total += size
		}
		return total, true
	}
	return 0, false
}

// aggregateRule checks the aggregate that list_aggregate names like a call of it.
func aggregateRule(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	lit, ok := sqltree.LiteralOf(n.Argument(1))
	if !ok || lit.Family != sqltree.TextLiteral {
		return refusal.New(refusal.CodeArgument, "", "the aggregate must be named by a constant text")
	}
	f, ok := functions.Lookup("scalar", lit.Text)
	if !ok || f.Class != functions.Allow {
		if f.Rule != "separator" {
			return refusal.New(refusal.CodeFunction, lit.Text, "the aggregate %s is not allowed here", lit.Text)
		}
		return Separator(n, 2)
	}
	return nil
}

// nestingRule bounds JSON that the engine walks recursively: its stack overflows at some
// ten thousand levels, which ends the process.
func nestingRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	for i := range n.List("children") {
		if err := b.Bound(n, i, "strlen", maxNested); err != nil {
			return err
		}
	}
	return nil
}

// jsonTypeRule refuses type names in the structure of from_json that a cast may not use.
func jsonTypeRule(_ *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	lit, ok := sqltree.LiteralOf(n.Argument(1))
	if !ok || lit.Family != sqltree.TextLiteral {
		return refusal.New(refusal.CodeArgument, "", "the structure must be a constant text")
	}
	if len(lit.Text) > maxStructure {
		return refusal.New(refusal.CodeArgument, "", "the structure is longer than %d bytes", maxStructure)
	}
	words := strings.FieldsFunc(strings.ToUpper(lit.Text), func(r rune) bool { return !(r < 0x80 && sqltext.IsWord(byte(r))) })
	for _, w := range words {
		switch w {
		case "BIGNUM", "VARINT", "VARIANT", "GEOMETRY", "ENUM":
			return refusal.New(refusal.CodeType, w, "the type %s is not served", w)
		}
	}
	return nil
}
