package csvinfer

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// groups collects what the numbers of a column have in common if separators of thousands are
// removed.
type groups struct {
	// separator is the one that occurs, "" while there is none.
	separator string
	// failed reports that the values are not numbers with one separator of thousands.
	failed bool
	// fractions reports a value with groups and a fraction, several one with more than two groups.
	fractions, several bool
	// shortest and longest are the numbers of digits before the decimal separator of values with
	// groups. ungrouped reports a value that would have groups, but has not.
	shortest, longest int
	ungrouped         bool
	numbers           numbers
	plain             []byte
}

// add takes a value. before is what the values before it have in common.
func (g *groups) add(text []byte, before *numbers) {
	plain, separator, ok := csvbody.Ungrouped(g.plain[:0], text)
	g.plain = plain
	switch {
	case !ok && g.separator == "":
		return
	case !ok:
		g.ungrouped = g.ungrouped || isLongWhole(text)
		plain = text
	case g.separator == "" && !before.possible:
		g.failed = true
		return
	case g.separator == "":
		g.numbers, g.separator, g.ungrouped = *before, separator, before.whole > 3
	case g.separator != separator:
		g.failed = true
		return
	}
	if g.numbers.possible {
		g.numbers.add(plain)
	}
	if g.failed = !g.numbers.possible; g.failed || !ok {
		return
	}
	f, _ := parseNumber(plain)
	if g.shortest == 0 || f.whole < g.shortest {
		g.shortest = f.whole
	}
	g.longest = max(g.longest, f.whole)
	g.fractions = g.fractions || f.scale > 0
	g.several = g.several || f.whole > 6
}

func isLongWhole(text []byte) bool {
	f, ok := parseNumber(text)
	return ok && f.whole > 3
}

// sure reports whether the separator cannot be anything else. Codes may be written in groups, too,
// of which all have as many digits.
func (g *groups) sure() bool {
	varied := g.fractions || g.several && g.shortest != g.longest
	switch {
	case g.separator == "" || g.failed || g.ungrouped:
		return false
	case strings.Contains("'’", g.separator):
		return true
	case g.separator == ",":
		return g.fractions || g.several
	}
	return varied
}

// chooseThousands returns the separator of thousands of most columns that leave no doubt, or "".
func (in *inference) chooseThousands(options csvbody.Options) (chosen string) {
	columns := map[string]int{}
	for _, c := range in.columns {
		g := &c.groups
		decimal := g.numbers.separator
		clash := decimal != 0 && string(rune(decimal)) == g.separator ||
			options.Decimal == csvbody.DecimalComma && g.separator == "," ||
			options.Decimal == csvbody.DecimalPoint && g.separator == "." || g.separator == options.Quote && options.Quote != ""
		if c.isCandidate() && g.sure() && !clash {
			columns[g.separator]++
			if n := columns[g.separator]; n > columns[chosen] || n == columns[chosen] && g.separator < chosen {
				chosen = g.separator
			}
		}
	}
	return chosen
}

// numbersOf returns what the numbers of a column have in common, with a separator of thousands.
func (c *column) numbersOf(thousands string, given bool) *numbers {
	g := &c.groups
	extends := given || strings.Contains(",'’", thousands) && !g.ungrouped // the same in another column
	if thousands != "" && g.separator == thousands && !g.failed && (g.sure() || extends) {
		return &g.numbers
	}
	return &c.numbers
}
