package problem

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// guardCode is the code of a refused statement: the guard's own, as it is.
func guardCode(e *sqlguard.Error) string {
	if e.Code == sqlguard.CodeTooLarge {
		return "payload_too_large"
	}
	return string(e.Code)
}

// guardMessage says where and why; the guard's words are ours.
func guardMessage(e *sqlguard.Error) string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(e.Message)
	if len(e.Near) > 0 {
		b.WriteString("; near: " + strings.Join(e.Near, ", "))
	}
	return b.String()
}

// bindCodes are the classes of unresolved names and types that have a code of
// their own; the rest is invalid_statement.
var bindCodes = map[string]string{
	"column_not_found":      "column_not_found",
	"field_not_found":       "column_not_found",
	"table_not_found":       "table_not_found",
	"function_not_found":    "function_not_found",
	"type_not_found":        "type_not_allowed",
	"collation_not_found":   "type_not_allowed",
	"ambiguous_column":      "ambiguous_name",
	"ambiguous_function":    "type_mismatch",
	"type_mismatch":         "type_mismatch",
	"parameter_missing":     "invalid_parameter",
	"parameter_type":        "invalid_parameter",
	"parameter_unknown":     "invalid_parameter",
	"parameter_mix":         "invalid_parameter",
	"parameter_not_allowed": "invalid_parameter",
}

// engineCode is the code of a statement that the engine refused.
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
			return "data_file_missing"
		}
		return "storage_unavailable"
	case engine.KindFatal:
		return "engine_failed"
	}
	return "internal_error"
}

// runtimeMessages say what a class of run-time failure means. A class that is
// not here says nothing more than its code: a value of a row must not get out.
var runtimeMessages = map[string]string{
	"conversion":           "a value cannot be converted to the wanted type",
	"out_of_range":         "a result is out of the range of its type",
	"invalid_input":        "a function does not take a value that it met",
	"type_mismatch":        "a value does not have the expected type",
	"division":             "division by zero",
	"object_size":          "a value is too large",
	"scalar_subquery_rows": "a subquery used as a value returned more than one row",
	"temp_space":           "the query needs more temporary space than it may use",
}

// parameterMessages say what is wrong with the values that came with a
// statement.
var parameterMessages = map[string]string{
	"parameter_missing": "no value for the parameter",
	"parameter_unknown": "the statement has no such parameter",
	"parameter_type":    "a value does not have the type that the statement needs",
	"parameter_mix":     "names and positions of parameters do not go together",
}

// parameterName is the name as the caller wrote it, which is never an
// expression, or its position.
func parameterName(name string) string {
	if plainName(name) {
		return name
	}
	return ""
}

// engineFields tells the class of a failure and the name that did not resolve.
// Text and Position of the error stay out: the one is the engine's, the other
// counts in SQL that the client never saw.
func engineFields(e *engine.Error, yield func(string, string) bool) {
	switch e.Kind {
	case engine.KindBind:
		if message, ok := parameterMessages[e.Class]; ok {
			yield("parameters", strings.TrimSuffix(message+": "+parameterName(e.Name), ": "))
		} else if plainName(e.Name) {
			yield("sql", "at the name "+e.Name)
		}
	case engine.KindRuntime, engine.KindOutOfMemory:
		if message, ok := runtimeMessages[e.Class]; ok {
			yield("sql", message)
		}
	}
}

// plainName reports whether a name is an identifier a person would type, and
// not an expression or a path that an engine put where a name belongs.
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
