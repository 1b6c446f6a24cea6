package dml

import (
	"errors"
	"fmt"
	"iter"
)

var (
	// ErrHiddenMatch: a row of a merge has the key of a row that the writer does
	// not see: 403 rls_violation. Not retried.
	ErrHiddenMatch = errors.New("merge meets a hidden row")
	// ErrNotListed: the table cannot be read as a list of files with row positions,
	// so its rows cannot be changed one by one: 409. Not retried.
	ErrNotListed = errors.New("rows of the table cannot be changed in place")
)

// Kind classifies why new rows were refused.
type Kind int

// The kinds, in the order in which they are checked.
const (
	// BrokenRule: a row violates NOT NULL, a CHECK constraint or a domain: 422.
	BrokenRule Kind = iota
	// BrokenFilter: the writer would not see the new row: 403.
	BrokenFilter
	// KeyTaken: another row of the table has the same key: 409.
	KeyTaken
	// KeyRepeated: two new rows, or keys of rows to delete, have the same key: 422.
	KeyRepeated
)

// Breach is one new row, or one key of rows to delete, that was refused.
type Breach struct {
	// Row is the row's index in the request, or -1 if the request does not number
	// the affected rows.
	Row int64
	// Column is empty if the breach concerns several columns or none.
	Column string
	// Message is safe to return: it contains no values.
	Message string
	// Deletes reports that Row is the index of a key of [MergeRows.Delete].
	Deletes bool
}

// RowsError reports new rows that were refused. Nothing was written.
type RowsError struct {
	Kind Kind
	// Total is the number of all breaches of the kind.
	Total int64
	// Breaches holds the first hundred.
	Breaches []Breach
	// Quiet leaves the breaches out of replies because they would reveal rows that
	// the writer does not see.
	Quiet bool
}

// Error implements error.
func (e *RowsError) Error() string {
	return fmt.Sprintf("%d new rows may not be written (kind %d)", e.Total, e.Kind)
}

// ProblemCode returns the error's code in the table of errors.
func (e *RowsError) ProblemCode() string {
	return [...]string{"rule_violation", "rls_violation", "key_conflict", "duplicate_key"}[e.Kind]
}

// FieldProblems yields the field and the message of each breach. Equal breaches, of
// rows without an index, are yielded once.
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

// ProblemTotal returns the number of all breaches, or 0 if it would reveal rows
// that the writer does not see.
func (e *RowsError) ProblemTotal() int64 {
	if e.Quiet {
		return 0
	}
	return e.Total
}

func (b Breach) field() string {
	field := "set"
	switch {
	case b.Deletes:
		field = fmt.Sprintf("delete[%d]", b.Row)
	case b.Row >= 0:
		field = fmt.Sprintf("rows[%d]", b.Row)
	}
	if b.Column != "" {
		field += "." + b.Column
	}
	return field
}
