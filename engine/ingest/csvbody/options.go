package csvbody

import (
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
)

// Options are the texts by which a client selects a [Dialect]. The zero value is RFC 4180 with
// a header line, in UTF-8.
type Options struct {
	// Delimiter and Quote are one ASCII character each; empty means a comma, unless the first line
	// of the body declares another delimiter, and a double quote.
	Delimiter, Quote string
	// Null is a text that means NULL in a field without quotes. NullIn selects the columns in which
	// it does: all (also for ""), or typed, which are those that are neither text nor binary.
	Null, NullIn string
	// Skip is the number of lines before the header; empty means none.
	Skip string
	// Comment is the ASCII character that begins comment lines; empty means that there are none.
	Comment string
	// Thousands is the character that separates groups of three digits; empty means that there are
	// no groups.
	Thousands string
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
	optionNullIn          = "csv_null_in"
	optionSkip            = "csv_skip"
	optionComment         = "csv_comment"
	optionThousands       = "csv_thousands"
	optionHeader          = "csv_header"
	optionEncoding        = "csv_encoding"
	optionDecimal         = "csv_decimal"
	optionDateFormat      = "csv_date_format"
	optionTimestampFormat = "csv_timestamp_format"
	optionColumns         = "csv_columns"
)

// The values of the options header, decimal and null_in.
const (
	HeaderPresent = "present"
	HeaderAbsent  = "absent"
	DecimalPoint  = "point"
	DecimalComma  = "comma"
	NullAll       = "all"
	NullTyped     = "typed"
)

// MaxSkip is the largest number of lines that can be skipped.
const MaxSkip = 10_000

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

// named returns the options with their names in requests, in the order of the documentation.
func (o *Options) named() []namedOption {
	return []namedOption{
		{optionDelimiter, &o.Delimiter}, {optionQuote, &o.Quote}, {optionNull, &o.Null}, {optionNullIn, &o.NullIn},
		{optionHeader, &o.Header}, {optionSkip, &o.Skip}, {optionComment, &o.Comment}, {optionEncoding, &o.Encoding},
		{optionDecimal, &o.Decimal}, {optionThousands, &o.Thousands}, {optionDateFormat, &o.DateFormat},
		{optionTimestampFormat, &o.TimestampFormat}, {optionColumns, &o.Columns},
	}
}

// namedOption is an option with its name in requests.
type namedOption struct {
	name string
	text *string
}

// All yields the names of the options in requests, with their texts.
func (o Options) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, n := range o.named() {
			if !yield(n.name, *n.text) {
				return
			}
		}
	}
}

// Set sets the option with the given name in requests. It returns false if there is none.
func (o *Options) Set(name, text string) bool {
	for _, n := range o.named() {
		if n.name == name {
			*n.text = text
			return true
		}
	}
	return false
}

// Dialect returns the dialect. Errors are of type [*OptionError].
func (o Options) Dialect() (Dialect, error) {
	d := Dialect{Null: o.Null, NullTyped: o.NullIn == NullTyped, NoHeader: o.Header == HeaderAbsent, Encoding: Encoding(o.Encoding),
		DecimalComma: o.Decimal == DecimalComma, Thousands: o.Thousands}
	err := o.separators(&d)
	if err != nil {
		return d, err
	}
	switch {
	case !d.NullTyped && o.NullIn != "" && o.NullIn != NullAll:
		return d, &OptionError{optionNullIn, "must be all or typed"}
	case !d.NoHeader && o.Header != "" && o.Header != HeaderPresent:
		return d, &OptionError{optionHeader, "must be absent or present"}
	case !d.Encoding.valid():
		return d, &OptionError{optionEncoding, "must be utf-8, latin-1, windows-1252 or utf-16"}
	case !d.DecimalComma && o.Decimal != "" && o.Decimal != DecimalPoint:
		return d, &OptionError{optionDecimal, "must be point or comma"}
	}
	if d.Skip, err = lineCount(o.Skip); err != nil {
		return d, err
	}
	if err = d.checkThousands(); err != nil {
		return d, err
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

// separators sets the delimiter, the quote and the character of comments. They must differ, and the
// text for NULL must not have them where they would have their meaning.
func (o Options) separators(d *Dialect) (err error) {
	if d.Comma, err = character(optionDelimiter, o.Delimiter, 0); err != nil {
		return err
	}
	if d.Quote, err = character(optionQuote, o.Quote, '"'); err != nil {
		return err
	}
	if d.Comment, err = character(optionComment, o.Comment, 0); err != nil {
		return err
	}
	comma := d.withDefaults().Comma
	switch {
	case comma == d.Quote:
		return &OptionError{optionQuote, "must not be the delimiter"}
	case d.Comment == comma:
		return &OptionError{optionComment, "must not be the delimiter"}
	case d.Comment == d.Quote:
		return &OptionError{optionComment, "must not be the quote"}
	case strings.ContainsAny(o.Null, string([]byte{comma, d.Quote, '\r', '\n'})):
		return &OptionError{optionNull, "must hold no delimiter, quote or line end"}
	case d.Comment != 0 && strings.HasPrefix(o.Null, string(rune(d.Comment))):
		return &OptionError{optionNull, "must not begin with the character of comments"}
	}
	return nil
}

// lineCount parses the option csv_skip.
func lineCount(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > MaxSkip {
		return 0, &OptionError{optionSkip, "must be a whole number from 0 to " + strconv.Itoa(MaxSkip)}
	}
	return int(n), nil
}

// character returns the character that an option selects, or the default.
func character(option, text string, usual byte) (byte, error) {
	if text == "" {
		return usual, nil
	}
	if len(text) > 1 || !isCharacter(text[0]) {
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
