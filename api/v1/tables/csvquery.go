package tables

import (
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/api/problem"
)

// CSVQuery selects a dialect of CSV. The defaults are those of RFC 4180.
type CSVQuery struct {
	Delimiter string `query:"csv_delimiter" doc:"What separates the fields of a text/csv body: one ASCII character. Default: a comma"`
	Quote     string `query:"csv_quote" doc:"What encloses fields of a text/csv body, and is doubled within: one ASCII character. Default: a double quote"`
	Null      string `query:"csv_null" maxLength:"256" doc:"Text that means NULL in a text/csv body where it is not quoted, beside nothing at all"`
	Header    string `query:"csv_header" enum:"absent,present" doc:"Whether a text/csv body begins with the names of its columns; if not, the fields are in the order of the table's columns. Default: the parameter header of Content-Type, or present"`
}

// firstSet returns the name of the first parameter that is set, or "".
func (q CSVQuery) firstSet() string {
	for _, p := range [][2]string{{"csv_delimiter", q.Delimiter}, {"csv_quote", q.Quote}, {"csv_null", q.Null}, {"csv_header", q.Header}} {
		if p[1] != "" {
			return p[0]
		}
	}
	return ""
}

// apply sets the dialect of a CSV body. header is the parameter of its Content-Type.
func (q CSVQuery) apply(body *write.Body, header string) error {
	if field := q.firstSet(); body.Format != write.CSV && field != "" {
		return invalidField(field, "is for text/csv only")
	}
	if q.Header != "" && header != "" && q.Header != header {
		return invalidField("csv_header", "contradicts the header of Content-Type")
	}
	comma, err := character("csv_delimiter", q.Delimiter, ",")
	if err != nil {
		return err
	}
	quote, err := character("csv_quote", q.Quote, `"`)
	switch {
	case err != nil:
		return err
	case comma == quote:
		return invalidField("csv_quote", "must not be the delimiter")
	case strings.ContainsAny(q.Null, comma+quote+"\r\n"):
		return invalidField("csv_null", "must hold no delimiter, quote or line end")
	}
	body.CSV.Comma, body.CSV.Quote, body.CSV.Null = comma[0], quote[0], q.Null
	body.CSV.NoHeader = q.Header == "absent" || header == "absent" // RFC 4180
	return nil
}

// character returns the character that a parameter selects, or the default.
func character(field, text, usual string) (string, error) {
	if text == "" {
		return usual, nil
	}
	if len(text) > 1 || text[0] >= 0x80 || strings.Contains("\x00\r\n", text) {
		return "", invalidField(field, "must be one ASCII character, and no line end")
	}
	return text, nil
}

func invalidField(field, message string) error {
	return &problem.Refusal{Code: "invalid_field", Details: []problem.Detail{{Field: field, Message: message}}}
}
