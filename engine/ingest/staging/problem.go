package staging

import (
	"bytes"
	"fmt"
	"iter"
	"unicode/utf8"
)

// MaxProblems is how many problems are described; all are counted.
const MaxProblems = 100

// Problem is a value that the table cannot hold unchanged.
type Problem struct {
	// Row is the index of the row in the body, or -1 for a problem of a whole
	// column.
	Row int64
	// Column is the column, with the path to the value inside of it: address.city,
	// tags[]. Empty means the row itself.
	Column string
	// Message describes what was expected. It repeats no value of the body.
	Message string
}

// Field returns the place as replies name it: rows[3].address.city.
func (p Problem) Field() string {
	field := "rows"
	if p.Row >= 0 {
		field = fmt.Sprintf("rows[%d]", p.Row)
	}
	if p.Column != "" {
		field += "." + p.Column
	}
	return field
}

// RowsError describes rows that the table cannot hold: 422. Nothing was staged.
type RowsError struct {
	// Total counts all problems.
	Total int64
	// Problems are the first 100, in the order of the body.
	Problems []Problem
}

// Error implements error.
func (e *RowsError) Error() string {
	return fmt.Sprintf("rows do not fit the table: %d problems", e.Total)
}

// FieldProblems yields the field and the message of each described problem.
func (e *RowsError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range e.Problems {
			if !yield(p.Field(), p.Message) {
				return
			}
		}
	}
}

// ProblemTotal returns the number of all problems.
func (e *RowsError) ProblemTotal() int64 { return e.Total }

// Add counts a problem and describes it if there is room.
func (e *RowsError) Add(row int64, column, message string) {
	e.Total++
	if len(e.Problems) < MaxProblems {
		e.Problems = append(e.Problems, Problem{Row: row, Column: column, Message: message})
	}
}

// Messages of problems that several formats report.
const (
	NamedTwice    = "is named twice"
	UnknownColumn = "unknown column"
	UnknownMember = "unknown member"
	NullKey       = "a key may not be NULL"
	SameKey       = "a key is there twice"
	// OutsideCalendar is that of days and instants which dates as text cannot say.
	OutsideCalendar = "the year is not from 0001 to 9999"
)

// maxShown bounds the length of a name of the body in a problem.
const maxShown = 128

// ShownName returns a name of the body as a problem shows it: as valid UTF-8, and cut if it is long.
func ShownName(name []byte) string {
	if len(name) > maxShown {
		name = append(bytes.Clone(name[:maxShown]), "…"...)
	}
	return string(bytes.ToValidUTF8(name, []byte(string(utf8.RuneError))))
}
