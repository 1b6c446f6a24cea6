package values

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// maxShapes bounds the shapes of a column that patterns are learned from.
	maxShapes = 300
	// leastDistinct is the number of distinct values that a pattern needs.
	leastDistinct = 20
)

// The signs of classes of characters in shapes.
const (
	upperSign = 'A'
	lowerSign = 'a'
	digitSign = '0'
	// anySign is that of upper-case letters and digits, hexSign that of the digits of
	// hexadecimal numbers in lower case.
	anySign = 'X'
	hexSign = 'f'
)

var classes = map[rune]string{upperSign: "[A-Z]", lowerSign: "[a-z]", digitSign: "[0-9]", anySign: "[A-Z0-9]", hexSign: "[0-9a-f]"}

// levels are the ways to generalise texts, from the most specific: the signs of upper-case
// letters, of lower-case letters and of digits.
var levels = []string{"Aa0", "Aff", "XaX"}

// shapeSQL returns the SQL of the shape of v at a level: letters and digits of ASCII as the
// signs of their classes.
func shapeSQL(level string) string {
	const upper, lower, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	return "translate(v, '" + upper + lower + digits + "', '" + strings.Repeat(level[:1], len(upper)) +
		strings.Repeat(level[1:2], len(lower)) + strings.Repeat(level[2:], len(digits)) + "')"
}

// run is a part of a pattern: a class, or a character that stands for itself, and how often
// it occurs.
type run struct {
	sign     rune
	class    bool
	min, max int
}

// structure is a sequence of runs that texts share, up to the lengths of the runs.
type structure struct {
	runs []run
	rows int64
	// digits is the number of rows with a digit.
	digits int64
}

// pattern suggests a regular expression for a text column.
func (w *domainWork) pattern(ctx context.Context, p profile) (suggestion, bool, error) {
	c := p.column
	if p.distinct < leastDistinct || p.length > 64 || p.short < p.values || w.checked(c) {
		return suggestion{}, false, nil
	}
	for _, level := range levels {
		s, err := w.structure(ctx, c, level)
		if err != nil {
			return suggestion{}, false, err
		}
		if ratio(s.rows, p.values) < consistent || !s.informative() {
			continue
		}
		m, err := w.matching(ctx, c, s.regexp(""))
		if err != nil {
			return suggestion{}, false, err
		}
		if m.distinct >= leastDistinct && ratio(m.rows, p.values) >= consistent {
			return w.check(c, s.regexp(m.prefix), m.distinct, ratio(m.rows, p.values)), true, nil
		}
	}
	m, err := w.matching(ctx, c, mailPattern)
	if err != nil || m.distinct < leastDistinct || ratio(m.rows, p.values) < consistent {
		return suggestion{}, false, err
	}
	return w.check(c, mailPattern, m.distinct, ratio(m.rows, p.values)), true, nil
}

// mailPattern is the regular expression of e-mail addresses.
const mailPattern = "[^@ ]+@[^@ ]+[.][^@ .]+"

// checked reports whether a CHECK constraint names a column.
func (w *domainWork) checked(c analysis.Column) bool {
	return slices.ContainsFunc(w.in.Table.Checks, func(k analysis.Check) bool { return strings.Contains(k.Expr, c.Name) })
}

// check makes a suggestion of a pattern.
func (w *domainWork) check(c analysis.Column, pattern string, distinct int64, coverage float64) suggestion {
	test := "regexp_full_match(" + c.Quoted() + ", " + analysis.QuoteSQL(pattern) + ")"
	confidence := 0.9
	if coverage < 1 {
		confidence = 0.8
	}
	s := suggestion{column: c, violated: c.Quoted() + " IS NOT NULL AND NOT " + test,
		change: analysis.AddCheck{Name: w.name(c), Expr: c.Quoted() + " IS NULL OR " + test},
		title:  fmt.Sprintf("Require that %s matches %s.", analysis.InQuotes(c.Name), pattern)}
	s.out = DomainColumn{Kind: "pattern", DistinctValues: distinct, Pattern: "^" + pattern + "$", Confidence: confidence,
		Reason: fmt.Sprintf("the pattern was learned from %d values", distinct)}
	return s
}

