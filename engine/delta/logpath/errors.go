package logpath

import (
	"errors"
	"fmt"
)

// ErrUnsafePath: a path of the log leaves the table's folder, or is not a path at all.
// Returned by [Decode] and [Sidecar]. Not retried: the table is refused with 409.
var ErrUnsafePath = errors.New("unsafe path in delta log")

// ErrElsewhere is the [ErrUnsafePath] of a path that is absolute or has a scheme, as
// other engines write for files in another folder. Returned by [Decode] and [Sidecar],
// and by [Outside] for a path that does not lead into the table's folder. Not retried:
// 409.
var ErrElsewhere = fmt.Errorf("absolute path: %w", ErrUnsafePath)
