package arrowcheck

import "errors"

// Errors of messages that exceed a rule; all other errors are of malformed or unsupported messages.
// The text of an error repeats nothing of the message.
var (
	// ErrTooDeep is returned for a schema that is nested deeper than allowed.
	ErrTooDeep = errors.New("fields are nested too deep")
	// ErrTooLarge is returned for a batch, or dictionaries, of too many bytes.
	ErrTooLarge = errors.New("a batch is too large")
)

var (
	errMessage     = errors.New("a message contradicts its header")
	errFlatbuffer  = errors.New("metadata points outside of itself")
	errBuffers     = errors.New("a buffer lies outside of its message")
	errBigEndian   = errors.New("numbers are big-endian")
	errDelta       = errors.New("dictionaries that are sent in parts are not supported")
	errUnion       = errors.New("unions are not supported")
	errSchemaSize  = errors.New("the schema has too many fields or texts")
	errCompression = errors.New("compressed data is not valid")
)
