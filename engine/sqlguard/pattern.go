package sqlguard

import "strings"

// The engine matches LIKE and GLOB by trying again behind every wildcard, and
// finds a text in a text by trying every place. Neither looks for an interrupt,
// so that the work of one row must stay small.
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
func patternRule(a *analysis, n *node, _ string) *Error {
	text, pattern := argument(n, 0), argument(n, 1)
	if text == nil || pattern == nil {
		return nil // not a call that exists
	}
	name := lower(n.str("function_name"))
	if a.columnNames[n] || text.is("class", "STAR") && !text.flag("columns") { // * LIKE chooses columns
		return columnPattern(pattern)
	}
	wild := "%"
	if name == "~~~" {
		wild = "*"
	}
	lit, ok := constantOf(pattern)
	if !ok || lit.family != litText {
		a.computedPattern(n, name, wild)
		return nil
	}
	if (name == "~~" || name == "!~~") && !strings.Contains(lit.text, "_") {
		if len(lit.text) > maxNeedle {
			a.searched(n, name)
		}
		return nil // the engine matches it in one pass
	}
	if (name == "~~*" || name == "!~~*") && !strings.Contains(lit.text, "_") && len(lit.text) <= maxNeedle {
		// What the engine does, but in one pass.
		a.replaceCall(n, func() *node {
			return callNode(strings.TrimSuffix(name, "*"), true, callNode("lower", false, text), callNode("lower", false, pattern))
		})
		return nil
	}
	if len(lit.text) > maxNeedle {
		return refuse(CodeArgument, "", "the pattern is longer than %d bytes", maxNeedle)
	}
	runs := wildcardRuns(lit.text, wild[0])
	switch {
	case runs > maxWildcards:
		return refuse(CodeArgument, "", "the pattern has more than %d wildcards", maxWildcards)
	case runs <= 1 && len(lit.text) <= maxPattern:
		return nil
	}
	a.patterns++
	a.replaceCall(n, func() *node {
		limit := maxWild / share(a.patterns)
		if runs > 1 {
			limit = longestText(runs, len(lit.text), maxSteps/share(a.patterns))
		}
		return guard(operandsOf(n, 2), func(use func(string) *node) *node {
			return caseNode(greaterNode(sizeOf(use("a")), intNode(limit)), guardError(), rebuilt(n, name, use))
		})
	})
	return nil
}

// columnPattern takes the patterns of COLUMNS(…). They are matched with names,
// which are short, in a place where no guard can stand.
func columnPattern(pattern *node) *Error {
	lit, ok := constantOf(pattern)
	if !ok || lit.family != litText {
		return refuse(CodeArgument, "", "the pattern must be a constant text")
	}
	if strings.Count(lit.text, "%")+strings.Count(lit.text, "*") > maxComputed {
		return refuse(CodeArgument, "", "the pattern has more than %d wildcards", maxComputed)
	}
	return nil
}

// noteColumnNames notes the calls below v.
func (a *analysis) noteColumnNames(v any) {
	switch v := v.(type) {
	case *node:
		if v == nil {
			return
		}
		if v.is("class", "FUNCTION") {
			a.columnNames[v] = true
		}
		for _, x := range v.vals {
			a.noteColumnNames(x)
		}
	case []any:
		for _, x := range v {
			a.noteColumnNames(x)
		}
	}
}

// wildcardRuns counts the wildcards behind which matching tries again: several
// in a row are one, and behind the last sign there is nothing to try.
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

// stepsOf returns the most steps that matching a text of the given length takes.
func stepsOf(runs, pattern int, text int64) int64 {
	steps := int64(pattern/runs + 1)
	for i := range int64(runs) {
		steps = min(steps*(text-i)/(i+1), saturated)
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

// computedPattern bounds a pattern that is known while rows flow.
func (a *analysis) computedPattern(n *node, name, wild string) {
	a.patterns++
	a.replaceCall(n, func() *node {
		return guard(operandsOf(n, 2), func(use func(string) *node) *node {
			// Behind the wildcards at the end there is nothing to try.
			pattern := func() *node {
				return callNode("rtrim", false, castNode(use("b"), "VARCHAR"), textNode(wild))
			}
			count := func() *node {
				rest := callNode("replace", false, pattern(), textNode(wild), textNode(""))
				return callNode("-", true, sizeOf(pattern()), callNode("strlen", false, rest))
			}
			size := func() *node { return sizeOf(use("a")) }
			work := callNode("*", true, castNode(size(), "BIGINT"), sizeOf(use("b")))
			over := expression("CONJUNCTION", "CONJUNCTION_OR", "children", []any{
				greaterNode(size(), intNode(maxWild)),
				greaterNode(sizeOf(use("b")), intNode(maxPattern)),
				greaterNode(count(), intNode(maxComputed)),
				greaterNode(work, intNode(fullCalls*maxSteps/a.patterns)),
				allOf(greaterNode(count(), intNode(1)), greaterNode(size(), intNode(maxWilder/root(share(a.patterns), 2)))),
				allOf(greaterNode(count(), intNode(2)), greaterNode(size(), intNode(maxWildest/root(share(a.patterns), 3)))),
			})
			return caseNode(over, guardError(), rebuilt(n, name, use))
		})
	})
}

// needleRule bounds the functions that look for a text in a text.
func needleRule(a *analysis, n *node, _ string) *Error {
	if argument(n, 1) == nil {
		return nil // not a call that exists
	}
	if lit, ok := constantOf(argument(n, 1)); ok && (lit.family != litText || len(lit.text) <= maxNeedle) {
		return nil
	}
	a.searched(n, lower(n.str("function_name")))
	return nil
}

// searched bounds the product of the lengths of a call's first two arguments.
func (a *analysis) searched(n *node, name string) {
	a.searches++
	a.replaceCall(n, func() *node {
		return guard(operandsOf(n, 2), func(use func(string) *node) *node {
			work := callNode("*", true, castNode(sizeOf(use("a")), "BIGINT"), sizeOf(use("b")))
			return caseNode(greaterNode(work, intNode(maxSearch/share(a.searches))), guardError(), rebuilt(n, name, use))
		})
	})
}

// operandsOf names the first arguments of a call a, b, ….
func operandsOf(n *node, count int) []operand {
	out := make([]operand, count)
	for i := range out {
		arg := argument(n, i)
		if arg.is("class", "PARAMETER") {
			arg = castNode(arg, "VARCHAR")
		}
		out[i] = operand{string(rune('a' + i)), arg}
	}
	return out
}

// rebuilt is the call over the operands, with its further arguments as they were.
func rebuilt(n *node, name string, use func(string) *node) *node {
	args := []any{use("a"), use("b")}
	if rest := n.list("children"); len(rest) > 2 {
		args = append(args, rest[2:]...)
	}
	return callNode(name, n.flag("is_operator"), args...)
}

// sizeOf is the length of a value as text, in bytes: some of these functions
// take lists too.
func sizeOf(n *node) *node { return callNode("strlen", false, castNode(n, "VARCHAR")) }
