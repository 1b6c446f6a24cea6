package csvinfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// maxProblems is how many problems are described; all are counted.
const maxProblems = 100

// maxColumns is the largest number of columns that a request for a new table may have.
const maxColumns = 10_000

// maxColumnsOption bounds the option csv_columns as part of a URL.
const maxColumnsOption = 6000

// Request describes a spooled file.
type Request struct {
	// Given are the options that the caller has set.
	Given csvbody.Options
	// Encoding is that of [Spooled].
	Encoding csvbody.Encoding
	// Proposed is what the engine has found; the zero value proposes nothing.
	Proposed Proposal
	// Rows is the largest number of rows of one load, 0 for any.
	Rows int64
	// RowBytes bounds the length of a record; 0 means the default of package staging.
	RowBytes int64
}

// inference is one reading of a file. It belongs to one goroutine.
type inference struct {
	records      *csvbody.Records
	dates, times []timeForm
	columns      []*column
	header       []string
	// counted is the memory of distinct values.
	counted int64
	rows    int64
	// begun is the line of the first record, first the line of the first row.
	begun, first int64
	// nullOf returns value if it may be a text for NULL, or "". nullGiven is the text for NULL that
	// the caller has given, if it does not mean NULL in columns of text.
	nullOf    func(value []byte) string
	nullGiven string
	comments  comments
	quote     byte
	guesses   []Problem
	out       Inferred
}

func (in *inference) problem(line int64, message string) {
	in.out.Total++
	if len(in.out.Problems) < maxProblems {
		in.out.Problems = append(in.out.Problems, Problem{line, message})
	}
}

// guessed reports a guess. Guesses precede the other problems, which may be too many to be listed.
func (in *inference) guessed(line int64, message string) {
	in.out.Total++
	in.guesses = append(in.guesses, Problem{line, message})
}

// Infer reads a file to its end. Errors are those of the context and of body,
// [*csvbody.OptionError] for options that are invalid, and [*staging.SyntaxError] and
// [*staging.CutError] for a file that is not CSV.
func Infer(ctx context.Context, body io.Reader, req Request) (*Inferred, error) {
	options := req.options()
	dialect, err := options.Dialect()
	if err != nil {
		return nil, err
	}
	limit := staging.Limits{RowBytes: req.RowBytes}.WithDefaults().RowBytes
	in := &inference{
		dates: formsFor(dialect.DateFormat, req.Proposed.DateFormat, []timeForm{{}}, dateForms),
		times: formsFor(dialect.TimestampFormat, req.Proposed.TimestampFormat, []timeForm{{}, {offset: true}}, timeForms),
	}
	reading := dialect
	switch {
	case req.Given.Null == "":
		in.nullOf = nullText[[]byte]
	case dialect.NullTyped: // the type of the column decides
		in.nullGiven, reading.Null = req.Given.Null, ""
		in.nullOf = in.givenNull
	default:
		in.nullOf = func([]byte) string { return "" }
	}
	meter := staging.NewMeter(ctx, body, 0)
	if in.records, err = csvbody.NewRecords(meter, reading, limit); err == nil {
		if req.Given.Comment == "" {
			in.quote = dialect.Quote
			in.records.OnComment(in.comment)
		}
		err = in.read(dialect, limit, req.Rows)
	}
	if err != nil {
		var long *staging.LimitError
		if errors.As(err, &long) {
			err = tooLong(in.records.NextLine(), long.Limit)
		}
		return nil, meter.Cut(err, staging.CSV)
	}
	if dialect.Comma = in.records.Comma(); options.Delimiter == "" {
		options.Delimiter = string(rune(dialect.Comma))
	}
	in.reportLead(req.Given, dialect)
	return in.finish(options, dialect), nil
}

// tooLong is the error for a record that a load refuses.
func tooLong(line, limit int64) error {
	return &staging.SyntaxError{Format: staging.CSV, Line: line, Offset: -1, Text: fmt.Sprintf("a line is longer than %d bytes", limit)}
}

// options returns the given options, completed by what was found at the beginning of the file.
func (r Request) options() csvbody.Options {
	o := r.Given
	o.Columns = ""
	if o.Encoding == "" && r.Encoding != csvbody.UTF8 {
		o.Encoding = string(r.Encoding)
	}
	lead := r.Proposed.Lead
	if o.Delimiter == "" {
		o.Delimiter = cmp.Or(lead.Delimiter, r.Proposed.Delimiter)
	}
	if o.Skip == "" && lead.Skip > 0 {
		o.Skip = strconv.Itoa(lead.Skip)
	}
	if o.Quote == "" {
		o.Quote = r.Proposed.Quote
	}
	if o.Header == "" && r.Proposed.NoHeader {
		o.Header = csvbody.HeaderAbsent
	}
	if o.Quote == o.Delimiter && r.Given.Quote == "" {
		o.Quote = "" // a given delimiter that was proposed as the quote
	}
	if o.Comment == "" && lead.Comment != "" {
		o.Comment = lead.Comment
		if _, err := o.Dialect(); err != nil {
			o.Comment = "" // it clashes with another option
		}
	}
	return o
}

