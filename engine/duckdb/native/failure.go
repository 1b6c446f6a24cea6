package native

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// failure is the form in which DuckDB reports an error under errors_as_json.
type failure struct {
	Type     string `json:"exception_type"`
	Message  string `json:"exception_message"`
	Subtype  string `json:"error_subtype"`
	Position string `json:"position"`
	Name     string `json:"name"`
	Entry    string `json:"type"`
	Status   string `json:"status_code"`
}

// family is the result for an exception type without a refinement.
type family struct {
	kind  engine.Kind
	class string
}

var families = map[string]family{
	"Parser":                 {engine.KindSyntax, "syntax"},
	"Syntax":                 {engine.KindSyntax, "syntax"},
	"Binder":                 {engine.KindBind, "bind"},
	"Catalog":                {engine.KindBind, "not_found"},
	"Unknown Type":           {engine.KindBind, "type_not_found"},
	"Expression":             {engine.KindBind, "expression"},
	"Not implemented":        {engine.KindBind, "not_implemented"},
	"Parameter Not Resolved": {engine.KindBind, "parameter_type"},
	"Parameter Not Allowed":  {engine.KindBind, "parameter_not_allowed"},
	"Missing Extension":      {engine.KindBind, "function_not_found"},
	"Conversion":             {engine.KindRuntime, engine.ClassConversion},
	"Out of Range":           {engine.KindRuntime, "out_of_range"},
	"Decimal":                {engine.KindRuntime, "out_of_range"},
	"Invalid Input":          {engine.KindRuntime, "invalid_input"},
	"Mismatch Type":          {engine.KindRuntime, "type_mismatch"},
	"Invalid type":           {engine.KindRuntime, "type_mismatch"},
	"Divide by Zero":         {engine.KindRuntime, "division"},
	"Object Size":            {engine.KindRuntime, "object_size"},
	"Constraint":             {engine.KindRuntime, "constraint"},
	"Sequence":               {engine.KindRuntime, "sequence"},
	"Out of Memory":          {engine.KindOutOfMemory, "out_of_memory"},
	"INTERRUPT":              {engine.KindInterrupted, "interrupted"},
	"IO":                     {engine.KindIO, "io"},
	"HTTP":                   {engine.KindIO, "http"},
	"Network":                {engine.KindIO, "network"},
	"Permission":             {engine.KindIO, "permission"},
	// A plain exception of a library, thrown by a reader of a damaged file.
	"Invalid":      {engine.KindIO, engine.ClassDataFile},
	"FATAL":        {engine.KindFatal, "fatal"},
	"INTERNAL":     {engine.KindFatal, engine.ClassDefect},
	"Null Pointer": {engine.KindFatal, engine.ClassDefect},
}

// refinement gives a failure a narrower class by the wording of its message. The first group of the
// pattern, if there is one, is the name that caused it.
type refinement struct {
	of      string
	pattern *regexp.Regexp
	kind    engine.Kind
	class   string
}

