package tables

import (
	"strconv"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/api/problem"
)

// CSVQuery selects a dialect of CSV. The defaults are those of RFC 4180.
type CSVQuery struct {
	Delimiter       string `query:"csv_delimiter" doc:"The separator of fields of a text/csv body: one ASCII character. Default: the one that a first line such as sep=; declares, or a comma"`
	Quote           string `query:"csv_quote" doc:"The quote around fields of a text/csv body, doubled within: one ASCII character. Default: a double quote"`
	Null            string `query:"csv_null" maxLength:"256" doc:"Text that means NULL in a text/csv body where it is not quoted, in addition to the empty text"`
	NullIn          string `query:"csv_null_in" enum:"all,typed" doc:"The columns in which csv_null means NULL: all, or those that are neither text nor binary (typed). Default: all"`
	Header          string `query:"csv_header" enum:"absent,present" doc:"Whether a text/csv body begins with the names of its columns; if not, fields are in the order of the table. Default: the parameter header of Content-Type, or present"`
	Skip            int    `query:"csv_skip" minimum:"0" maximum:"10000" doc:"The number of lines of a text/csv body to skip before its header or first row. A line that declares the delimiter is not counted"`
	Comment         string `query:"csv_comment" doc:"The character that begins comment lines of a text/csv body: one ASCII character. Default: no comments"`
	Encoding        string `query:"csv_encoding" enum:"utf-8,latin-1,windows-1252,utf-16" doc:"The encoding of a text/csv body. Without a byte order mark, the first character of utf-16 decides the byte order if it is ASCII. Default: utf-8"`
	Decimal         string `query:"csv_decimal" enum:"point,comma" doc:"The decimal separator of numbers in a text/csv body. Default: point"`
	Thousands       string `query:"csv_thousands" doc:"The separator of groups of three digits of numbers in a text/csv body: a comma, a point, an apostrophe, an underscore, a space or a no-break space. Default: no groups"`
	DateFormat      string `query:"csv_date_format" maxLength:"256" doc:"The format of dates in a text/csv body, with directives of strptime: %d.%m.%Y. Default: ISO 8601"`
	TimestampFormat string `query:"csv_timestamp_format" maxLength:"256" doc:"The format of timestamps in a text/csv body, with directives of strptime: %d.%m.%Y %H:%M:%S. Default: ISO 8601"`
	Columns         string `query:"csv_columns" doc:"One CSV record that has, for each field of a text/csv body, the table's column, or nothing if the field is to be skipped. The names in a header are then ignored"`
}

func (q CSVQuery) options() write.CSVOptions {
	skip := ""
	if q.Skip != 0 {
		skip = strconv.Itoa(q.Skip)
	}
	return write.CSVOptions{
		Delimiter: q.Delimiter, Quote: q.Quote, Null: q.Null, NullIn: q.NullIn, Header: q.Header, Skip: skip, Comment: q.Comment,
		Encoding: q.Encoding, Decimal: q.Decimal, Thousands: q.Thousands, DateFormat: q.DateFormat, TimestampFormat: q.TimestampFormat,
		Columns: q.Columns,
	}
}

// apply sets the dialect of a body. header is the parameter of its Content-Type, and charset
// reports that the Content-Type names UTF-8.
func (q CSVQuery) apply(body *write.Body, header string, charset bool) (err error) {
	options := q.options()
	for name, text := range options.All() {
		if body.Format != write.CSV && text != "" {
			return invalidField(name, "is for text/csv only")
		}
	}
	switch {
	case q.Header != "" && header != "" && q.Header != header:
		return invalidField("csv_header", "contradicts the header of Content-Type")
	case charset && q.Encoding != "" && q.Encoding != "utf-8":
		return invalidField("csv_encoding", "contradicts the charset of Content-Type")
	case q.Header == "":
		options.Header = header // RFC 4180
	}
	body.CSV, err = options.Dialect()
	return err
}

func invalidField(field, message string) error {
	return &problem.Refusal{Code: "invalid_field", Details: []problem.Detail{{Field: field, Message: message}}}
}
