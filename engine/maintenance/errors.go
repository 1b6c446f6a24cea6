package maintenance

import (
	"errors"
	"fmt"
)

var (
	// ErrRetention: a vacuum asks for less retention than the table promises, and
	// does not insist. 422 with field retention_hours.
	ErrRetention = errors.New("retention is shorter than the table's")
	// ErrZOrder: see [ZOrderError]. 422 with field zorder_by.
	ErrZOrder = errors.New("column cannot be z-ordered")
	// ErrRowsDiffer: the files that were written do not hold as many rows as the
	// log counts in those that they replace. Nothing was committed. 409: the log is
	// wrong.
	ErrRowsDiffer = errors.New("rewritten files have another number of rows")
)

// ZOrderError says which of the columns cannot be ordered by. It matches
// [ErrZOrder].
type ZOrderError struct {
	// At is the position in the list of columns.
	At int
	// Reason completes a sentence about the column.
	Reason string
}

func (e *ZOrderError) Error() string { return fmt.Sprintf("z-order column %d %s", e.At, e.Reason) }

// Is matches [ErrZOrder].
func (e *ZOrderError) Is(target error) bool { return target == ErrZOrder }
