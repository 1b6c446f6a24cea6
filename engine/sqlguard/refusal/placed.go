package refusal

// Placed is an error of the guard or the engine about a statement, with its place in the
// caller's request.
type Placed struct {
	// Err is an *Error or an *engine.Error.
	Err error
	// Field is the field of the request that holds the text.
	Field string
	// Position is the place in that field; zero if unknown.
	Position Position
	// Name is the name at fault as the caller wrote it, or "".
	Name string
	// Near holds up to three names that the caller may have meant.
	Near []string
}

// Error returns the text of Err.
func (e *Placed) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Placed) Unwrap() error { return e.Err }
