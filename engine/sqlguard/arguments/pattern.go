package arguments

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The engine matches LIKE and GLOB by backtracking at every wildcard, and finds a text in a
// text by trying every position. Neither checks for an interrupt, so the work of one row
// must be small.
const (
	maxMatched   = 20_000     // text that regular expressions are counted in, bytes
	maxNeedle    = 1_000      // constant text to be found in any other, bytes
	maxSearch    = 50_000_000 // length of a text times that of the one to be found
	maxPattern   = 100        // computed pattern, bytes
	maxWildcards = 6          // in a constant pattern
	maxComputed  = 3          // in a computed pattern
	maxWild      = 1_000      // text matched with a computed or long pattern, bytes
	maxWilder    = 100        // the same, with two wildcards in a computed pattern
	maxWildest   = 40         // the same, with three
	maxSteps     = 200_000    // comparisons of one row with several wildcards
	fullCalls    = 4          // bounded calls of a statement that may each do the most work
)

// share returns the factor by which the work of each of the given number of bounded calls
// is reduced, because an interrupt waits for all calls of an operator.
func share(calls int64) int64 { return (calls + fullCalls - 1) / fullCalls }

// patternRule bounds (NOT) LIKE, ILIKE, GLOB and the forms with ESCAPE.
func patternRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	text, pattern := n.Argument(0), n.Argument(1)
	if text == nil || pattern == nil {
		return nil // not a call that exists
	}
	name := n.Function()
	if b.columnNames[n] || text.Is("class", "STAR") && !text.Flag("columns") { // * LIKE chooses columns
		return columnPattern(pattern)
	}
	wild := "%"
	if name == "~~~" {
		wild = "*"
	}
	lit, ok := sqltree.LiteralOf(pattern)
	if !ok || lit.Family != sqltree.TextLiteral {
		b.computedPattern(n, name, wild)
		return nil
	}
	if (name == "~~" || name == "!~~") && !strings.Contains(lit.Text, "_") {
		if len(lit.Text) > maxNeedle {
			b.searched(n, name)
		}
		return nil // the engine matches it in one pass
	}
	if (name == "~~*" || name == "!~~*") && !strings.Contains(lit.Text, "_") && len(lit.Text) <= maxNeedle {
		// What the engine does, but in one pass.
		b.edits.Replace(n, func() *sqltree.Node {
			return sqltree.Call(strings.TrimSuffix(name, "*"), true, sqltree.Call("lower", false, text), sqltree.Call("lower", false, pattern))
		})
		return nil
	}
	if len(lit.Text) > maxNeedle {
		return refusal.New(refusal.CodeArgument, "", "the pattern is longer than %d bytes", maxNeedle)
	}
	runs := wildcardRuns(lit.Text, wild[0])
	switch {
	case runs > maxWildcards:
		return refusal.New(refusal.CodeArgument, "", "the pattern has more than %d wildcards", maxWildcards)
	case runs <= 1 && len(lit.Text) <= maxPattern:
		return nil
	}
	b.patterns++
	b.edits.Replace(n, func() *sqltree.Node {
		limit := maxWild / share(b.patterns)
		if runs > 1 {
			limit = longestText(runs, len(lit.Text), maxSteps/share(b.patterns))
		}
		return guard(operandsOf(n, 2), func(use func(string) *sqltree.Node) *sqltree.Node {
			return sqltree.Case(sqltree.Greater(sizeOf(use("a")), sqltree.Integer(limit)), guardError(), rebuilt(n, name, use))
		})
	})
	return nil
}

// columnPattern checks a pattern of COLUMNS(…). It is matched with names, which are short,
// and cannot be guarded.
func columnPattern(pattern *sqltree.Node) *refusal.Error {
	lit, ok := sqltree.LiteralOf(pattern)
	if !ok || lit.Family != sqltree.TextLiteral {
		return refusal.New(refusal.CodeArgument, "", "the pattern must be a constant text")
	}
	if strings.Count(lit.Text, "%")+strings.Count(lit.Text, "*") > maxComputed {
		return refusal.New(refusal.CodeArgument, "", "the pattern has more than %d wildcards", maxComputed)
	}
	return nil
}

// ColumnNames records the calls below v, the expression of COLUMNS(…).
func (b *Bounds) ColumnNames(v any) {
	sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		if n.Is("class", "FUNCTION") {
			b.columnNames[n] = true
		}
		return sqltree.Into
	})
}

// wildcardRuns counts the wildcards at which matching backtracks: consecutive ones count
// once, and one at the end does not count.
func wildcardRuns(pattern string, wild byte) int {
	runs := 0
	for i := range len(pattern) {
		if pattern[i] == wild && i+1 < len(pattern) && pattern[i+1] != wild {
			runs++
		}
	}
	return runs
}

