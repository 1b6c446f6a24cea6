package dml

import (
	"context"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// Insert adds the rows of a request. It returns *[RowsError], errors of the session
// and the store, and those of [delta.Txn.Commit]. After an error that wraps
// [delta.ErrConflict] the caller can plan the insert again from a newer version.
func Insert(ctx context.Context, t Table, o Options, rows Rows) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err != nil || rows.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	staged, err := w.staged(rows, true)
	if err != nil {
		return Result{}, err
	}
	added := newRows{relation: staged}
	if err := w.check(ctx, added, func(string) bool { return true }, nil); err != nil {
		return Result{}, err
	}
	adds, err := w.writeFiles(ctx, rowQuery{sql: "SELECT " + columnList("", w.Columns) + " FROM " + added.from, sources: added.sources})
	if err != nil {
		return Result{}, err
	}
	out := Result{Snapshot: w.Snapshot, Inserted: rows.Count}
	if w.DryRun {
		return out, nil
	}
	keyed := len(w.affectedKeys(added)) > 0
	p := plan{operation: "WRITE", adds: adds, reads: keyed, metrics: map[string]int64{
		"numFiles": int64(len(adds)), "numOutputRows": rows.Count, "numOutputBytes": totalBytes(adds),
	}}
	var recheck func(context.Context, *delta.Snapshot, *delta.Snapshot) error
	if keyed {
		recheck = func(ctx context.Context, from, to *delta.Snapshot) error {
			return w.checkKeys(ctx, added, to, addedBetween(from, to), nil)
		}
	}
	out.Snapshot, err = w.commit(ctx, p, recheck)
	return out, err
}

// addedBetween returns a filter that passes the files of version to that version
// from does not have.
func addedBetween(from, to *delta.Snapshot) func(path string) bool {
	before := make(map[string]bool, from.NumFiles())
	for f := range from.Files() {
		before[f.Name] = true
	}
	return func(path string) bool { return !before[path] }
}
