package csvbody

import (
	"errors"
	"io"
	"iter"
	"strings"
)

// Options are the texts by which a client selects a [Dialect]. The zero value is RFC 4180 with
// a header line, in UTF-8.
type Options struct {
	// Delimiter and Quote are one ASCII character each; empty means a comma and a double
	// quote.
	Delimiter, Quote string
	// Null is a text that means NULL in a field without quotes.
	Null string
	// Header is present (also for "") or absent.
	Header string
	// Encoding is the name of an [Encoding]; empty means UTF-8.
	Encoding string
	// Decimal is point (also for "") or comma.
	Decimal string
	// DateFormat and TimestampFormat are texts of a [TimeFormat]; empty means ISO 8601.
	DateFormat, TimestampFormat string
	// Columns is a CSV record with the table's column for each column of the file, empty for
	// those to be skipped. An empty text means that the header names the columns, or that they
	// are in the order of the table.
	Columns string
}

// The names of the options in requests.
const (
	optionDelimiter       = "csv_delimiter"
	optionQuote           = "csv_quote"
	optionNull            = "csv_null"
	optionHeader          = "csv_header"
	optionEncoding        = "csv_encoding"
	optionDecimal         = "csv_decimal"
	optionDateFormat      = "csv_date_format"
	optionTimestampFormat = "csv_timestamp_format"
	optionColumns         = "csv_columns"
)

// The values of the options header and decimal.
const (
	HeaderPresent = "present"
	HeaderAbsent  = "absent"
	DecimalPoint  = "point"
	DecimalComma  = "comma"
)

// OptionError is an invalid option: 422.
type OptionError struct {
	// Option is the name of the option as requests spell it.
	Option  string
	Message string
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + " " + e.Message }

// FieldProblems yields the option and the message.
func (e *OptionError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(e.Option, e.Message) }
}

// All yields the names of the options in requests, with their texts.
func (o Options) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range [][2]string{
			{optionDelimiter, o.Delimiter}, {optionQuote, o.Quote}, {optionNull, o.Null}, {optionHeader, o.Header},
			{optionEncoding, o.Encoding}, {optionDecimal, o.Decimal}, {optionDateFormat, o.DateFormat},
			{optionTimestampFormat, o.TimestampFormat}, {optionColumns, o.Columns},
		} {
			if !yield(p[0], p[1]) {
				return
			}
		}
	}
}

// Set sets the option with the given name in requests. It returns false if there is none.
func (o *Options) Set(name, text string) bool {
	field, ok := map[string]*string{
		optionDelimiter: &o.Delimiter, optionQuote: &o.Quote, optionNull: &o.Null, optionHeader: &o.Header,
		optionEncoding: &o.Encoding, optionDecimal: &o.Decimal, optionDateFormat: &o.DateFormat,
		optionTimestampFormat: &o.TimestampFormat, optionColumns: &o.Columns,
	}[name]
	if ok {
		*field = text
	}
	return ok
}

// Dialect returns the dialect. Errors are of type [*OptionError].
func (o Options) Dialect() (Dialect, error) {
	comma, err := character(optionDelimiter, o.Delimiter, ',')
	if err != nil {
		return Dialect{}, err
	}
	quote, err := character(optionQuote, o.Quote, '"')
	if err != nil {
		return Dialect{}, err
	}
	d := Dialect{Comma: comma, Quote: quote, Null: o.Null, NoHeader: o.Header == HeaderAbsent, Encoding: Encoding(o.Encoding),
		DecimalComma: o.Decimal == DecimalComma}
	switch {
	case comma == quote:
		return d, &OptionError{optionQuote, "must not be the delimiter"}
	case strings.ContainsAny(o.Null, string([]byte{comma, quote, '\r', '\n'})):
		return d, &OptionError{optionNull, "must hold no delimiter, quote or line end"}
	case !d.NoHeader && o.Header != "" && o.Header != HeaderPresent:
		return d, &OptionError{optionHeader, "must be absent or present"}
	case !d.Encoding.valid():
		return d, &OptionError{optionEncoding, "must be utf-8, latin-1, windows-1252 or utf-16"}
	case !d.DecimalComma && o.Decimal != "" && o.Decimal != DecimalPoint:
		return d, &OptionError{optionDecimal, "must be point or comma"}
	}
	if d.DateFormat, err = timeFormat(optionDateFormat, o.DateFormat); err == nil && d.DateFormat != nil && d.DateFormat.hasTime {
		err = &OptionError{optionDateFormat, "must not have a time"}
	}
	if err != nil {
		return d, err
	}
	if d.TimestampFormat, err = timeFormat(optionTimestampFormat, o.TimestampFormat); err != nil {
		return d, err
	}
	d.Columns, err = columnList(o.Columns)
	return d, err
}

// character returns the character that an option selects, or the default.
func character(option, text string, usual byte) (byte, error) {
	if text == "" {
		return usual, nil
	}
	if len(text) > 1 || text[0] >= 0x80 || strings.Contains("\x00\r\n", text) {
		return 0, &OptionError{option, "must be one ASCII character, and no line end"}
	}
	return text[0], nil
}

func timeFormat(option, text string) (*TimeFormat, error) {
	if text == "" {
		return nil, nil
	}
	f, err := ParseTimeFormat(text)
	if err != nil {
		return nil, &OptionError{option, err.Error()}
	}
	return f, nil
}

// maxColumnList bounds the text of the option csv_columns.
const maxColumnList = 1 << 20

// columnList splits a record of column names.
func columnList(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	scan := newScanner(strings.NewReader(text), Dialect{}.withDefaults(), maxColumnList)
	fields, _, err := scan.next()
	if err != nil {
		return nil, &OptionError{optionColumns, "must be one CSV record of column names"}
	}
	names, named := make([]string, len(fields)), false
	for i, f := range fields {
		names[i] = string(scan.unquoted(f))
		named = named || names[i] != ""
	}
	if _, _, err := scan.next(); !errors.Is(err, io.EOF) {
		return nil, &OptionError{optionColumns, "must be one CSV record of column names"}
	}
	if !named {
		return nil, &OptionError{optionColumns, "must name a column"}
	}
	return names, nil
}

// ColumnList returns the names as the text of the option csv_columns.
func ColumnList(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.ContainsAny(name, ",\"\r\n") {
			name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		b.WriteString(name)
	}
	return b.String()
}
