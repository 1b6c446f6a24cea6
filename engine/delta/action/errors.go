package action

import "errors"

var (
	// ErrMalformed: the bytes are not a Delta commit. Returned by the decoders;
	// not retried. The table is unreadable until its log is repaired: 409.
	ErrMalformed = errors.New("malformed delta log")
	// ErrTooLarge: a line or a commit exceeds [Limits]. Not retried: 409.
	ErrTooLarge = errors.New("delta log entry too large")
	// ErrInvalidCommit: the actions given to [EncodeCommit] may not stand
	// together in one commit. A defect of the caller.
	ErrInvalidCommit = errors.New("invalid set of actions for one commit")
)