func (in *inference) read(dialect csvbody.Dialect, rowBytes, maxRows int64) error {
	for begun := false; ; {
		fields, size, err := in.records.Next()
		if errors.Is(err, io.EOF) {
			if !begun {
				return &staging.SyntaxError{Format: staging.CSV, Line: 1, Offset: -1, Text: "the file has no line"}
			}
			return nil
		}
		if err == nil && size > rowBytes { // a load refuses it too
			err = tooLong(in.records.Line(), rowBytes)
		}
		if err != nil {
			return err
		}
		if !begun {
			begun = true
			in.begun = in.records.Line()
			in.begin(fields, dialect.NoHeader)
			if !dialect.NoHeader {
				continue
			}
		}
		if csvbody.IsEmptyLine(fields, len(in.columns)) {
			continue
		}
		in.row(fields, maxRows)
	}
}

// begin makes the columns from the first record.
func (in *inference) begin(fields []csvbody.Field, noHeader bool) {
	for _, f := range fields {
		in.columns = append(in.columns, newColumn(in))
		name := ""
		if !noHeader {
			name = string(in.records.Text(f))
		}
		in.header = append(in.header, name)
	}
	if len(fields) > maxColumns {
		in.problem(1, fmt.Sprintf("the file has %d columns; a table can be created with at most %d", len(fields), maxColumns))
	}
}

func (in *inference) row(fields []csvbody.Field, maxRows int64) {
	if in.rows++; in.rows == 1 {
		in.first = in.records.Line()
	}
	if in.rows-1 == maxRows && maxRows > 0 {
		in.problem(in.records.Line(), fmt.Sprintf("one request loads at most %d rows: split the file before this line", maxRows))
	}
	if len(fields) != len(in.columns) {
		in.problem(in.records.Line(), fmt.Sprintf("%d fields; the first line has %d", len(fields), len(in.columns)))
		fields = fields[:min(len(fields), len(in.columns))]
	}
	for i, f := range fields {
		switch {
		case f.IsQuotedEmpty():
			in.columns[i].empty++
		case !in.records.IsNull(f):
			in.columns[i].add(in.records.Text(f), f.IsQuoted())
		}
	}
}

// decision holds what is decided for the whole file.
type decision struct {
	// separator is the decimal separator.
	separator byte
	// thousands is the separator of thousands, or "". given reports that the caller has named it.
	thousands string
	given     bool
	// date and timestamp are the indexes of the forms.
	date, timestamp int
}

// decide decides for the whole file. chooseForms returns the indexes of the forms.
func (in *inference) decide(options csvbody.Options, dialect csvbody.Dialect, chooseForms func() (date, timestamp int)) decision {
	d := decision{thousands: options.Thousands, given: options.Thousands != ""}
	if !d.given {
		d.thousands = in.chooseThousands(options)
	}
	d.separator = in.separator(options, dialect, d)
	d.date, d.timestamp = chooseForms()
	return d
}

// finish decides what holds for the whole file.
func (in *inference) finish(options csvbody.Options, dialect csvbody.Dialect) *Inferred {
	null := in.decideNull(in.decide(options, dialect, func() (int, int) {
		date, timestamp, _, _ := in.chooseForms()
		return date, timestamp
	}))
	d := in.decide(options, dialect, in.reportForms)
	date, timestamp, separator := d.date, d.timestamp, d.separator
	options.Thousands = d.thousands
	if options.DateFormat == "" {
		options.DateFormat = in.used(date, in.dates, func(c *column) forms { return c.dates })
	}
	if options.TimestampFormat == "" {
		options.TimestampFormat = in.used(timestamp, in.times, func(c *column) forms { return c.times })
	}
	if separator == ',' {
		options.Decimal = csvbody.DecimalComma
	}
	if options.Header == "" && !dialect.NoHeader && in.headerOfNumbers() {
		in.problem(1, "the first line holds numbers only, so that it can be the names or a row: set csv_header to present or absent")
	}
	names := tableNames(in.header)
	if !dialect.NoHeader && !found(in.header, names) {
		options.Columns = csvbody.ColumnList(names)
		if len(url.QueryEscape(options.Columns)) > maxColumnsOption {
			in.problem(1, "the names of the columns are too long for csv_columns: shorten them, without characters that tables do not allow")
		}
	}
	for i, c := range in.columns {
		column := Column{Name: names[i], Type: c.typ(d), Nullable: c.values-c.nulls.count < in.rows || in.rows == 0}
		if column.Type.Kind == Text { // an empty text is one of its values
			column.Nullable = c.values+c.empty < in.rows || in.rows == 0
		}
		if column.Type.Kind == Text && !c.invalid {
			column.Values = c.candidates()
		}
		if column.Type.Kind != Text && !d.given && c.numbersOf(d.thousands, false) == &c.groups.numbers && !c.groups.sure() {
			in.guessed(in.first, fmt.Sprintf("%s is taken for the separator of thousands in the column %s: set csv_thousands",
				d.thousands, column.Name))
		}
		in.out.Columns = append(in.out.Columns, column)
	}
	in.reportNull(null, &options, in.out.Columns)
	for text, value := range defaults(&options) {
		if *text == value {
			*text = ""
		}
	}
	in.out.Options, in.out.Rows = options, in.rows
	in.out.Problems = append(in.guesses, in.out.Problems...)
	in.out.Problems = in.out.Problems[:min(len(in.out.Problems), maxProblems)]
	return &in.out
}

