package duckdb

import "errors"

// ErrExtension is matched by every [ExtensionError]: an extension file is
// missing, unsafe, corrupt or has changed. The server does not start with it;
// when it appears later it becomes 503, and only the operator can mend it.
var ErrExtension = errors.New("engine extension not usable")

// ExtensionError says which extension cannot be used, why, and what to do.
type ExtensionError struct {
	Name string
	// Path is the file at fault, empty when none was found.
	Path   string
	Reason string
	// Remedy overrides the usual advice.
	Remedy string
}

// Error is written for the operator; it holds no text of the engine.
func (e *ExtensionError) Error() string {
	text := "extension " + e.Name + ": " + e.Reason
	if e.Path != "" {
		text += " (" + e.Path + ")"
	}
	if e.Remedy != "" {
		return text + ": " + e.Remedy
	}
	return text + ": run `lakewarden extensions install`"
}

// ProblemCode names what a client is told when a file fails a running server.
func (e *ExtensionError) ProblemCode() string { return "engine_failed" }

// Is matches ErrExtension.
func (e *ExtensionError) Is(target error) bool { return target == ErrExtension }
