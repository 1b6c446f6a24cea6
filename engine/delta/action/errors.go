package action

import "errors"

var (
	// ErrMalformed: the bytes are not a valid Delta commit. Returned by the decoders.
	// Not retried: the table is unreadable until its log is repaired, 409.
	ErrMalformed = errors.New("malformed delta log")
	// ErrTooLarge: a line or a commit exceeds [Limits]. Not retried: 409.
	ErrTooLarge = errors.New("delta log entry too large")
	// ErrInvalidCommit: the protocol does not allow the actions given to [EncodeCommit]
	// in one commit. It indicates a bug of the caller.
	ErrInvalidCommit = errors.New("invalid set of actions for one commit")
)
