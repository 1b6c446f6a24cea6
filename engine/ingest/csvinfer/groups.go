package csvinfer

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// groups describes the values of a column as numbers with separators of thousands.
type groups struct {
	// separator is the separator of thousands that has occurred, or "".
	separator string
	// failed reports that the values are not numbers with one separator of thousands.
	failed bool
	// fractions, several and short report whether a value with groups has a fraction, has more than
	// two groups, or has a first group of fewer than three digits.
	fractions, several, short bool
	// ungrouped reports whether a value without groups has more than three digits.
	ungrouped bool
	// numbers describes the values without their separators of thousands.
	numbers numbers
	// plain is a buffer for one value without separators.
	plain []byte
}

// add takes a value. before describes the values before it.
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
	g.short = g.short || f.whole%3 > 0
	g.fractions = g.fractions || f.scale > 0
	g.several = g.several || f.whole > 6
}

// isLongWhole reports whether a number has more than three digits in its whole part.
func isLongWhole(text []byte) bool {
	f, ok := parseNumber(text)
	return ok && f.whole > 3
}

// sure reports whether the separator can only be one of thousands.
func (g *groups) sure() bool {
	return g.consistent() && (g.fractions || strings.Contains("'’", g.separator))
}

// likely reports whether the separator is probably one of thousands. Codes, addresses and versions
// also have points, spaces and underscores, and lists of numbers with three digits have commas.
func (g *groups) likely() bool {
	return g.sure() || g.consistent() && g.several && g.short && strings.Contains(",\u00a0\u202f", g.separator)
}

// consistent reports whether all groups have one separator, and no longer number is without groups.
func (g *groups) consistent() bool { return g.separator != "" && !g.failed && !g.ungrouped }

// chooseThousands returns the separator of thousands of most columns in which it is likely, or "".
func (in *inference) chooseThousands(options csvbody.Options) (chosen string) {
	columns := map[string]int{}
	for _, c := range in.columns {
		g := &c.groups
		decimal := g.numbers.separator
		clash := decimal != 0 && string(rune(decimal)) == g.separator ||
			options.Decimal == csvbody.DecimalComma && g.separator == "," ||
			options.Decimal == csvbody.DecimalPoint && g.separator == "." || g.separator == options.Quote && options.Quote != ""
		if c.isCandidate() && g.likely() && !clash {
			columns[g.separator]++
			if n := columns[g.separator]; n > columns[chosen] || n == columns[chosen] && g.separator < chosen {
				chosen = g.separator
			}
		}
	}
	return chosen
}

// numbersOf returns the description of the column's values as numbers with a separator of thousands,
// or without one if thousands is not the separator of this column. given reports that the caller has
// named the separator.
func (c *column) numbersOf(thousands string, given bool) *numbers {
	g := &c.groups
	if thousands == "" || g.separator != thousands || g.failed {
		return &c.numbers
	}
	extends := thousands == "," && g.consistent() && g.short // another column has shown what the comma means
	if given || g.likely() || extends {
		return &g.numbers
	}
	return &c.numbers
}
