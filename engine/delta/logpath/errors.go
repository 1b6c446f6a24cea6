package logpath

import "errors"

// ErrUnsafePath: a path of the log is absolute, has a scheme, leaves the
// table's folder, or is not a path at all. Returned by [Decode] and [Sidecar].
// Not retried: the table is refused with 409.
var ErrUnsafePath = errors.New("unsafe path in delta log")
