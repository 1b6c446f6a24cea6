package csvbody

import (
	"errors"
	"io"
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/jsonbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// decoder stages records as rows.
type decoder struct {
	*staging.Rows
	records *Records
	dialect Dialect
	// nested appends values of nested types, which fields hold as JSON.
	nested jsonbody.Values
	// targets are the columns of the fields, -1 for those that are ignored.
	targets []int
	// number holds a number without separators of thousands and with a decimal point.
	number []byte
	// lengths is the message for a record with more or fewer fields.
	lengths string
}

// Read stages the records of a body.
func Read(in *staging.Meter, dialect Dialect, rows *staging.Rows) error {
	records, err := NewRecords(in, dialect, rows.Limits.RowBytes)
	if err != nil {
		return err
	}
	c := &decoder{Rows: rows, records: records, dialect: dialect, nested: jsonbody.NewValues(rows)}
	if err := c.header(); err != nil {
		return err
	}
	for {
		fields, size, err := records.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.record(fields, size); err != nil {
			return err
		}
	}
}

// header finds the columns. A problem of the header is one of a whole column.
func (c *decoder) header() error {
	var names []Field
	if !c.dialect.NoHeader {
		var err error
		names, _, err = c.records.Next()
		if errors.Is(err, io.EOF) {
			return &staging.SyntaxError{Format: staging.CSV, Line: 1, Text: "no header line"}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case c.dialect.Columns != nil:
		c.lengths = "has another number of fields than csv_columns"
		if names != nil && len(names) != len(c.dialect.Columns) {
			c.ColumnProblem("", "the header has another number of fields than csv_columns")
		}
		for _, name := range c.dialect.Columns {
			c.targets = append(c.targets, c.listed(name))
		}
	case c.dialect.NoHeader:
		c.lengths = "has another number of fields than the table has columns"
		for i := range c.Columns {
			c.targets = append(c.targets, i)
			c.Heading(i)
		}
	default:
		c.lengths = "has another number of fields than the header"
		for _, f := range names {
			c.targets = append(c.targets, c.target(c.records.Text(f)))
		}
	}
	return c.Headed() // also of a body without rows
}

// listed returns the column of a name in csv_columns, -1 for a field to be skipped.
func (c *decoder) listed(name string) int {
	if name == "" {
		return -1
	}
	return c.target([]byte(name))
}

func (c *decoder) target(name []byte) int {
	i := c.Find(name)
	switch {
	case i < 0:
		c.ColumnProblem(staging.ShownName(name), staging.UnknownColumn)
	case !c.Heading(i):
		c.ColumnProblem(c.Columns[i].Name, staging.NamedTwice)
		return -1
	}
	return i
}

func (c *decoder) record(fields []Field, size int64) error {
	if IsEmptyLine(fields, len(c.targets)) {
		return nil
	}
	c.Begin()
	if err := c.Grow(size); err != nil {
		return err
	}
	if len(fields) != len(c.targets) {
		c.Problem("", c.lengths)
	}
	for place, i := range c.targets {
		if i < 0 {
			continue
		}
		cells := c.Column(i)
		if place >= len(fields) {
			cells.Null() // reported above
			continue
		}
		if err := c.take(cells, fields[place]); err != nil {
			return err
		}
	}
	return c.End()
}

// take appends the value of a field, or NULL with a problem.
func (c *decoder) take(cells *staging.Cells, f Field) error {
	if c.isNull(cells.Typ, f) {
		cells.Null()
		return nil
	}
	text := c.records.Text(f)
	if len(cells.Parts) > 0 {
		return c.nested.Append(cells, text)
	}
	if message := c.field(cells, text); message != "" {
		c.Problem(cells.Path, message)
		cells.Null()
	}
	return nil
}

// isNull reports whether a field is NULL in a column of a type.
func (c *decoder) isNull(t *staging.DataType, f Field) bool {
	switch {
	case !t.HasEmptyText():
		return c.records.IsNull(f) || f.IsQuotedEmpty()
	case c.dialect.NullTyped:
		return len(f.text) == 0 && !f.quoted
	}
	return c.records.IsNull(f)
}

// field appends the value of a text in the dialect. If it returns a message, nothing is
// appended.
func (c *decoder) field(cells *staging.Cells, text []byte) (message string) {
	dates, timestamps := c.dialect.DateFormat, c.dialect.TimestampFormat
	switch kind := cells.Typ.Kind; {
	case (c.dialect.DecimalComma || c.dialect.Thousands != "") && cells.Typ.IsNumber():
		var ok bool
		if c.number, ok = c.dialect.number(c.number[:0], text); !ok {
			return c.inDialect(cells.Typ.Expects())
		}
		return c.inDialect(cells.Field(c.number))
	case dates != nil && kind == staging.KindDate:
		days, ok := dates.Date(text)
		if !ok {
			return "expected a date of the form " + dates.text
		}
		cells.Date(days)
		return ""
	case timestamps != nil && (kind == staging.KindTimestamp || kind == staging.KindTimestampNTZ):
		micros, ok := timestamps.Timestamp(text)
		switch {
		case timestamps.hasOffset != (kind == staging.KindTimestamp):
			return cells.Typ.Expects()
		case !ok:
			return "expected a timestamp of the form " + timestamps.text
		}
		cells.Timestamp(micros)
		return ""
	}
	return cells.Field(text)
}

// inDialect returns a message about a number with the name of the dialect's decimal separator.
func (c *decoder) inDialect(message string) string {
	if c.dialect.DecimalComma {
		return strings.Replace(message, "the point", "the comma", 1)
	}
	return message
}
