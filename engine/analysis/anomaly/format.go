package anomaly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxForms is the number of forms that identifiers of one kind have at most.
const maxForms = 12

const (
	// maxShapes is the number of fine forms beyond which a column is free text.
	maxShapes = 5000
	// maxBroken is the number of unusual forms that a condition names.
	maxBroken = 500
)

// shape returns the SQL of a text with 9 for digits, A for capitals and a for small letters.
// It is NULL for long texts.
func shape(c analysis.Column) string {
	return fmt.Sprintf("CASE WHEN length(%s) <= %d THEN translate(%s, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"+
		"abcdefghijklmnopqrstuvwxyz', '%s%s%s') END",
		c.Quoted(), analysis.MaxText, c.Quoted(), strings.Repeat("9", 10), strings.Repeat("A", 26), strings.Repeat("a", 26))
}

// shaped is a shape with its number of rows.
type shaped struct {
	text string
	rows int64
}

// form is a way to describe the form of a text, made from its shape.
type form struct {
	of func(shape string) string
	// rare is the share of the rows below which a form is unusual; main is the share that
	// the usual forms must reach.
	rare, main float64
	// most is the number of usual forms.
	most int
	// exact says that the form keeps the number of signs, which only identifiers share.
	exact bool
}

// forms are tried from fine to coarse.
var forms = []form{
	{of: func(s string) string {
		return map[bool]string{true: "no space at the ends", false: "space at the ends"}[s == strings.TrimSpace(s)]
	},
		rare: 0.005, main: 0.99, most: 1},
	{of: func(s string) string { return s }, rare: 0.0005, main: 0.98, most: maxForms, exact: true},
	{of: runs, rare: 0.003, main: 0.99, most: 4},
	{of: words, rare: 0.003, main: 0.995, most: 2},
}

// runs returns a shape with one sign for each run of the same class.
func runs(s string) string {
	var out strings.Builder
	last := rune(0)
	for _, r := range s {
		if unicode.IsUpper(r) {
			r = 'A'
		} else if unicode.IsLetter(r) {
			r = 'a'
		}
		if r != last || r != '9' && r != 'A' && r != 'a' {
			out.WriteRune(r)
		}
		last = r
	}
	return out.String()
}

// words returns what a shape has besides letters and what joins words.
func words(s string) string {
	joined := strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("-'’. ", r):
			return -1
		case unicode.IsLetter(r):
			return 'a'
		}
		return r
	}, s)
	return runs(joined)
}

// formats adds the checks of texts whose form differs from that of nearly all others.
func (d *detector) formats(ctx context.Context, i int) error {
	c, p := d.column(i), d.profiles[i]
	if p.Present() < 200 || p.Long*10 > p.Present() {
		return nil
	}
	var shapes []shaped
	err := d.in.Each(ctx, fmt.Sprintf("SELECT f, count(*) FROM (SELECT %s AS f FROM %s) WHERE f IS NOT NULL "+
		"GROUP BY f ORDER BY count(*) DESC, f LIMIT %d",
		shape(c), d.in.Table.From(c), maxShapes+1), func(r engine.Row) error {
		shapes = append(shapes, shaped{r.Text(0), r.Int64(1)})
		return nil
	})
	if err != nil || len(shapes) > maxShapes {
		return err
	}
	broken, expected := map[string]bool{}, ""
	for _, f := range forms {
		usual, names := f.usual(shapes, p.Present()-p.Long)
		if len(usual) == 0 {
			continue
		}
		for _, s := range shapes {
			if !usual[f.of(s.text)] && len(broken) < maxBroken {
				broken[s.text] = true
			}
		}
		if len(broken) > 0 && expected == "" || f.exact {
			expected = names
		}
	}
	if len(broken) == 0 {
		return nil
	}
	var list []string
	for _, s := range shapes {
		if broken[s.text] {
			list = append(list, analysis.QuoteSQL(s.text))
		}
	}
	d.add(check{kind: kindFormat, column: i, score: 0.9, where: shape(c) + " IN (" + strings.Join(list, ", ") + ")",
		expected: "the form " + expected, reason: fmt.Sprintf("nearly all values of %s have another form", c.Name)})
	return nil
}

// usual returns the usual forms of a column, and their names for people. There are none if
// all texts have them, or if the texts have too many forms.
func (f form) usual(shapes []shaped, present int64) (usual map[string]bool, names string) {
	counts := map[string]int64{}
	var order []string
	for _, s := range shapes {
		name := f.of(s.text)
		if counts[name] == 0 {
			order = append(order, name)
		}
		counts[name] += s.rows
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	usual, all, digits, same := map[string]bool{}, int64(0), true, true
	var shown []string
	for _, name := range order {
		if n := counts[name]; float64(n) < f.rare*float64(present) || n < 5 {
			break
		}
		all += counts[name]
		usual[name] = true
		digits = digits && strings.Contains(name, "9")
		same = same && len(name) == len(order[0])
		if len(shown) < 3 {
			shown = append(shown, analysis.InQuotes(name))
		}
	}
	if len(usual) == 0 || len(usual) > f.most || len(usual) == len(order) || float64(all) < f.main*float64(present) ||
		f.exact && !digits && !same {
		return nil, ""
	}
	return usual, strings.Join(shown, " or ")
}
