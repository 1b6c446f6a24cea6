package csvbody

import (
	"bytes"
	"io"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Records reads a body record by record. It is not safe for concurrent use.
type Records struct {
	scan    *scanner
	dialect Dialect
	null    []byte
	begun   bool
}

// NewRecords returns the records of a body. A record longer than rowBytes is an error. Errors
// are [staging.ErrDialect] and those of the body.
func NewRecords(body io.Reader, dialect Dialect, rowBytes int64) (*Records, error) {
	complete := dialect.withDefaults()
	if !complete.valid() {
		return nil, staging.ErrDialect
	}
	start, mark, err := staging.SkipMark(dialect.Encoding.NewReader(body))
	if err != nil {
		return nil, err
	}
	r := &Records{scan: newScanner(start, complete, rowBytes), dialect: dialect, null: []byte(dialect.Null)}
	r.scan.offset = mark
	return r, nil
}

// Next returns the next record, valid until the next call, and its length as UTF-8. An empty
// line is a record of one empty field. At the end it returns io.EOF. Other errors are those of
// the body, [*staging.SyntaxError], [*staging.CutError] and [*staging.LimitError], and
// [*OptionError] for an option that contradicts the delimiter that the body declares.
func (r *Records) Next() (fields []Field, size int64, err error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, 0, err
		}
		r.begun = true
	}
	return r.scan.next()
}

// Line returns the line, from 1, in which the record begins that Next returned last.
func (r *Records) Line() int64 { return r.scan.begun }

// NextLine returns the line in which the next record begins.
func (r *Records) NextLine() int64 { return r.scan.line }

// IsNull reports whether a field is NULL.
func (r *Records) IsNull(f Field) bool {
	return !f.quoted && (len(f.text) == 0 || len(r.null) > 0 && bytes.Equal(f.text, r.null))
}

// IsQuoted reports whether a field was quoted.
func (f Field) IsQuoted() bool { return f.quoted }

// IsQuotedEmpty reports whether a field is an empty text, which some writers use for NULL.
func (f Field) IsQuotedEmpty() bool { return f.quoted && len(f.text) == 0 }

// Text returns the text of a field, valid until the next call.
func (r *Records) Text(f Field) []byte { return r.scan.unquoted(f) }

// IsEmptyLine reports whether a record is an empty line and not a row. In a body of one
// column an empty line is a row with an empty field.
func IsEmptyLine(fields []Field, columns int) bool {
	return len(fields) == 1 && columns > 1 && len(fields[0].text) == 0 && !fields[0].quoted
}
