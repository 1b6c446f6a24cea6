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

// classLost is the class of what ended with its process.
const classLost = "worker_lost"

func isLost(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Class == classLost
}

// fatal is the error of what was lost with its process. Another try runs in a
// new one.
func fatal(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindFatal, Class: class, Position: -1, Text: text}
}

func internalError(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindInternal, Class: class, Position: -1, Text: text}
}
