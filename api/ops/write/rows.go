package write

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Insert adds rows to a table. Errors: *dml.RowsError and *staging.RowsError name
// rows; those of ingest, delta, sessions and the store.
func (o Service) Insert(ctx context.Context, path access.Path, body Body, options Options) (Result, error) {
	var rows staged
	return o.run(ctx, path, "rows.insert", []auth.Scope{auth.ScopeRowsInsert}, nil, options, nil,
		func(ctx context.Context, w *writing) (err error) {
			if rows, err = w.stage(ctx, body); err == nil && len(rows.members) > 0 {
				err = unknownMember(rows.members)
			}
			return err
		}, func(ctx context.Context, w *writing) (dml.Result, error) {
			if err := errors.Join(w.writable(rows), w.mustFill(rows)); err != nil {
				return dml.Result{}, err
			}
			held, opts, err := w.session(ctx)
			if err != nil {
				return dml.Result{}, err
			}
			defer releaseAsync(held)
			return dml.Insert(ctx, w.target, opts, rows.Rows)
		})
}

// writable refuses rows that name columns which are now hidden from the caller or masked: the
// body may have been read before a policy was made.
func (w *writing) writable(rows staged) error {
	for _, shape := range rows.Shapes {
		for _, name := range shape {
			switch {
			case w.table.Hides(name):
				return fault.Invalid("rows."+name, "must be a column of the table")
			case w.table.Masks(name):
				return fault.Invalid("rows."+name, query.MaskedColumn)
			}
		}
	}
	return nil
}

// mustFill refuses new rows that omit a column whose default cannot be evaluated here.
// The error does not name a hidden column.
func (w *writing) mustFill(rows staged) error {
	columns := w.target.Rules.Unfilled()
	if len(rows.Shapes) > 0 && slices.ContainsFunc(columns, w.table.Hides) {
		return fault.Invalid("rows", "cannot be added: the table has a default that cannot be evaluated here")
	}
	return rows.mustName(columns, "is required: the default of the column cannot be evaluated here")
}

func unknownMember(members map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		return fault.Invalid(name, "is not a field of this request")
	}
	return nil
}

// MergeInput is a merge. Members of a JSON body take precedence.
type MergeInput struct {
	Body
	// On are column names; empty means the primary key.
	On []string
	// WhenMatched is update (also for ""), ignore or delete; WhenNotMatched insert
	// (also for "") or ignore.
	WhenMatched, WhenNotMatched string
}

// Merge joins rows with those of a table. It asks for the scopes of what it may
// do. Errors are those of [Service.Insert], and dml.ErrHiddenMatch.
func (o Service) Merge(ctx context.Context, path access.Path, in MergeInput, options Options) (Result, error) {
	var rows staged
	return o.run(ctx, path, "rows.merge", nil, append([]string{in.WhenMatched, in.WhenNotMatched}, in.On...), options, nil,
		func(ctx context.Context, w *writing) (err error) {
			// What the caller may do at all is asked before the body is read; what the
			// body asks for, when it is known.
			if err := w.permitsMerge(ctx, in); err != nil {
				return err
			}
			if rows, err = w.stage(ctx, in.Body); err != nil {
				return err
			}
			if err := in.take(rows.members); err != nil {
				return err
			}
			return w.permitsMerge(ctx, in)
		}, func(ctx context.Context, w *writing) (dml.Result, error) {
			merge, err := w.merge(in, rows)
			if err != nil {
				return dml.Result{}, err
			}
			held, opts, err := w.session(ctx)
			if err != nil {
				return dml.Result{}, err
			}
			defer releaseAsync(held)
			return dml.Merge(ctx, w.target, opts, merge)
		})
}

// take reads the members of the body in addition to the rows.
func (in *MergeInput) take(members map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var err error
		switch name {
		case "on":
			err = json.Unmarshal(members[name], &in.On)
		case "when_matched":
			err = chosen(members[name], &in.WhenMatched)
		case "when_not_matched":
			err = chosen(members[name], &in.WhenNotMatched)
		default:
			return unknownMember(map[string]json.RawMessage{name: nil})
		}
		if err != nil {
			return fault.Invalid(name, "has another type, or is empty")
		}
	}
	if len(in.On) > maxMergeColumns {
		return fault.Invalid("on", "must have at most %d columns", maxMergeColumns)
	}
	return nil
}