var refinements = []refinement{
	{"Binder", regexp.MustCompile(`^Referenced column "((?:[^"]|"")*)" not found`), engine.KindBind, "column_not_found"},
	{"Binder", regexp.MustCompile(`^Referenced column "((?:[^"]|"")*)" was not found`), engine.KindBind, "column_not_found"},
	{"Binder", regexp.MustCompile(`^(?:Table|Values list) "(?:[^"]|"")*" does not have a column named "((?:[^"]|"")*)"`),
		engine.KindBind, "column_not_found"},
	{"Binder", regexp.MustCompile(`^Column "((?:[^"]|"")*)" in [A-Z ]+ list not found`), engine.KindBind, "column_not_found"},
	{"Binder", regexp.MustCompile(`^Column "((?:[^"]|"")*)" does not exist on (?:left|right) side of join`), engine.KindBind,
		"column_not_found"},
	{"Binder", regexp.MustCompile(`^Could not find key "((?:[^"]|"")*)" in struct`), engine.KindBind, "field_not_found"},
	{"Binder", regexp.MustCompile(`^Referenced table "((?:[^"]|"")*)" not found`), engine.KindBind, "table_not_found"},
	{"Binder", regexp.MustCompile(`^Catalog "((?:[^"]|"")*)" does not exist`), engine.KindBind, "table_not_found"},
	{"Binder", regexp.MustCompile(`^Ambiguous reference to column name "((?:[^"]|"")*)"`), engine.KindBind, "ambiguous_column"},
	{"Binder", regexp.MustCompile(`^column "?((?:[^" ]|"")*)"? must appear in the GROUP BY`), engine.KindBind, "not_grouped"},
	{"Binder", regexp.MustCompile(`^Ambiguous reference to table`), engine.KindBind, "ambiguous_table"},
	{"Binder", regexp.MustCompile(`cannot contain aggregates`), engine.KindBind, "aggregate_misplaced"},
	{"Binder", regexp.MustCompile(`cannot contain window functions`), engine.KindBind, "window_misplaced"},
	{"Binder", regexp.MustCompile(`^aggregate function calls cannot`), engine.KindBind, "aggregate_nested"},
	{"Binder", regexp.MustCompile(`^at least one window function must appear`), engine.KindBind, "qualify_without_window"},
	{"Binder", regexp.MustCompile(`^(?:ORDER|GROUP BY) term out of range`), engine.KindBind, "result_number"},
	{"Binder", regexp.MustCompile(`^Subquery returns \d+ columns`), engine.KindBind, "subquery_columns"},
	{"Binder", regexp.MustCompile(`^(?:UNNEST\(\) can only be applied|Cannot extract field)`), engine.KindBind, "type_mismatch"},
	{"Binder", regexp.MustCompile(`^No function matches the given name and argument types`), engine.KindBind, "type_mismatch"},
	{"Binder", regexp.MustCompile(`^Could not choose a best candidate function for the function call "([^(]*)\(`),
		engine.KindBind, "ambiguous_function"},
	{"Binder", regexp.MustCompile(`^Cannot (?:compare|mix|cast|combine|concatenate)`), engine.KindBind, "type_mismatch"},
	{"Binder", regexp.MustCompile(`^Set operations can only apply`), engine.KindBind, "column_count"},
	{"Invalid Input", regexp.MustCompile(`^Expected (\d+) parameters`), engine.KindBind, "parameter_missing"},
	{"Invalid Input", regexp.MustCompile(`^Values were not provided for the following prepared statement parameters: (.*)$`),
		engine.KindBind, "parameter_missing"},
	{"Invalid Input", regexp.MustCompile(`^Type mismatch for binding parameter with identifier (\S+)`), engine.KindBind, "parameter_type"},
	{"Invalid Input", regexp.MustCompile(`(?i)division by zero`), engine.KindRuntime, "division"},
	{"Invalid Input", regexp.MustCompile(`^More than one row returned by a subquery`), engine.KindRuntime, "scalar_subquery_rows"},
	{"Invalid Input", regexp.MustCompile(`database has been invalidated`), engine.KindFatal, "fatal"},
	{"Invalid Input", regexp.MustCompile(`schema mismatch in glob`), engine.KindIO, engine.ClassFileSchema},
	{"Conversion", regexp.MustCompile(`^Error while reading file `), engine.KindIO, engine.ClassFileSchema},
	{"Conversion", regexp.MustCompile(`^Unimplemented type for cast`), engine.KindRuntime, engine.ClassCastMissing},
	{"Conversion", regexp.MustCompile(`(?i)string -> blob conversion`), engine.KindRuntime, engine.ClassBinaryText},
	{"Invalid Input", regexp.MustCompile(`^Invalid string encoding found in Parquet file`), engine.KindIO, engine.ClassFileText},
	{"Invalid Input", regexp.MustCompile(`^Failed to read file "|^Footer length error|(?i:parquet file|decompress|magic bytes|corrupt)`),
		engine.KindIO, engine.ClassDataFile},
	{"IO", regexp.MustCompile(`^Could not read enough bytes from file|(?i:parquet file|snappy|corrupt)`), engine.KindIO,
		engine.ClassDataFile},
	{"IO", regexp.MustCompile(`/_delta_log/`), engine.KindIO, "delta_log"},
	{"IO", regexp.MustCompile(`No such file or directory|[Ff]ile not found|No files found`), engine.KindIO, engine.ClassMissing},
	{"IO", regexp.MustCompile(`(?i)delta ?kernel`), engine.KindIO, "delta_log"},
	{"Out of Memory", regexp.MustCompile(`max_temp_directory_size`), engine.KindOutOfMemory, "temp_space"},
}

