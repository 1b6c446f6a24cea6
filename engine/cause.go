package engine

// Cause is the reason why a statement was stopped.
type Cause int32

// The causes.
const (
	CauseNone Cause = iota
	CauseContext
	CauseTimeout
	CauseClosed
)

// Interrupted is the error of a statement that was stopped.
func Interrupted(c Cause) *Error {
	e := &Error{Kind: KindInterrupted, Class: "interrupted", Position: -1}
	switch c {
	case CauseTimeout:
		e.Class, e.Timeout = "timeout", true
	case CauseClosed:
		e.Class = "session_closed"
	}
	return e
}
