package staging

import (
	"errors"
	"fmt"
)

// Errors of a body; test with errors.Is. A retry with the same body cannot succeed.
var (
	// ErrTruncated is returned for a body that ends in the middle; a [CutError] has the place.
	// 400.
	ErrTruncated = errors.New("body is cut off")
	// ErrTooLarge is returned if the body, a row, a batch or the staged file exceeds its
	// limit; a [LimitError] has the limit. 413.
	ErrTooLarge = errors.New("body is too large")
	// ErrTooDeep is returned for a value that is nested deeper than the limit. 400.
	ErrTooDeep = errors.New("body is nested too deep")
	// ErrNoRows is returned for a body without a list of rows. 422, field rows.
	ErrNoRows = errors.New("body has no list of rows")
	// ErrUnsupportedType is returned for a table with a column whose type bodies cannot fill.
	// 409.
	ErrUnsupportedType = errors.New("column type cannot be written")
	// ErrDialect is returned for a CSV dialect whose separators are not distinct. 422.
	ErrDialect = errors.New("separators of the CSV dialect cannot be told apart")
)

// LimitedRows is the What of a [LimitError] about the number of rows.
const LimitedRows = "rows"

// LimitError matches [ErrTooLarge].
type LimitError struct {
	// What is counted: "body bytes", "rows", "row bytes", "batch bytes",
	// "staged bytes", "member bytes", "members", "column sets".
	What string
	// Limit is the largest number allowed.
	Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: more than %d %s", ErrTooLarge, e.Limit, e.What)
}

// Is matches [ErrTooLarge].
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// CutError matches [ErrTruncated].
type CutError struct {
	// Line is the line in which the body ends, from 1; 0 for formats without lines.
	Line int64
	// RowLine is the line in which the incomplete row begins, 0 if it is unknown.
	RowLine int64
	// Offset is the length of the body in bytes.
	Offset int64
}

// Error implements error. It holds nothing of the body.
func (e *CutError) Error() string {
	switch {
	case e.Offset == 0:
		return "the body is empty"
	case e.Line == 0:
		return fmt.Sprintf("the body is cut off: byte %d", e.Offset)
	case e.RowLine == 0 || e.RowLine == e.Line:
		return fmt.Sprintf("the body is cut off: line %d (byte %d)", e.Line, e.Offset)
	}
	return fmt.Sprintf("the body is cut off: line %d (byte %d), in the row that begins at line %d", e.Line, e.Offset, e.RowLine)
}

// Is matches [ErrTruncated].
func (e *CutError) Is(target error) bool { return target == ErrTruncated }

// SyntaxError is a body that violates its format: 400. Its text repeats nothing of the body.
type SyntaxError struct {
	Format Format
	// Line counts from 1; it is 0 for formats without lines.
	Line int64
	// Offset is the number of bytes before the place, -1 when it is not known.
	Offset int64
	// Text describes the violation.
	Text string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	switch {
	case e.Line > 0 && e.Offset >= 0:
		return fmt.Sprintf("body is no %s: line %d (byte %d): %s", e.Format, e.Line, e.Offset, e.Text)
	case e.Line > 0:
		return fmt.Sprintf("body is no %s: line %d: %s", e.Format, e.Line, e.Text)
	case e.Offset >= 0:
		return fmt.Sprintf("body is no %s: byte %d: %s", e.Format, e.Offset, e.Text)
	}
	return fmt.Sprintf("body is no %s: %s", e.Format, e.Text)
}
