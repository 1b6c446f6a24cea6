package worker

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

// cause says why a request was told to stop.
type cause int32

const (
	causeNone cause = iota
	causeContext
	causeTimeout
	causeClosed
)

// interrupted is the error of a request that was stopped.
func interrupted(c cause) *engine.Error {
	e := &engine.Error{Kind: engine.KindInterrupted, Class: "interrupted", Position: -1}
	switch c {
	case causeTimeout:
		e.Class, e.Timeout = "timeout", true
	case causeClosed:
		e.Class = "session_closed"
	}
	return e
}

func isLost(err error) bool { return errors.Is(err, engine.ErrLost) }

// fatal is the error of what was lost with its process. Another try runs in a
// new one.
func fatal(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindFatal, Class: class, Position: -1, Text: text}
}

func internalError(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindInternal, Class: class, Position: -1, Text: text}
}
