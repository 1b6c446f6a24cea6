package dml

import (
	"errors"
	"fmt"
	"iter"
)

var (
	// ErrHiddenMatch: a row of a merge has the key of a row that its writer does
	// not see: 403 rls_violation. Not retried.
	ErrHiddenMatch = errors.New("merge meets a hidden row")
	// ErrNotListed: the table is one of which rows cannot be pointed at, so rows of
	// it cannot be changed one by one: 409. Not retried.
	ErrNotListed = errors.New("rows of the table cannot be changed in place")
)

// Kind says what new rows break.
type Kind int

// The kinds, in the order in which they are looked for.
const (
	// BrokenRule: NOT NULL or a CHECK: 422.
	BrokenRule Kind = iota
	// BrokenFilter: the writer would not see the row: 403.
	BrokenFilter
	// KeyTaken: another row of the table has the key: 409.
	KeyTaken
	// KeyRepeated: two of the new rows have one key: 422.
	KeyRepeated
)

// Breach is one new row that may not be written.
type Breach struct {
	// Row is the index in the request's rows, or -1 when they are not numbered.
	Row int64
	// Column is empty when the breach is about several columns or none.
	Column string
	// Message is in our own words and holds no value.
	Message string
}

// RowsError are new rows that may not be written. Nothing was.
type RowsError struct {
	Kind Kind
	// Total counts all breaches of the kind.
	Total int64
	// Breaches are the first hundred.
	Breaches []Breach
	// Quiet leaves the breaches out of replies: they would tell of rows that the
	// writer does not see.
	Quiet bool
}

// Error implements error.
func (e *RowsError) Error() string {
	return fmt.Sprintf("%d new rows may not be written (kind %d)", e.Total, e.Kind)
}

// ProblemCode names the line in the table of errors.
func (e *RowsError) ProblemCode() string {
	return [...]string{"rule_violation", "rls_violation", "key_conflict", "duplicate_key"}[e.Kind]
}

// FieldProblems names the rows. What is the same of several is said once: rows of
// the table have no number.
func (e *RowsError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.Quiet {
			return
		}
		said := map[Breach]bool{}
		for _, b := range e.Breaches {
			if said[b] {
				continue
			}
			said[b] = true
			if !yield(b.field(), b.Message) {
				return
			}
		}
	}
}

// ProblemTotal is the number of all breaches, or 0 where it would tell of rows
// that the writer does not see.
func (e *RowsError) ProblemTotal() int64 {
	if e.Quiet {
		return 0
	}
	return e.Total
}

func (b Breach) field() string {
	field := "set"
	if b.Row >= 0 {
		field = fmt.Sprintf("rows[%d]", b.Row)
	}
	if b.Column != "" {
		field += "." + b.Column
	}
	return field
}
