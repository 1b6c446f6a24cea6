package ops

import (
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// inOurWords turns a failure of the engine into one that a caller may see. The
// engine's text never passes: it can hold values of hidden rows, paths and
// names that we generated. Binding depends on names and types alone, so a name
// that the caller wrote keeps its place; a run-time error keeps its class only.
func (p *prepared) inOurWords(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind != engine.KindBind || e.Name == "" {
		return err
	}
	pos := p.statement.Position(e.Name)
	if pos.Line == 0 {
		return err // not a name of the caller
	}
	code := e.Class
	message := strings.ReplaceAll(e.Class, "_", " ") + ": " + quoted(e.Name)
	if code != "column_not_found" {
		code = "invalid_statement"
	}
	return &StatementError{Code: code, Line: pos.Line, Column: pos.Column, Message: message, Near: near(e.Name, p.columns)}
}

func quoted(name string) string { return `"` + name + `"` }
