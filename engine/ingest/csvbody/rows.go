package csvbody

import (
	"bytes"
	"errors"
	"io"

	"github.com/lakewarden/lakewarden/engine/ingest/jsonbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// decoder stages records as rows.
type decoder struct {
	*staging.Rows
	scan *scanner
	// nested appends values of nested types, which fields hold as JSON.
	nested jsonbody.Values
	null   []byte
	// targets are the columns of the fields, -1 for those that are ignored.
	targets []int
	plain   []byte
	// lengths is the message for a record with more or fewer fields.
	lengths string
}

// Read stages the records of a body.
func Read(in *staging.Meter, dialect Dialect, rows *staging.Rows) error {
	dialect = dialect.withDefaults()
	if !dialect.valid() {
		return staging.ErrDialect
	}
	start, mark, err := staging.SkipMark(in)
	if err != nil {
		return err
	}
	c := &decoder{
		Rows: rows, nested: jsonbody.NewValues(rows),
		scan: newScanner(start, dialect, rows.Limits.RowBytes),
		null: []byte(dialect.Null),
	}
	c.scan.offset = mark
	if err := c.header(dialect.NoHeader); err != nil {
		return err
	}
	for {
		fields, size, err := c.scan.next()
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
func (c *decoder) header(none bool) error {
	c.lengths = "has another number of fields than the header"
	if none {
		c.lengths = "has another number of fields than the table has columns"
		for i := range c.Columns {
			c.targets = append(c.targets, i)
			c.Heading(i)
		}
	} else {
		fields, _, err := c.scan.next()
		if errors.Is(err, io.EOF) {
			return &staging.SyntaxError{Format: staging.CSV, Line: 1, Text: "no header line"}
		}
		if err != nil {
			return err
		}
		for _, f := range fields {
			c.targets = append(c.targets, c.target(c.unquoted(f)))
		}
	}
	return c.Headed() // also of a body without rows
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

func (c *decoder) record(fields []textField, size int64) error {
	if len(fields) == 1 && len(c.targets) > 1 && len(fields[0].text) == 0 && !fields[0].quoted {
		return nil // an empty line
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
			cells.Null() // told above
			continue
		}
		if err := c.take(cells, fields[place]); err != nil {
			return err
		}
	}
	return c.End()
}

// take appends the value of a field, or NULL with a problem.
func (c *decoder) take(cells *staging.Cells, f textField) error {
	if !f.quoted && (len(f.text) == 0 || len(c.null) > 0 && bytes.Equal(f.text, c.null)) {
		cells.Null()
		return nil
	}
	text := c.unquoted(f)
	if len(cells.Parts) > 0 {
		return c.nested.Append(cells, text)
	}
	if message := cells.Field(text); message != "" {
		c.Problem(cells.Path, message)
		cells.Null()
	}
	return nil
}

// unquoted returns the text of a field, valid until the next call.
func (c *decoder) unquoted(f textField) []byte {
	if !f.doubled {
		return f.text
	}
	c.plain = c.plain[:0]
	quote := c.scan.quote
	for rest := f.text; ; {
		i := bytes.IndexByte(rest, quote)
		if i < 0 {
			c.plain = append(c.plain, rest...)
			return c.plain
		}
		c.plain = append(c.plain, rest[:i+1]...)
		rest = rest[i+2:]
	}
}
