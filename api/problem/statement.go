package problem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// guardCode returns the code of a statement that the guard refused, which is the guard's
// own code.
func guardCode(e *refusal.Error) string {
	if e.Code == refusal.CodeTooLarge {
		return "invalid_field" // as if the limit of the field had been exceeded
	}
	return string(e.Code)
}

// statementFields yields why the guard or the engine refused a statement, and the
// position if it is known.
func statementFields(err error, yield func(string, string) bool) {
	var guard *refusal.Error
	var failure *engine.Error
	at := &refusal.Placed{Field: "sql"}
	placed := errors.As(err, &at)
	switch {
	case errors.As(err, &guard):
		if !placed {
			at.Position = refusal.Position{Line: guard.Line, Column: guard.Column}
		}
		message := guard.Message
		if hint := otherRoutes[guard.Name]; hint != "" && guard.Code == refusal.CodeStatement {
			message += "; " + hint
		}
		yield(at.Field, placedMessage(at.Position, message, guard.Near))
	case errors.As(err, &failure):
		engineField(failure, at, yield)
	}
}

// placedMessage puts the position before a message and similar names after it.
func placedMessage(at refusal.Position, message string, near []string) string {
	var b strings.Builder
	if at.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", at.Line, at.Column)
	}
	b.WriteString(message)
	if len(near) > 0 {
		b.WriteString("; near: " + strings.Join(near, ", "))
	}
	return b.String()
}

// bindCodes maps the classes of unresolved names and types that have a code of their own.
// The code of the others is invalid_statement.
var bindCodes = map[string]string{
	"column_not_found":      "column_not_found",
	"field_not_found":       "column_not_found",
	"table_not_found":       "table_not_found",
	"function_not_found":    "function_not_found",
	"type_not_found":        "type_not_allowed",
	"collation_not_found":   "type_not_allowed",
	"ambiguous_column":      "ambiguous_name",
	"ambiguous_table":       "ambiguous_name",
	"ambiguous_function":    "type_mismatch",
	"type_too_deep":         "too_complex",
	"type_mismatch":         "type_mismatch",
	"parameter_missing":     "invalid_parameter",
	"parameter_type":        "invalid_parameter",
	"parameter_unknown":     "invalid_parameter",
	"parameter_mix":         "invalid_parameter",
	"parameter_not_allowed": "invalid_parameter",
}

// engineCode returns the code of a statement that the engine refused.
func engineCode(e *engine.Error) string {
	switch e.Kind {
	case engine.KindSyntax:
		return "syntax_error"
	case engine.KindNotSelect:
		return "statement_not_allowed"
	case engine.KindBind:
		if code, ok := bindCodes[e.Class]; ok {
			return code
		}
		return "invalid_statement"
	case engine.KindRuntime:
		switch e.Class {
		case engine.ClassBinaryText:
			return "binary_text_invalid"
		case engine.ClassCastMissing:
			return "type_mismatch"
		}
		return "value_error"
	case engine.KindOutOfMemory:
		return "query_memory_exhausted"
	case engine.KindInterrupted:
		if e.Timeout {
			return "query_timeout"
		}
		return "query_cancelled"
	case engine.KindIO:
		if e.Class == engine.ClassMissing {
			return dataFileMissing
		}
		if e.Unreadable() {
			return dataFileUnreadable
		}
		return storageUnavailable
	case engine.KindFatal:
		return "engine_failed"
	}
	return "internal_error"
}