// entries maps the kinds of catalog entries to the class of the error for a missing one.
var entries = map[string]string{
	"Table":              "table_not_found",
	"View":               "table_not_found",
	"Schema":             "table_not_found",
	"Type":               "type_not_found",
	"Collation":          "collation_not_found",
	"Scalar Function":    "function_not_found",
	"Aggregate Function": "function_not_found",
	"Table Function":     "function_not_found",
	"Macro Function":     "function_not_found",
}

// translate converts DuckDB's error text to an engine error. It never fails: a text of unknown form
// becomes an internal error that contains it.
func translate(text string) *engine.Error {
	f, ok := decodeFailure(text)
	if !ok {
		return &engine.Error{Kind: engine.KindInternal, Class: "unknown", Position: -1, Text: Clip(text)}
	}
	out := &engine.Error{Kind: engine.KindInternal, Class: "engine", Name: f.Name, Position: -1, Text: Clip(f.Message)}
	if fam, ok := families[f.Type]; ok {
		out.Kind, out.Class = fam.kind, fam.class
	}
	switch {
	case f.Type == "HTTP" && f.Status == "404":
		out.Class = engine.ClassMissing
	case f.Type == "HTTP" && f.Status == "416": // a file is shorter than it says
		out.Class = engine.ClassDataFile
	}
	if n, err := strconv.Atoi(f.Position); err == nil && n >= 0 {
		out.Position = n
	}
	if class, ok := entries[f.Entry]; ok && f.Subtype == "MISSING_ENTRY" {
		out.Class = class
		return out
	}
	for _, r := range refinements {
		if r.of != f.Type {
			continue
		}
		m := r.pattern.FindStringSubmatch(f.Message)
		if m == nil {
			continue
		}
		out.Kind, out.Class = r.kind, r.class
		if len(m) > 1 && out.Name == "" {
			out.Name = strings.ReplaceAll(m[1], `""`, `"`)
		}
		break
	}
	return out
}

// decodeFailure finds the JSON in text. Parser errors have a prefix with their type.
func decodeFailure(text string) (failure, bool) {
	var f failure
	start := strings.IndexByte(text, '{')
	if start >= 0 && (start == 0 || strings.HasSuffix(text[:start], "Error: ")) {
		dec := json.NewDecoder(strings.NewReader(text[start:]))
		if dec.Decode(&f) == nil && f.Type != "" {
			return f, true
		}
	}
	// Errors of an instance that is not configured yet, or of a wrapper.
	if kind, message, ok := strings.Cut(text, " Error: "); ok {
		if _, known := families[kind]; known {
			return failure{Type: kind, Message: message}, true
		}
	}
	return failure{}, false
}

// AsError returns the engine's error in err, or nil.
func AsError(err error) *engine.Error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// InternalError returns an error for a defect of the server or of its machine.
func InternalError(class, text string) *engine.Error {
	return &engine.Error{Kind: engine.KindInternal, Class: class, Position: -1, Text: Clip(text)}
}
