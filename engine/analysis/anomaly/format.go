package anomaly

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxForms is the number of forms that identifiers of one kind have at most.
const maxForms = 12

// form is a way to describe the form of a text in SQL.
type form struct {
	sql string
	// rare is the share of the rows below which a form is unusual; main is the share that
	// the usual forms must reach.
	rare, main float64
	// most is the number of usual forms.
	most int
	// exact says that the form keeps the number of signs, which only identifiers share.
	exact bool
}

// classes returns the SQL of a text with 9 for digits, A for capitals and a for small letters.
func classes(q string) string {
	return "regexp_replace(regexp_replace(regexp_replace(" + q + `, '[0-9]', '9', 'g'), '[\p{Lu}]', 'A', 'g'), '[\p{Ll}]', 'a', 'g')`
}

// forms returns the forms that are tried, from fine to coarse.
func forms(q string) []form {
	short := fmt.Sprintf("CASE WHEN length(%s) <= %d THEN %s END", q, analysis.MaxText, q)
	fine := classes(short)
	runs := "regexp_replace(regexp_replace(regexp_replace(" + fine + ", '9+', '9', 'g'), 'A+', 'A', 'g'), 'a+', 'a', 'g')"
	words := "regexp_replace(" + runs + ", '[-''’. ]+', '', 'g')"
	words = "regexp_replace(" + words + ", '[aA]+', 'a', 'g')"
	edges := "CASE WHEN " + short + " <> trim(" + short + ") THEN 'space' ELSE 'none' END"
	return []form{
		{sql: edges, rare: 0.005, main: 0.99, most: 1},
		{sql: fine, rare: 0.0005, main: 0.98, most: maxForms, exact: true},
		{sql: runs, rare: 0.003, main: 0.99, most: 4},
		{sql: words, rare: 0.003, main: 0.995, most: 2},
	}
}

// formats adds the checks of texts whose form differs from that of nearly all others.
func (d *detector) formats(ctx context.Context, i int) error {
	c, present := d.column(i), d.profiles[i].Present()
	if present < 200 || d.profiles[i].Long*10 > present {
		return nil
	}
	for _, f := range forms(c.Quoted()) {
		usual, names, err := d.usual(ctx, i, f)
		if err != nil {
			return err
		}
		if usual == "" {
			continue
		}
		d.add(check{kind: kindFormat, column: i, score: 0.9, where: f.sql + " NOT IN (" + usual + ")",
			expected: "the form " + names, reason: fmt.Sprintf("nearly all values of %s have another form", c.Name)})
	}
	return nil
}

// usual returns the list of the usual forms of a column in SQL, and for people. It is "" if
// there are none, or no others.
func (d *detector) usual(ctx context.Context, i int, f form) (list, names string, err error) {
	type one struct {
		text string
		rows int64
	}
	c, seen, all := d.column(i), []one{}, int64(0)
	sql := fmt.Sprintf("SELECT left(f, %d), count(*) FROM (SELECT %s AS f FROM %s) WHERE f IS NOT NULL GROUP BY f ORDER BY count(*) DESC, f LIMIT %d",
		analysis.MaxText, f.sql, d.in.Table.From(c), maxForms+200)
	err = d.in.Each(ctx, sql, func(r engine.Row) error {
		seen = append(seen, one{r.Text(0), r.Int64(1)})
		return nil
	})
	present := d.profiles[i].Present() - d.profiles[i].Long
	var core []string
	digits, length, same := true, -1, true
	for _, s := range seen {
		if float64(s.rows) < f.rare*float64(present) || s.rows < 5 {
			break
		}
		all += s.rows
		core = append(core, s.text)
		digits = digits && strings.Contains(s.text, "9")
		if length >= 0 && length != len(s.text) {
			same = false
		}
		length = len(s.text)
	}
	if err != nil || len(core) == 0 || len(core) > f.most || len(seen) == len(core) || all == present ||
		float64(all) < f.main*float64(present) || f.exact && !digits && !same {
		return "", "", err
	}
	quoted := make([]string, len(core))
	for at, text := range core {
		quoted[at] = engine.QuoteString(text)
	}
	shown := make([]string, min(3, len(core)))
	for at := range shown {
		shown[at] = strconv.Quote(core[at])
	}
	return strings.Join(quoted, ", "), strings.Join(shown, " or "), nil
}