// chosen decodes a JSON string that is not empty, or null, into to.
func chosen(raw json.RawMessage, to *string) error {
	var word *string
	if err := json.Unmarshal(raw, &word); err != nil {
		return err
	}
	if word != nil && *word == "" {
		return errors.New("empty")
	}
	if word != nil {
		*to = *word
	}
	return nil
}

// maxMergeColumns bounds the columns that a merge is on.
const maxMergeColumns = 100

// actions returns what the merge does.
func (in MergeInput) actions() (matched dml.Matched, insert bool, err error) {
	switch in.WhenMatched {
	case "", "update":
		matched = dml.MatchedUpdate
	case "ignore":
		matched = dml.MatchedIgnore
	case "delete":
		matched = dml.MatchedDelete
	default:
		return "", false, fault.Invalid("when_matched", "must be update, ignore or delete")
	}
	switch in.WhenNotMatched {
	case "", "insert":
		insert = true
	case "ignore":
	default:
		return "", false, fault.Invalid("when_not_matched", "must be insert or ignore")
	}
	if matched == dml.MatchedIgnore && !insert {
		return "", false, fault.Invalid("when_matched", "must not be ignore together with when_not_matched: nothing would be done")
	}
	return matched, insert, nil
}

func (w *writing) permitsMerge(ctx context.Context, in MergeInput) error {
	matched, insert, err := in.actions()
	if err != nil {
		return err
	}
	var scopes []auth.Scope
	if insert {
		scopes = append(scopes, auth.ScopeRowsInsert)
	}
	switch matched {
	case dml.MatchedUpdate:
		scopes = append(scopes, auth.ScopeRowsUpdate)
	case dml.MatchedDelete:
		scopes = append(scopes, auth.ScopeRowsDelete)
	}
	for _, s := range scopes {
		if err := w.Tables.Permit(ctx, w.actor, w.located.Config, s); err != nil {
			return err
		}
	}
	w.scopes = scopes
	w.watchBasis()
	return nil
}

// merge turns the request into columns of the table.
func (w *writing) merge(in MergeInput, rows staged) (dml.MergeRows, error) {
	matched, insert, err := in.actions()
	if err != nil {
		return dml.MergeRows{}, err
	}
	out := dml.MergeRows{Rows: rows.Rows, Matched: matched, Insert: insert}
	if err := w.writable(rows); err != nil {
		return out, err
	}
	if insert {
		if err := w.mustFill(rows); err != nil {
			return out, err
		}
	}
	names := in.On
	if len(names) == 0 {
		names = w.target.Rules.Keys.Primary
	}
	if len(names) == 0 {
		return out, fault.Invalid("on", "must name columns: the table has no primary key")
	}
	for _, name := range names {
		f, ok := w.table.Column(name)
		switch {
		case !ok:
			return out, fault.Invalid("on", "must be columns of the table")
		case w.table.Masks(f.Name):
			return out, fault.Invalid("on", "must not be columns that are masked for the caller")
		case slices.Contains(out.On, f.Name):
			return out, fault.Invalid("on", "must not name a column twice")
		case !constraint.Keyable(f.Type):
			return out, fault.Invalid("on", "must be columns whose values can be compared")
		}
		out.On = append(out.On, f.Name)
	}
	return out, rows.mustName(out.On, "is required: the merge is on it")
}

// mustName refuses rows that do not name columns. The error has the first row of each set of
// columns that lacks one.
func (s staged) mustName(columns []string, message string) error {
	var missing catalog.FieldErrors
	for i, shape := range s.Shapes {
		for _, column := range columns {
			if !slices.Contains(shape, column) {
				place := staging.Problem{Row: s.firsts[i], Column: column}
				missing = append(missing, catalog.FieldError{Field: place.Field(), Message: message})
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}
