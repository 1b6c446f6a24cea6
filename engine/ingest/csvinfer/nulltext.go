package csvinfer

import (
	"fmt"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// nullTexts are the texts that are taken for NULL in a column whose other values are not text.
var nullTexts = []string{"NA", "N/A", "n/a", "#N/A", "NULL", "null", "Null", `\N`, "-", "--"}

// nullText returns the text if it is one of [nullTexts], or "".
func nullText[T string | []byte](text T) string {
	if len(text) == 0 || len(text) > len("#N/A") {
		return ""
	}
	for _, t := range nullTexts {
		if t == string(text) {
			return t
		}
	}
	return ""
}

// givenNull is [nullText] for the text that the caller has given.
func (in *inference) givenNull(value []byte) string {
	if string(value) == in.nullGiven {
		return in.nullGiven
	}
	return ""
}

// nulls describes the values of a column that may mean NULL.
type nulls struct {
	// text is the first of these values. count is their number, line the line of the first.
	text        string
	count, line int64
	// refused reports that the values do not mean NULL: they differ, or one is in quotes, or another
	// text means NULL in the file.
	refused bool
}

// add takes a value that may mean NULL.
func (n *nulls) add(text string, line int64, quoted bool) {
	if n.count == 0 {
		n.text, n.line = text, line
	}
	n.refused = n.refused || quoted || n.text != text
	n.count++
}

// decideNull decides which text means NULL, and returns it, or "". It refuses all other texts for
// NULL, which are then values of their columns.
func (in *inference) decideNull(d decision) string {
	chosen := in.nullGiven
	if chosen == "" {
		chosen = in.chooseNull(d)
	}
	for _, c := range in.columns {
		c.nulls.refused = c.nulls.refused || c.nulls.count > 0 && c.nulls.text != chosen
	}
	return chosen
}

// reportNull sets the options for the text that means NULL, and reports the columns in which it
// does. In columns of text it remains a value.
func (in *inference) reportNull(text string, options *csvbody.Options, columns []Column) {
	if options.Null != "" {
		return // the caller has set csv_null
	}
	for i, c := range in.columns {
		switch {
		case c.nulls.count == 0 || text == "":
		case columns[i].Type.Kind == Text:
			options.NullIn = csvbody.NullTyped // it may occur there
		default:
			options.Null = text
			in.guessed(c.nulls.line, fmt.Sprintf("%s is taken for NULL in the column %s, of which all other values are %s: set csv_null",
				text, columns[i].Name, columns[i].Type.Arrow()))
		}
	}
	if options.Null == "" {
		options.NullIn = ""
	}
}

// chooseNull returns the text for NULL that most columns have whose other values are not text, or "".
func (in *inference) chooseNull(d decision) (chosen string) {
	columns := map[string]int{}
	for _, c := range in.columns {
		if c.nulls.count > 0 && c.typ(d).Kind != Text {
			columns[c.nulls.text]++
		}
	}
	for _, t := range nullTexts {
		if columns[t] > columns[chosen] {
			chosen = t
		}
	}
	return chosen
}