// longestText returns the length up to which a text is matched in so many steps: one for
// each way to place the runs in the text, times the signs between two of them.
func longestText(runs, pattern int, steps int64) int64 {
	for n := maxWild; n > runs; n-- {
		if stepsOf(runs, pattern, int64(n)) <= steps {
			return int64(n)
		}
	}
	return int64(runs)
}

// stepsOf returns the maximum number of steps for matching a text of the given length.
func stepsOf(runs, pattern int, text int64) int64 {
	steps := int64(pattern/runs + 1)
	for i := range int64(runs) {
		steps = min(steps*(text-i)/(i+1), 1<<40)
	}
	return steps
}

// root returns the smallest integer whose power with the exponent is at least n.
func root(n int64, exponent int) int64 {
	for r := int64(1); ; r++ {
		power := int64(1)
		for range exponent {
			power *= r
		}
		if power >= n {
			return r
		}
	}
}

// computedPattern bounds a pattern that is known only while rows flow.
func (b *Bounds) computedPattern(n *sqltree.Node, name, wild string) {
	b.patterns++
	b.edits.Replace(n, func() *sqltree.Node {
		return guard(operandsOf(n, 2), func(use func(string) *sqltree.Node) *sqltree.Node {
			// Behind the wildcards at the end there is nothing to try.
			pattern := func() *sqltree.Node {
				return sqltree.Call("rtrim", false, sqltree.Cast(use("b"), "VARCHAR"), sqltree.Text(wild))
			}
			count := func() *sqltree.Node {
				rest := sqltree.Call("replace", false, pattern(), sqltree.Text(wild), sqltree.Text(""))
				return sqltree.Call("-", true, sizeOf(pattern()), sqltree.Call("strlen", false, rest))
			}
			size := func() *sqltree.Node { return sizeOf(use("a")) }
			work := sqltree.Call("*", true, sqltree.Cast(size(), "BIGINT"), sizeOf(use("b")))
			over := sqltree.Expression("CONJUNCTION", "CONJUNCTION_OR", "children", []any{
				sqltree.Greater(size(), sqltree.Integer(maxWild)),
				sqltree.Greater(sizeOf(use("b")), sqltree.Integer(maxPattern)),
				sqltree.Greater(count(), sqltree.Integer(maxComputed)),
				sqltree.Greater(work, sqltree.Integer(fullCalls*maxSteps/b.patterns)),
				allOf(sqltree.Greater(count(), sqltree.Integer(1)), sqltree.Greater(size(), sqltree.Integer(maxWilder/root(share(b.patterns), 2)))),
				allOf(sqltree.Greater(count(), sqltree.Integer(2)), sqltree.Greater(size(), sqltree.Integer(maxWildest/root(share(b.patterns), 3)))),
			})
			return sqltree.Case(over, guardError(), rebuilt(n, name, use))
		})
	})
}

// needleRule bounds the functions that search for a text in a text.
func needleRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	if n.Argument(1) == nil {
		return nil // not a call that exists
	}
	if lit, ok := sqltree.LiteralOf(n.Argument(1)); ok && (lit.Family != sqltree.TextLiteral || len(lit.Text) <= maxNeedle) {
		return nil
	}
	b.searched(n, n.Function())
	return nil
}

// searched bounds the product of the lengths of a call's first two arguments.
func (b *Bounds) searched(n *sqltree.Node, name string) {
	b.searches++
	b.edits.Replace(n, func() *sqltree.Node {
		return guard(operandsOf(n, 2), func(use func(string) *sqltree.Node) *sqltree.Node {
			work := sqltree.Call("*", true, sqltree.Cast(sizeOf(use("a")), "BIGINT"), sizeOf(use("b")))
			return sqltree.Case(sqltree.Greater(work, sqltree.Integer(maxSearch/share(b.searches))), guardError(), rebuilt(n, name, use))
		})
	})
}

// operandsOf returns the first arguments of a call, named a, b and so on.
func operandsOf(n *sqltree.Node, count int) []operand {
	out := make([]operand, count)
	for i := range out {
		arg := n.Argument(i)
		if arg.Is("class", "PARAMETER") {
			arg = sqltree.Cast(arg, "VARCHAR")
		}
		out[i] = operand{string(rune('a' + i)), arg}
	}
	return out
}

// rebuilt returns the call over the operands and its further arguments.
func rebuilt(n *sqltree.Node, name string, use func(string) *sqltree.Node) *sqltree.Node {
	args := []any{use("a"), use("b")}
	if rest := n.List("children"); len(rest) > 2 {
		args = append(args, rest[2:]...)
	}
	return sqltree.Call(name, n.Flag("is_operator"), args...)
}

// sizeOf returns an expression for the length in bytes of a value as text, because some of
// these functions also accept lists.
func sizeOf(n *sqltree.Node) *sqltree.Node {
	return sqltree.Call("strlen", false, sqltree.Cast(n, "VARCHAR"))
}
