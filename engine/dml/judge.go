package dml

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// fresh are the rows that a write adds to the table.
type fresh struct {
	relation
	// index gives the place of each row in the request; nil means that it is the
	// row's own number.
	index func(ctx context.Context, rows []int64) (map[int64]int64, error)
	// changed is the column that says whether a row takes the place of another one;
	// empty means that every row does.
	changed string
	// touches reports whether the write can give a new value to one of the columns;
	// nil means that it can.
	touches func(columns []string) bool
	// free reports whether it is known that no row which stays has the key of a new
	// one; nil means that it is not known of any key.
	free func(key constraint.Key) bool
	// single reports whether it is known that no two new rows have one value of a
	// key; nil means that it is not known of any key.
	single func(key constraint.Key) bool
}

func (w *write) scope(r relation, more ...engine.Source) constraint.Scope {
	return constraint.Scope{Session: w.Session, Sources: append(slices.Clone(r.sources), more...), Lease: w.Lease}
}

// judge holds new rows against the rules of single rows and the writer's filter.
func (w *write) judge(ctx context.Context, f fresh) error {
	all := w.Rules.Rows()
	if w.Filter != "" {
		all = append(all, constraint.RowFilter(w.Filter))
	}
	report, err := w.scope(f.relation).Broken(ctx, all, f.rules())
	if err != nil || report.Total == 0 {
		return err
	}
	broken := &RowsError{Kind: BrokenRule, Total: report.Total}
	rows := make([]int64, len(report.Breaches))
	for i, b := range report.Breaches {
		rows[i] = b.Row
	}
	places, err := f.places(ctx, rows)
	if err != nil {
		return err
	}
	broken.Quiet = w.tells(f, all, report)
	for _, b := range report.Breaches {
		rule := all[b.Rule]
		breach := Breach{Row: places[b.Row], Column: rule.Column}
		switch rule.Kind {
		case constraint.NotNull:
			breach.Column, breach.Message = rule.Name, "must not be null"
		case constraint.Checked:
			breach.Message = "breaks the constraint " + rule.Name
		case constraint.Filtered:
			broken.Kind, breach.Column, breach.Message = BrokenFilter, "", "lies outside the caller's row filter"
		}
		if rule.Kind != constraint.Filtered && w.unseen(rule.Columns) {
			breach.Column, breach.Message = "", "breaks a rule of the table"
		}
		broken.Breaches = append(broken.Breaches, breach)
	}
	return broken
}

// tells reports whether the breaches, or the number of them, would tell which rows
// of the table hold what in columns that the writer does not see.
func (w *write) tells(f fresh, all []constraint.Rule, report constraint.Report) bool {
	if f.index == nil {
		return false // every value is the request's own
	}
	about := func(rule constraint.Rule) bool {
		if rule.Kind == constraint.Filtered {
			return len(w.Hidden)+len(w.Masked) > 0 // a filter may read them
		}
		return w.unseen(rule.Columns)
	}
	return slices.ContainsFunc(report.Breaches, func(b constraint.Breach) bool { return about(all[b.Rule]) }) ||
		report.Total > int64(len(report.Breaches)) && slices.ContainsFunc(all, about)
}

func (f fresh) places(ctx context.Context, rows []int64) (map[int64]int64, error) {
	if f.index != nil {
		return f.index(ctx, rows)
	}
	places := make(map[int64]int64, len(rows))
	for _, r := range rows {
		places[r] = r
	}
	return places, nil
}

// keys are those that the new rows can break.
func (w *write) keys(f fresh) []constraint.Key {
	return slices.DeleteFunc(w.Rules.AllKeys(), func(k constraint.Key) bool {
		return f.touches != nil && !f.touches(keyColumns(k))
	})
}

func keyColumns(k constraint.Key) []string {
	out := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		out[i] = c.Name
	}
	return out
}

// judgeKeys holds new rows against the keys of a version: against the files that
// pass, against what stays of the touched files, and against each other.
func (w *write) judgeKeys(ctx context.Context, f fresh, snap *delta.Snapshot, pass func(path string) bool, stays *relation) error {
	for _, key := range w.keys(f) {
		if f.free != nil && f.free(key) {
			continue
		}
		condition, err := w.scope(f.relation).KeyCondition(ctx, key, f.rules())
		if err != nil {
			return err
		}
		others := []relation{}
		// Where the whole table is read instead, the choice changes no answer.
		restricted := stays != nil && (w.Restricted || w.unseen(keyColumns(key)))
		if list, ok := w.files(snap, condition, restricted); ok {
			if list = restrict(list, func(_ int, path string) bool { return pass(path) }); list.Len() > 0 {
				others = append(others, w.read(snap, list))
			}
		} else if stays == nil && pruning.ReadsLog(snap) {
			others = append(others, w.read(snap, nil))
		} else {
			return ErrNotListed
		}
		if stays != nil {
			others = append(others, *stays)
		}
		for _, table := range others {
			w.readsKeys(snap, table)
			report, err := w.scope(f.relation, table.sources...).Taken(ctx, key, f.rules(), table.rules())
			if err == nil {
				err = w.keyError(ctx, f, key, KeyTaken, report)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readsKeys counts the files of the table behind a relation: those of its list,
// or all.
func (w *write) readsKeys(snap *delta.Snapshot, table relation) {
	n := snap.NumFiles()
	if list := table.sources[0].Files; list != nil {
		n = list.Len()
	}
	if w.KeyFiles != nil {
		w.KeyFiles(n)
	}
}

// judgeRepeats finds keys that two of the new rows have.
func (w *write) judgeRepeats(ctx context.Context, f fresh) error {
	for _, key := range w.keys(f) {
		if f.single != nil && f.single(key) {
			continue
		}
		report, err := w.scope(f.relation).Repeated(ctx, key, f.rules())
		if err == nil {
			err = w.keyError(ctx, f, key, KeyRepeated, report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *write) keyError(ctx context.Context, f fresh, key constraint.Key, kind Kind, report constraint.KeyReport) error {
	if report.Total == 0 {
		return nil
	}
	rows := make([]int64, len(report.Breaches))
	for i, b := range report.Breaches {
		rows[i] = b.Row
	}
	places, err := f.places(ctx, rows)
	if err != nil {
		return err
	}
	out := &RowsError{Kind: kind, Total: report.Total}
	out.Quiet = kind == KeyTaken && !w.whole() || w.unseen(keyColumns(key))
	column, message := keyMessage(key, kind)
	for _, b := range report.Breaches {
		out.Breaches = append(out.Breaches, Breach{Row: places[b.Row], Column: column, Message: message})
	}
	return out
}

// keyMessage is what is said of a row that breaks a key. A key of one column is
// told by the field that is at fault, one of several by their names.
func keyMessage(key constraint.Key, kind Kind) (column, message string) {
	names, which := keyColumns(key), ""
	if len(names) == 1 {
		column = names[0]
	} else {
		which = " (" + strings.Join(names, ", ") + ")"
	}
	if kind == KeyRepeated {
		return column, "another of the new rows has this key" + which
	}
	return column, "a row with this key" + which + " exists"
}
