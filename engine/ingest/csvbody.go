package ingest

import (
	"bytes"
	"errors"
	"io"
)

// csvRows turns records into rows.
type csvRows struct {
	*rows
	scan *csvScanner
	// nested appends values of nested types, which fields hold as JSON.
	nested jsonValues
	null   []byte
	// targets are the columns of the fields, -1 for those that are left out.
	targets []int
	plain   []byte
	// lengths is what is said of a record with more or fewer fields.
	lengths string
}

// readCSV stages records.
func readCSV(in *meter, dialect Dialect, rows *rows) error {
	dialect = dialect.withDefaults()
	if !dialect.valid() {
		return ErrDialect
	}
	start, mark, err := skipMark(in)
	if err != nil {
		return err
	}
	c := &csvRows{
		rows: rows, nested: newJSONValues(rows),
		scan: newCSVScanner(start, dialect, rows.limits.RowBytes),
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
func (c *csvRows) header(none bool) error {
	c.lengths = "has another number of fields than the header"
	if none {
		c.lengths = "has another number of fields than the table has columns"
		for i := range c.columns {
			c.targets = append(c.targets, i)
			c.heading(i)
		}
	} else {
		fields, _, err := c.scan.next()
		if errors.Is(err, io.EOF) {
			return &SyntaxError{Format: CSV, Line: 1, Text: "no header line"}
		}
		if err != nil {
			return err
		}
		for _, f := range fields {
			c.targets = append(c.targets, c.target(c.unquoted(f)))
		}
	}
	return c.headed() // also of a body without rows
}

func (c *csvRows) target(name []byte) int {
	i := c.find(name)
	switch {
	case i < 0:
		c.columnProblem(shownName(name), unknownColumn)
	case !c.heading(i):
		c.columnProblem(c.columns[i].Name, namedTwice)
		return -1
	}
	return i
}

func (c *csvRows) record(fields []csvField, size int64) error {
	if len(fields) == 1 && len(c.targets) > 1 && len(fields[0].text) == 0 && !fields[0].quoted {
		return nil // an empty line
	}
	c.begin()
	if err := c.grow(size); err != nil {
		return err
	}
	if len(fields) != len(c.targets) {
		c.problem("", c.lengths)
	}
	for place, i := range c.targets {
		if i < 0 {
			continue
		}
		cells := c.column(i)
		if place >= len(fields) {
			cells.null() // told above
			continue
		}
		if err := c.take(cells, fields[place]); err != nil {
			return err
		}
	}
	return c.end()
}

// take appends the value of a field, or NULL with a problem.
func (c *csvRows) take(cells *cells, f csvField) error {
	if !f.quoted && (len(f.text) == 0 || len(c.null) > 0 && bytes.Equal(f.text, c.null)) {
		cells.null()
		return nil
	}
	text := c.unquoted(f)
	if len(cells.parts) > 0 {
		return c.nested.append(cells, text)
	}
	if message := cells.field(text); message != "" {
		c.problem(cells.path, message)
		cells.null()
	}
	return nil
}

// unquoted is the text of a field, valid until the next call.
func (c *csvRows) unquoted(f csvField) []byte {
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
