package worker

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

func isLost(err error) bool { return errors.Is(err, engine.ErrLost) }

// fatal returns the error of a request that was lost with its process. A retry runs in a new
// process.
func fatal(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindFatal, Class: class, Position: -1, Text: text}
}

func internalError(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindInternal, Class: class, Position: -1, Text: text}
}
