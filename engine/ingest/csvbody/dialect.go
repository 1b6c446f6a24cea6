package csvbody

import "strconv"

// Dialect describes how a CSV body is written. The zero value is RFC 4180 in UTF-8, with a
// header line. [Options.Dialect] makes one from the texts of a request.
type Dialect struct {
	// Comma separates fields: one byte below 128; 0 means the one that the first line of the body
	// declares, or a comma.
	Comma byte
	// Quote encloses fields, and is doubled within: 0 means a double quote.
	Quote byte
	// Null is a text that means NULL in a field without quotes, in addition to the empty text.
	Null string
	// NullTyped reports that Null means NULL only in columns that are neither text nor binary.
	NullTyped bool
	// Skip is the number of lines before the header, not counting one that declares the delimiter.
	Skip int
	// Comment is the character that begins comment lines: one byte below 128; 0 means that there are
	// none.
	Comment byte
	// Thousands separates groups of three digits in the whole part of numbers; empty means that
	// there are no groups.
	Thousands string
	// NoHeader reports that the first line is a row.
	NoHeader bool
	// Encoding is the encoding of the body; empty means UTF-8.
	Encoding Encoding
	// DecimalComma reports that numbers have a comma in place of the decimal point.
	DecimalComma bool
	// DateFormat and TimestampFormat are the forms of dates and timestamps; nil means ISO 8601.
	DateFormat, TimestampFormat *TimeFormat
	// Columns are the columns of the table for the fields of a record, empty for fields to be
	// skipped. If it is nil, the header names the columns, or without one the fields are in the
	// order of the table.
	Columns []string
}

// valid reports whether the dialect can be read.
func (d Dialect) valid() bool {
	for _, b := range []byte{d.Comma, d.Quote, d.Comment} {
		if b == '\n' || b == '\r' || b >= 0x80 {
			return false
		}
	}
	return d.Comma != d.Quote && d.Comment != d.Comma && d.Comment != d.Quote && d.Encoding.valid()
}

func (d Dialect) withDefaults() Dialect {
	if d.Comma == 0 {
		d.Comma = ','
	}
	if d.Quote == 0 {
		d.Quote = '"'
	}
	return d
}

// Words returns texts that identify the dialect, none for RFC 4180 in UTF-8 with a header line.
func (d Dialect) Words() []string {
	d = d.withDefaults()
	var words []string
	if d.Comma != ',' || d.Quote != '"' || d.Null != "" || d.NoHeader {
		words = append(words, "csv", string([]byte{d.Comma, d.Quote}), d.Null, strconv.FormatBool(d.NoHeader))
	}
	if d.Encoding != "" && d.Encoding != UTF8 {
		words = append(words, "encoding", string(d.Encoding))
	}
	if d.DecimalComma {
		words = append(words, DecimalComma)
	}
	for _, p := range [][2]string{{"skip", skipText(d.Skip)}, {"comment", characterText(d.Comment)}, {"thousands", d.Thousands}} {
		if p[1] != "" {
			words = append(words, p[0], p[1])
		}
	}
	if d.NullTyped {
		words = append(words, "null", NullTyped)
	}
	if d.DateFormat != nil {
		words = append(words, "date", d.DateFormat.text)
	}
	if d.TimestampFormat != nil {
		words = append(words, "timestamp", d.TimestampFormat.text)
	}
	if d.Columns != nil {
		words = append(words, "columns", ColumnList(d.Columns))
	}
	return words
}

// skipText returns the text of the option csv_skip.
func skipText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// characterText returns the text of an option of one character.
func characterText(b byte) string {
	if b == 0 {
		return ""
	}
	return string(rune(b))
}
