package values

import (
	"context"
	"strconv"
	"strings"

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
	return &citations{in: in, key: in.Table.KeyColumns(), rows: []analysis.CitedRow{}}
}

// add cites the row with the smallest key that fulfils a condition over a column, and returns
// the tag of the cell. The tag is empty if there are enough rows or none fulfils it.
func (c *citations) add(ctx context.Context, column analysis.Column, condition string) (string, error) {
	if len(c.rows) >= maxCited {
		return "", nil
	}
	read := analysis.Union(c.key, column)
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

// quotes returns a list of texts for a title.
func quotes(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = analysis.InQuotes(text)
	}
	return analysis.List(quoted, 4)
}
