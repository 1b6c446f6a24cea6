package maintenance

import (
	"errors"
	"fmt"
)

var (
	// ErrRetention: a vacuum was asked for a retention shorter than the table's,
	// without AllowShortRetention. 422 with field retention_hours.
	ErrRetention = errors.New("retention is shorter than the table's")
	// ErrZOrder: see [ZOrderError]. 422 with field zorder_by.
	ErrZOrder = errors.New("column cannot be z-ordered")
	// ErrRowsDiffer: the written files have a different number of rows than the log
	// reports for the files that they replace. Nothing was committed. 409: the log
	// is wrong.
	ErrRowsDiffer = errors.New("rewritten files have a different number of rows")
)

// ZOrderError says which column cannot be part of the Z-order. It matches
// [ErrZOrder].
type ZOrderError struct {
	// At is the column's index in the list of columns.
	At int
	// Reason completes a sentence about the column.
	Reason string
}

func (e *ZOrderError) Error() string { return fmt.Sprintf("z-order column %d %s", e.At, e.Reason) }

// Is matches [ErrZOrder].
func (e *ZOrderError) Is(target error) bool { return target == ErrZOrder }