// bindMessages describes the classes of unresolved names and types: what is wrong, which
// precedes the name, and what to do, which follows it.
var bindMessages = map[string][2]string{
	"column_not_found":       {"column not found"},
	"field_not_found":        {"field not found"},
	"table_not_found":        {"table not found"},
	"function_not_found":     {"function not found"},
	"type_not_found":         {"there is no such type"},
	"collation_not_found":    {"there is no such collation"},
	"ambiguous_column":       {"ambiguous column"},
	"ambiguous_table":        {"two tables of FROM have one name", "give them aliases"},
	"ambiguous_function":     {"types do not fit", "add a cast"},
	"type_mismatch":          {"types do not fit", "add a cast"},
	"not_grouped":            {"a column is neither in GROUP BY nor in an aggregate"},
	"aggregate_misplaced":    {"an aggregate is used where rows are not grouped yet", "use HAVING or a subquery"},
	"window_misplaced":       {"a window function is used where rows are not grouped and ordered yet", "use QUALIFY or a subquery"},
	"aggregate_nested":       {"an aggregate or window function is nested in an aggregate", "compute the inner one in a subquery"},
	"qualify_without_window": {"QUALIFY needs a window function", "use WHERE or HAVING"},
	"result_number":          {"there is no result column of that number"},
	"subquery_columns":       {"a subquery used as a value has more than one column"},
	"column_count":           {"the sides have different numbers of columns"},
	"type_too_deep":          {"the type of a result column is nested too deep", "take it apart or cast it to VARCHAR"},
}

// runtimeMessages describes the classes of run-time failures. Other classes have no
// message besides the one of their code: values of rows must not be disclosed.
var runtimeMessages = map[string]string{
	engine.ClassConversion: "a value cannot be converted to the wanted type",
	engine.ClassBinaryText: `a text is not a binary value: write a backslash and bytes beyond ASCII as \xAB, or use encode or ` +
		`from_base64`,
	engine.ClassCastMissing: "types do not fit: a value of one type cannot be cast to the other",
	"out_of_range":          "a result is out of the range of its type",
	"invalid_input":         "a function does not take a value that it met",
	"type_mismatch":         "a value does not have the expected type",
	"division":              "division by zero",
	"object_size":           "a value is too large",
	"scalar_subquery_rows":  "a subquery used as a value returned more than one row",
	"temp_space":            "the query needs more temporary space than it may use",
}

// parameterMessages describes what is wrong with the values of a statement's parameters.
var parameterMessages = map[string]string{
	"parameter_missing": "no value for the parameter",
	"parameter_unknown": "the statement has no such parameter",
	"parameter_type":    "a value does not have the type that the statement needs",
	"parameter_mix":     "names and positions of parameters do not go together",
}

// parameterName returns the name or the number of a parameter as the caller wrote it. It
// returns "" for an expression.
func parameterName(name string) string {
	if plainName(name) {
		return name
	}
	return ""
}

// engineField yields the class of a failure, with the position and the name if they were
// found in the caller's text. It omits Text, Name and Position of the error: they are the
// engine's, and about SQL that the client never saw.
func engineField(e *engine.Error, at *refusal.Placed, yield func(string, string) bool) {
	switch e.Kind {
	case engine.KindBind:
		if message, ok := parameterMessages[e.Class]; ok {
			yield("parameters", strings.TrimSuffix(message+": "+parameterName(e.Name), ": "))
		} else if message := bindMessage(e.Class, at.Name); message != "" {
			yield(at.Field, placedMessage(at.Position, message, at.Near))
		}
	case engine.KindRuntime, engine.KindOutOfMemory:
		if message, ok := runtimeMessages[e.Class]; ok {
			yield(at.Field, message)
		}
	}
}

func bindMessage(class, name string) string {
	message, ok := bindMessages[class]
	text := message[0]
	switch {
	case !ok && name == "":
		return ""
	case !ok:
		text = `something is wrong at "` + name + `"`
	case name != "" && class == "not_grouped":
		text = `"` + name + `" is neither in GROUP BY nor in an aggregate`
	case name != "":
		text += `: "` + name + `"`
	}
	if message[1] != "" {
		text += "; " + message[1]
	}
	return text
}

// plainName reports whether a name is a simple identifier, and not an expression or a
// path that the engine reports as a name.
func plainName(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}
