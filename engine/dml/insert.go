package dml

import (
	"context"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// Insert adds the rows of a request. Errors: *[RowsError], those of the session,
// of the store, and of [delta.Txn.Commit]; after one of the family of
// [delta.ErrConflict] it can be planned again from a newer version.
func Insert(ctx context.Context, t Table, o Options, rows Rows) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err != nil || rows.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	staged, err := w.staged(rows, true)
	if err != nil {
		return Result{}, err
	}
	f := fresh{relation: staged}
	if err := w.judge(ctx, f); err != nil {
		return Result{}, err
	}
	if err := w.judgeKeys(ctx, f, w.Snapshot, func(string) bool { return true }, nil); err != nil {
		return Result{}, err
	}
	if err := w.judgeRepeats(ctx, f); err != nil {
		return Result{}, err
	}
	adds, err := w.output(ctx, outcome{sql: "SELECT " + columnList("", w.Columns) + " FROM " + f.from, sources: f.sources})
	if err != nil {
		return Result{}, err
	}
	out := Result{Snapshot: w.Snapshot, Inserted: rows.Count}
	if w.DryRun {
		return out, nil
	}
	keyed := len(w.keys(f)) > 0
	p := plan{operation: "WRITE", adds: adds, reads: keyed, metrics: map[string]int64{
		"numFiles": int64(len(adds)), "numOutputRows": rows.Count, "numOutputBytes": bytesOf(adds),
	}}
	var again func(context.Context, *delta.Snapshot, *delta.Snapshot) error
	if keyed {
		again = func(ctx context.Context, from, to *delta.Snapshot) error {
			return w.judgeKeys(ctx, f, to, wonIn(from, to), nil)
		}
	}
	out.Snapshot, err = w.commit(ctx, p, again)
	return out, err
}

// wonIn tells the files that came between two versions.
func wonIn(from, to *delta.Snapshot) func(path string) bool {
	before := make(map[string]bool, from.NumFiles())
	for f := range from.Files() {
		before[f.Name] = true
	}
	return func(path string) bool { return !before[path] }
}