// name returns a name for a constraint on a column that no other has.
func (w *domainWork) name(c analysis.Column) string {
	base := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(c.Name)), "_")
	if len(base) > 40 {
		base = base[:40]
	}
	if base == "" || base[0] <= '9' {
		base = "column_" + base
	}
	base = strings.TrimRight(base, "_") + "_pattern"
	name := base
	for n := 2; w.taken(name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

func (w *domainWork) taken(name string) bool {
	for _, k := range w.in.Table.Checks {
		if strings.EqualFold(k.Name, name) {
			return true
		}
	}
	return slices.ContainsFunc(w.proposals, func(p analysis.Proposal) bool {
		check, ok := p.Change.(analysis.AddCheck)
		return ok && check.Name == name
	})
}

// matches describes the texts that match a pattern: the beginning that all share, up to the
// first digit, their number and their rows.
type matches struct {
	prefix         string
	distinct, rows int64
}

func (w *domainWork) matching(ctx context.Context, c analysis.Column, pattern string) (m matches, err error) {
	err = w.in.Each(ctx, "SELECT coalesce(min(v), ''), coalesce(max(v), ''), count(*), CAST(coalesce(sum(n), 0) AS BIGINT) FROM "+
		grouped(w.in, c)+" WHERE regexp_full_match(v, "+analysis.QuoteSQL(pattern)+")", func(r engine.Row) error {
		least, greatest := r.Text(0), r.Text(1)
		n := 0
		for n < min(len(least), len(greatest)) && least[n] == greatest[n] && !hasDigit(least[n:n+1]) {
			n++
		}
		m = matches{least[:n], r.Int64(2), r.Int64(3)}
		return nil
	})
	return m, err
}

// structure returns the most frequent structure of the texts of a column at a level.
func (w *domainWork) structure(ctx context.Context, c analysis.Column, level string) (structure, error) {
	all := map[string]*structure{}
	err := w.in.Each(ctx, "SELECT s, CAST(sum(n) AS BIGINT), CAST(coalesce(sum(n) FILTER (WHERE d), 0) AS BIGINT) FROM (SELECT "+
		shapeSQL(level)+" AS s, n, regexp_matches(v, '[0-9]') AS d FROM "+grouped(w.in, c)+") AS t GROUP BY s ORDER BY sum(n) DESC, s LIMIT "+
		strconv.Itoa(maxShapes), func(r engine.Row) error {
		merge(all, structure{runsOf(r.Text(0)), r.Int64(1), r.Int64(2)})
		return nil
	})
	var best structure
	for _, key := range sortedKeys(all) {
		if all[key].rows > best.rows {
			best = *all[key]
		}
	}
	return best, err
}

// runsOf splits a shape.
func runsOf(shape string) []run {
	var runs []run
	for _, r := range shape {
		_, class := classes[r]
		if n := len(runs); n > 0 && runs[n-1].sign == r {
			runs[n-1].min, runs[n-1].max = runs[n-1].min+1, runs[n-1].max+1
			continue
		}
		runs = append(runs, run{r, class, 1, 1})
	}
	return runs
}

// merge adds a structure to the one with the same runs. Only the lengths of classes vary.
func merge(all map[string]*structure, more structure) {
	var key strings.Builder
	for _, r := range more.runs {
		key.WriteRune(r.sign)
		if !r.class {
			key.WriteString(strconv.Itoa(r.min))
		}
	}
	s, ok := all[key.String()]
	if !ok {
		all[key.String()] = &more
		return
	}
	s.rows += more.rows
	s.digits += more.digits
	for i, r := range more.runs {
		s.runs[i].min, s.runs[i].max = min(s.runs[i].min, r.min), max(s.runs[i].max, r.max)
	}
}

// informative reports whether a structure says more than that texts are words: it has few
// runs, and digits, punctuation or a fixed number of letters.
func (s structure) informative() bool {
	digits, letters, marks, varying, hex := false, false, false, 0, 0
	lower := slices.ContainsFunc(s.runs, func(r run) bool { return r.class && r.sign == lowerSign })
	for _, r := range s.runs {
		switch {
		case !r.class && (r.sign == ' ' && lower || r.sign == '@' || r.sign > '~' || r.sign < ' '):
			return false
		case !r.class:
			marks = true
		case r.sign == digitSign:
			digits = true
		case r.sign == hexSign:
			digits = true
			hex += r.min
		case r.sign == anySign:
			digits = true
			if r.max-r.min > 3 || lower || 10*s.digits < s.rows {
				return false
			}
		default:
			letters = true
		}
		if r.max-r.min > 3 {
			varying++
		}
	}
	switch {
	case len(s.runs) == 0 || len(s.runs) > 20:
		return false
	case hex > 0:
		return hex >= 6 && varying == 0 && 2*s.digits > s.rows
	case !digits && !marks:
		return len(s.runs) == 1 && s.runs[0].min == s.runs[0].max && s.runs[0].min <= 8
	case !digits:
		return letters && varying == 0 && allUpper(s.runs)
	}
	return varying <= 1
}

func allUpper(runs []run) bool {
	return !slices.ContainsFunc(runs, func(r run) bool { return r.class && r.sign != upperSign })
}

// regexp returns the regular expression of texts that begin with a prefix of the structure.
func (s structure) regexp(prefix string) string {
	var b strings.Builder
	b.WriteString(regexp.QuoteMeta(prefix))
	left := len(prefix)
	for _, r := range s.runs {
		// The prefix ends in a run only if all texts have the run as far as the prefix goes.
		used := min(left, r.max)
		left -= used
		least, most := max(0, r.min-used), r.max-used
		if most == 0 {
			continue
		}
		if !r.class {
			b.WriteString(regexp.QuoteMeta(strings.Repeat(string(r.sign), most)))
			continue
		}
		b.WriteString(classes[r.sign])
		switch {
		case least == 1 && most == 1:
		case least == most:
			b.WriteString("{" + strconv.Itoa(least) + "}")
		case r.max-r.min > 3 && least == 0:
			b.WriteByte('*')
		case r.max-r.min > 3 && least == 1:
			b.WriteByte('+')
		case r.max-r.min > 3:
			b.WriteString("{" + strconv.Itoa(least) + ",}")
		default:
			b.WriteString("{" + strconv.Itoa(least) + "," + strconv.Itoa(most) + "}")
		}
	}
	return b.String()
}