// headerOfNumbers reports whether every name in the header is a number.
func (in *inference) headerOfNumbers() bool {
	numbers := 0
	for _, text := range in.header {
		if f, ok := parseNumber([]byte(text)); text != "" && (!ok || !f.finite) {
			return false
		} else if text != "" {
			numbers++
		}
	}
	return numbers > 0
}

// separator returns the decimal separator: a given one, or a comma if more columns have it and
// it does not separate the fields.
func (in *inference) separator(options csvbody.Options, dialect csvbody.Dialect, d decision) byte {
	switch {
	case options.Decimal == csvbody.DecimalComma || d.thousands == ".":
		return ','
	case options.Decimal != "" || d.thousands == ",":
		return '.'
	case dialect.Comma == ',':
		return '.'
	}
	points, commas := 0, 0
	for _, c := range in.columns {
		numbers := c.numbersOf(d.thousands, d.given)
		switch {
		case !numbers.possible || !c.isCandidate():
		case numbers.separator == '.':
			points++
		case numbers.separator == ',':
			commas++
		}
	}
	if commas > points {
		return ','
	}
	return '.'
}

// chooseForms returns the indexes of the forms of dates and timestamps, and of the forms that fit as
// many columns with day and month exchanged, or -1.
func (in *inference) chooseForms() (date, timestamp, swappedDate, swappedTimestamp int) {
	var dates, times []forms
	for _, c := range in.columns {
		if c.isCandidate() {
			dates, times = append(dates, c.dates), append(times, c.times)
		}
	}
	date, swappedDate = choose(in.dates, dates)
	timestamp, swappedTimestamp = choose(in.times, times)
	return date, timestamp, swappedDate, swappedTimestamp
}

// reportForms is [inference.chooseForms], and also reports forms that leave open which number is the
// day.
func (in *inference) reportForms() (date, timestamp int) {
	date, timestamp, swappedDate, swappedTimestamp := in.chooseForms()
	in.ambiguous("csv_date_format", in.dates, date, swappedDate)
	in.ambiguous("csv_timestamp_format", in.times, timestamp, swappedTimestamp)
	return date, timestamp
}

func (in *inference) ambiguous(option string, list []timeForm, chosen, swapped int) {
	if swapped < 0 {
		return
	}
	in.problem(in.first, fmt.Sprintf("every day is at most 12, so that the order of day and month is unknown: set %s to %s or %s", option,
		list[chosen].text(), list[swapped].text()))
}

// used returns the text of the chosen form if a column is in it.
func (in *inference) used(chosen int, list []timeForm, set func(*column) forms) string {
	for _, c := range in.columns {
		if c.isCandidate() && in.heldBy(set(c), list, chosen) >= 0 {
			return list[chosen].text()
		}
	}
	return ""
}

// defaults yields the options that have a default, with the default.
func defaults(o *csvbody.Options) iter.Seq2[*string, string] {
	return func(yield func(*string, string) bool) {
		_ = yield(&o.Delimiter, ",") && yield(&o.Quote, `"`) && yield(&o.Header, csvbody.HeaderPresent) &&
			yield(&o.Encoding, string(csvbody.UTF8)) && yield(&o.Decimal, csvbody.DecimalPoint) && yield(&o.NullIn, csvbody.NullAll) &&
			yield(&o.Skip, "0")
	}
}

// Dialect returns the options with their defaults.
func (i *Inferred) Dialect() csvbody.Options {
	o := i.Options
	for text, value := range defaults(&o) {
		*text = cmp.Or(*text, value)
	}
	return o
}
