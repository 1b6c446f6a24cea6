package logpath

import (
	"errors"
	"fmt"
)

// ErrUnsafePath: a path of the log leads out of the table's folder, or is not a valid
// path. Returned by [Decode] and [Sidecar]. Not retried: 409.
var ErrUnsafePath = errors.New("unsafe path in delta log")

// ErrElsewhere: a path of the log is absolute or has a scheme. Other engines write such
// paths for files in other folders. It matches [ErrUnsafePath]. Returned by [Decode]
// and [Sidecar], and by [Outside] for a path outside the table's folder. Not retried:
// 409.
var ErrElsewhere = fmt.Errorf("absolute path: %w", ErrUnsafePath)
