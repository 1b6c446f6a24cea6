package engine

import "errors"

// Kind is the family of an engine error.
type Kind int

// The kinds, with the status each becomes.
const (
	// KindInternal is a defect of Lakewarden or of the engine: 500.
	KindInternal Kind = iota
	// KindSyntax is SQL that does not parse: 400.
	KindSyntax
	// KindNotSelect is SQL that parses but is not one SELECT: 400.
	KindNotSelect
	// KindBind is a name, type or number of arguments that does not resolve: 400.
	KindBind
	// KindRuntime is an invalid value met during execution (cast, overflow): 422.
	KindRuntime
	// KindOutOfMemory means the lease was too small: 422, or 503 when the whole server is short of
	// memory.
	KindOutOfMemory
	// KindInterrupted means the context ended or the timeout passed.
	KindInterrupted
	// KindIO is a file or log that could not be read: 503, or 409 with ClassMissing or if the
	// error is [Error.Unreadable].
	KindIO
	// KindFatal means the session is broken: 503, retry on a new session.
	KindFatal
)

// Sentinels of the kinds that callers distinguish; test with errors.Is.
var (
	// ErrInterrupted: the statement was cancelled. It is not retried.
	ErrInterrupted = errors.New("statement interrupted")
	// ErrTimeout: the statement ran past its timeout: 422 query_timeout.
	ErrTimeout = errors.New("statement timed out")
	// ErrFatal: the session is broken; a new one may succeed: 503.
	ErrFatal = errors.New("engine session broken")
	// ErrLost: the session's process ended, possibly because of another statement, or was killed
	// from outside. It matches ErrFatal. The statement can be tried once more, in a process of its
	// own, since it may be the cause.
	ErrLost = errors.New("engine process lost")
	// ErrCrashed: the session's process crashed while it ran this statement only. It matches
	// ErrFatal; another try would end the same way.
	ErrCrashed = errors.New("engine process crashed")
	// ErrOutOfMemory: the lease was too small.
	ErrOutOfMemory = errors.New("statement memory exhausted")
)

// The classes of errors of statements whose process ended: see ErrLost and ErrCrashed.
const (
	ClassLost    = "worker_lost"
	ClassCrashed = "worker_crashed"
)

// ClassDefect is the class of a KindFatal for an internal error of the engine: the statement fails
// each time that it runs over the same rows.
const ClassDefect = "internal"

// ClassMissing is the class of a KindIO for a file or directory that does not exist: 409. A retry
// fails again.
const ClassMissing = "file_not_found"

// The classes of a KindIO for a data file that was read and does not hold what its table says:
// 409. A retry fails again.
const (
	// ClassDataFile is a damaged file.
	ClassDataFile = "data_file"
	// ClassFileSchema is a file with a column that is not of the table's type, or a value that is
	// out of its range.
	ClassFileSchema = "file_schema"
	// ClassFileText is a file with a text that is not UTF-8.
	ClassFileText = "file_text"
)

// The classes of a KindRuntime that are told apart from others.
const (
	// ClassConversion is a value that a cast does not take.
	ClassConversion = "conversion"
	// ClassCastMissing is a cast that does not exist, which the engine detects only at run time.
	ClassCastMissing = "cast_missing"
	// ClassBinaryText is a text that is cast to BLOB without having its form.
	ClassBinaryText = "binary_text"
)

// Error is a failure of the engine. Text is for the server's log only; the message for a client is
// derived from the other fields.
type Error struct {
	Kind Kind
	// Class is a stable name of the failure: "conversion", "out_of_range",
	// "column_not_found", "type_mismatch", "division" …
	Class string
	// Name is the identifier that did not resolve, for KindBind.
	Name string
	// Position is the byte offset in the statement's text, or -1.
	Position int
	// Text is the engine's own message. It can hold values and paths.
	Text string
	// File and Column name what is [Error.Unreadable], if they are known: the file as its list
	// does, and the table's column. They can be secret from the caller.
	File, Column string
	// Timeout marks a KindInterrupted that the lease's timeout caused.
	Timeout bool
}

// Error returns the class, never Text.
func (e *Error) Error() string { return "engine: " + e.Class }

// Unreadable reports whether a data file does not hold what its table says.
func (e *Error) Unreadable() bool {
	return e.Kind == KindIO && (e.Class == ClassDataFile || e.Class == ClassFileSchema || e.Class == ClassFileText)
}

// Is matches the sentinels of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrInterrupted:
		return e.Kind == KindInterrupted && !e.Timeout
	case ErrTimeout:
		return e.Kind == KindInterrupted && e.Timeout
	case ErrFatal:
		return e.Kind == KindFatal
	case ErrLost:
		return e.Kind == KindFatal && e.Class == ClassLost
	case ErrCrashed:
		return e.Kind == KindFatal && e.Class == ClassCrashed
	case ErrOutOfMemory:
		return e.Kind == KindOutOfMemory
	}
	return false
}
