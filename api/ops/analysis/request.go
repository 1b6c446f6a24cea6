package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

// Request asks for an analysis of a table.
type Request struct {
	Action analysis.Action
	// Model is the id of the model that words the answer; empty means the default of the
	// first family that has a key.
	Model string
	// Where restricts the analysis to the rows that fulfil a condition; for explain_rows it
	// chooses the rows to explain. Keys chooses them by values of columns.
	Where string
	Keys  []map[string]any
	// Columns restricts the analysis to some columns; empty means all visible ones.
	Columns []string
	// VersionFrom and VersionTo are for explain_changes.
	VersionFrom, VersionTo *int64
	// SourceColumns are for suggest_mapping.
	SourceColumns []analysis.SourceColumn
	// Limit bounds the findings and the proposals; 0 means 20.
	Limit int
}

// The bounds of requests.
const (
	defaultLimit = 20
	maxLimit     = 10_000
	// maxSourceColumns bounds the columns of a file to be mapped.
	maxSourceColumns = 2_000
)

// validate returns [catalog.FieldErrors] for a request that is invalid whatever the table
// is.
func (r Request) validate() error {
	var errs catalog.FieldErrors
	refuse := func(field, format string, args ...any) {
		errs = append(errs, catalog.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(analysis.Actions(), r.Action) {
		refuse("action", "must be one of %s", join(analysis.Actions()))
		return errs
	}
	if r.Limit < 0 || r.Limit > maxLimit {
		refuse("limit", "must be between 1 and %d", maxLimit)
	}
	only := func(action analysis.Action, field string, sent bool) {
		switch {
		case action == r.Action && !sent:
			refuse(field, "is required for %s", action)
		case action != r.Action && sent:
			refuse(field, "is for %s only", action)
		}
	}
	only(analysis.ExplainChanges, "version_from", r.VersionFrom != nil)
	only(analysis.ExplainChanges, "version_to", r.VersionTo != nil)
	only(analysis.SuggestMapping, "source_columns", len(r.SourceColumns) > 0)
	if r.Action == analysis.ExplainRows {
		if (r.Where == "") == (len(r.Keys) == 0) {
			refuse("where", "must be sent, or keys, but not both")
		}
	} else if len(r.Keys) > 0 {
		refuse("keys", "is for %s only", analysis.ExplainRows)
	}
	if len(r.Keys) > profile.MaxExplained {
		refuse("keys", "must have at most %d items", profile.MaxExplained)
	}
	if len(r.SourceColumns) > maxSourceColumns {
		refuse("source_columns", "must have at most %d items", maxSourceColumns)
	}
	for i, c := range r.SourceColumns {
		if strings.TrimSpace(c.Name) == "" {
			refuse("source_columns["+strconv.Itoa(i)+"]", "must have a name")
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

func join(actions []analysis.Action) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// columns returns the visible columns that the request is about.
func (r Request) columns(t analysis.Table) ([]analysis.Column, error) {
	if len(r.Columns) == 0 {
		return t.Columns, nil
	}
	for i, name := range r.Columns {
		if _, ok := t.Column(name); !ok {
			return nil, fault.Invalid("columns["+strconv.Itoa(i)+"]", "must be a column of the table")
		}
	}
	var out []analysis.Column
	for _, c := range t.Columns {
		if slices.Contains(r.Columns, c.Name) {
			out = append(out, c)
		}
	}
	return out, nil
}

// maxExact is the number up to which a decoded JSON number is the one that was sent.
const maxExact = 1<<53 - 1

// checkKeys refuses keys that do not name visible columns, and numbers that may be others
// than those that were sent.
func (r Request) checkKeys(t analysis.Table) error {
	for i, key := range r.Keys {
		field := "keys[" + strconv.Itoa(i) + "]"
		if len(key) == 0 {
			return fault.Invalid(field, "must name a column")
		}
		for name, value := range key {
			if _, ok := t.Column(name); !ok {
				return fault.Invalid(field, "must name columns of the table only")
			}
			if number, ok := value.(float64); ok && math.Abs(number) > maxExact {
				return fault.Invalid(field, "must give numbers of more than 15 digits as text")
			}
		}
	}
	return nil
}
