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
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == engine.KindIO && e.Class == engine.ClassMissing && p.former {
		return errVacuumed
	}
	if e.Kind != engine.KindBind || e.Name == "" || strings.HasPrefix(e.Class, "parameter_") {
		return err // the values of parameters are no part of the text
	}
	pos := p.statement.Position(e.Name)
	if pos.Line == 0 {
		return err // not a name of the caller
	}
	code, known := bindCodes[e.Class]
	if !known {
		code = "invalid_statement"
	}
	message := strings.ReplaceAll(e.Class, "_", " ") + ": " + quoted(e.Name)
	return &StatementError{Code: code, Line: pos.Line, Column: pos.Column, Message: message, Near: near(e.Name, p.columns)}
}

// errVacuumed: nothing has to be repaired where a file of a former version is gone.
var errVacuumed = &StatementError{
	Code: "data_file_missing", Message: "a version is read that is not the newest; most likely a vacuum has deleted its files: read a newer version",
}

// bindCodes are the classes that have a line of their own in the table of errors.
var bindCodes = map[string]string{
	"column_not_found": "column_not_found", "field_not_found": "column_not_found", "table_not_found": "table_not_found",
	"function_not_found": "function_not_found", "ambiguous_column": "ambiguous_name", "type_mismatch": "type_mismatch",
}

func quoted(name string) string { return `"` + name + `"` }
