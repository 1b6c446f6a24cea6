package values

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxCited bounds the rows that an answer cites.
const maxCited = 8

// citations collects rows as examples of findings.
type citations struct {
	in         analysis.Input
	key        []analysis.Column
	rows       []analysis.CitedRow
	references []analysis.Reference
}

func newCitations(in analysis.Input) *citations {
	c := &citations{in: in, rows: []analysis.CitedRow{}}
	for _, name := range in.Table.PrimaryKey {
		column, ok := in.Table.Column(name)
		if !ok || column.Masked {
			c.key = nil
			break
		}
		c.key = append(c.key, column)
	}
	return c
}

// add cites the row with the smallest key that fulfils a condition over a column, and returns
// the tag of the cell. The tag is empty if there are enough rows or none fulfils it.
func (c *citations) add(ctx context.Context, column analysis.Column, condition string) (string, error) {
	if len(c.rows) >= maxCited {
		return "", nil
	}
	read := slices.Clone(c.key)
	if !slices.ContainsFunc(read, func(k analysis.Column) bool { return k.Name == column.Name }) {
		read = append(read, column)
	}
	shown := make([]string, len(read))
	order := make([]string, len(read))
	for i, r := range read {
		shown[i] = analysis.Shown(r)
		order[i] = strconv.Itoa(i + 1)
		if r.Kind() != analysis.KindOther {
			order[i] = cell(r)
		}
	}
	rows, err := c.in.Texts(ctx, "SELECT "+strings.Join(shown, ", ")+" FROM "+c.in.Table.From(read...)+" WHERE ("+condition+
		") ORDER BY "+strings.Join(order, ", ")+" LIMIT 1")
	if err != nil || len(rows) == 0 {
		return "", err
	}
	cited := analysis.CitedRow{Row: len(c.rows) + 1, Values: map[string]*string{}}
	var value *string
	for i, r := range read {
		cited.Values[r.Name] = rows[0][i]
		if i < len(c.key) {
			if cited.Key == nil {
				cited.Key = map[string]*string{}
			}
			cited.Key[r.Name] = rows[0][i]
		}
		if r.Name == column.Name {
			value = rows[0][i]
		}
	}
	reference := analysis.Reference{Row: cited.Row, Column: column.Name, Value: value}
	c.rows, c.references = append(c.rows, cited), append(c.references, reference)
	return reference.Tag(), nil
}

// quote returns a text for a title, shortened, without control characters and without what could
// be read as a tag.
func quote(text string) string {
	const most = 40
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.NewReplacer("[[", "[ [", "]]", "] ]").Replace(text)
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return `"` + text + `"`
}

// quotes returns a list of texts for a title.
func quotes(texts []string) string {
	const most = 4
	shown := make([]string, 0, most)
	for _, text := range texts[:min(most, len(texts))] {
		shown = append(shown, quote(text))
	}
	list := strings.Join(shown, ", ")
	if more := len(texts) - most; more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return list
}
