package write

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// MergeInput is a merge. Members of a JSON body take precedence.
type MergeInput struct {
	Body
	// On are column names; empty means the primary key.
	On []string
	// WhenMatched is update (also for ""), ignore or delete; WhenNotMatched insert
	// (also for "") or ignore.
	WhenMatched, WhenNotMatched string
	// keys are those of rows to delete in the same commit, the member delete of a JSON body:
	// a list of objects with the columns that the merge is on.
	keys json.RawMessage
}

// Merge joins rows with those of a table. It asks for the scopes of what it may
// do. Errors are those of [Service.Insert], and dml.ErrHiddenMatch.
func (o Service) Merge(ctx context.Context, path access.Path, in MergeInput, options Options) (Result, error) {
	var rows staged
	var gone deletedKeys
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
			if err := w.permitsMerge(ctx, in); err != nil {
				return err
			}
			gone, err = w.stageDeletedKeys(ctx, in)
			return err
		}, func(ctx context.Context, w *writing) (dml.Result, error) {
			merge, err := w.merge(in, rows, gone)
			if err == nil && merge.Matched == dml.MatchedUpdate {
				err = w.mayChange(ctx, "rows", merge.Changes)
			}
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
		case "delete":
			in.keys = members[name]
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
	if in.deletes() && !slices.Contains(scopes, auth.ScopeRowsDelete) {
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
func (w *writing) merge(in MergeInput, rows staged, gone deletedKeys) (dml.MergeRows, error) {
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
	if out.On, err = w.mergeOn(in); err != nil {
		return out, err
	}
	if gone.Count > 0 && !slices.Equal(out.On, gone.on) {
		return out, errChangedKey
	}
	out.Delete = gone.Rows
	return out, rows.mustName(out.On, "is required: the merge is on it")
}

// mergeOn returns the columns that a merge is on, in the table's spelling.
func (w *writing) mergeOn(in MergeInput) (on []string, err error) {
	names := in.On
	if len(names) == 0 {
		names = w.target.Rules.Keys.Primary
	}
	if len(names) == 0 {
		return nil, fault.Invalid("on", "must name columns: the table has no primary key")
	}
	for _, name := range names {
		f, ok := w.table.Column(name)
		switch {
		case !ok:
			return nil, fault.Invalid("on", "must be columns of the table")
		case w.table.Masks(f.Name):
			return nil, fault.Invalid("on", "must not be columns that are masked for the caller")
		case slices.Contains(on, f.Name):
			return nil, fault.Invalid("on", "must not name a column twice")
		case !constraint.Keyable(f.Type):
			return nil, fault.Invalid("on", "must be columns whose values can be compared")
		}
		on = append(on, f.Name)
	}
	return on, nil
}
