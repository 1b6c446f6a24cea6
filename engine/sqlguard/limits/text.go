package limits

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
)

// DuckDB's parser copies parts of the text into its tree several times: the operand of CASE
// once for every WHEN, a named window once for every OVER. Nested, a few hundred bytes
// become gigabytes before the tree is available. So the size of the tree is estimated
// first, from the words of the text.

// maxWords caps the estimated words. The longest text has about 130,000 words.
const maxWords = 300_000

// maxGroups caps the items of one GROUP BY: the parser compares each with all others.
const maxGroups = 2_500

// CheckText refuses texts whose tree would be much larger than the text, or
// would take disproportionately long to build.
func CheckText(text string) *refusal.Error {
	if groupItems(text) > maxGroups {
		return refusal.New(refusal.CodeTooComplex, "GROUP BY", "a GROUP BY has more than %d items", maxGroups)
	}
	if amplified(text) > maxWords {
		return refusal.New(refusal.CodeTooComplex, "", "CASE or WINDOW expressions are nested or repeated too much")
	}
	return nil
}

// caseFrame is one open CASE.
type caseFrame struct {
	operand, rest, whens int
	inOperand            bool
}

func (f *caseFrame) size() int { return min(f.operand*max(1, f.whens)+f.rest, 1<<40) }

func amplified(text string) int {
	frames := []caseFrame{{}}
	overs, windows := 0, 0
	last := ""
	sqltext.EachWord(text, func(word string) {
		label := last == "as" || last == "."
		last = word
		top := &frames[len(frames)-1]
		switch {
		case label:
		case word == "case":
			frames = append(frames, caseFrame{inOperand: true})
			return
		case word == "when":
			top.whens++
			top.inOperand = false
		case word == "end" && len(frames) > 1:
			done := top.size()
			frames = frames[:len(frames)-1]
			frames[len(frames)-1].add(done)
			return
		case word == "over":
			overs++
		case word == "window":
			windows++
		}
		if windows > 0 {
			windows++
		}
		top.add(1)
	})
	total := 0
	for i := range frames {
		total += frames[i].size()
	}
	return total + overs*windows
}

func (f *caseFrame) add(n int) {
	if f.inOperand {
		f.operand = min(f.operand+n, 1<<40)
	} else {
		f.rest = min(f.rest+n, 1<<40)
	}
}

// groupItems returns an upper bound on the items in the longest GROUP BY of a text.
// Commas inside brackets count too, because of the items of ROLLUP and similar
// clauses.
func groupItems(text string) int {
	type group struct{ depth, items int }
	var open []group
	most, depth, last := 0, 0, ""
	sqltext.EachWord(text, func(word string) {
		switch word {
		case "(":
			depth++
		case ")":
			depth--
		case "by":
			if last == "group" {
				open = append(open, group{depth, 1})
			}
		case "having", "qualify", "window", "order", "limit", "union", "except", "intersect":
			if len(open) > 0 && open[len(open)-1].depth == depth {
				open = open[:len(open)-1]
			}
		case ",":
			if len(open) > 0 {
				open[len(open)-1].items++
				most = max(most, open[len(open)-1].items)
			}
		}
		for len(open) > 0 && open[len(open)-1].depth > depth {
			open = open[:len(open)-1]
		}
		last = word
	})
	return most
}
