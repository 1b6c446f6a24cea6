package extension

import "errors"

// ErrUnusable matches every [Error]: an extension file is missing, unsafe, corrupt or has
// changed. The server does not start with it; in a running server it becomes 503, and only the
// operator can repair it.
var ErrUnusable = errors.New("engine extension not usable")

// Error describes which extension cannot be used, why, and the remedy.
type Error struct {
	Name string
	// Path is the file at fault, empty when none was found.
	Path   string
	Reason string
	// Remedy overrides the usual advice.
	Remedy string
}

// Error is written for the operator; it holds no text of DuckDB.
func (e *Error) Error() string {
	text := "extension " + e.Name + ": " + e.Reason
	if e.Path != "" {
		text += " (" + e.Path + ")"
	}
	if e.Remedy != "" {
		return text + ": " + e.Remedy
	}
	return text + ": run `lakewarden extensions install`"
}

// ProblemCode is the code of the reply when a file fails in a running server.
func (e *Error) ProblemCode() string { return "engine_failed" }

// Is matches ErrUnusable.
func (e *Error) Is(target error) bool { return target == ErrUnusable }
