package dml

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Changes are the rows of the table that a statement in the caller's session
// selected.
type Changes struct {
	// List is the list of files that the positions refer to.
	List *engine.FileList
	// File is a Parquet file in the scratch directory, with the columns
	// [ChangeFile] and [ChangeRow] and, for each column of Set in order, its new
	// values in [ChangeValue].
	File string
	// Count is the number of rows in File. No two of them have the same position.
	Count int64
	// Set are the columns that get new values.
	Set []engine.Column
}

// The columns of [Changes.File].
const (
	ChangeFile = "f"
	ChangeRow  = "r"
)

// ChangeValue returns the name of the column with the new values of the nth column
// that is set.
func ChangeValue(n int) string { return "v" + strconv.Itoa(n) }

// Delete deletes the selected rows. Errors are those of [Insert]; after any
// conflict the caller has to plan again.
func Delete(ctx context.Context, t Table, o Options, c Changes) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil {
		err = w.checkMutable()
	}
	if err != nil || c.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	hits, err := w.affectedBy(ctx, c.List, w.targets(c))
	if err != nil {
		return Result{}, err
	}
	out := Result{Snapshot: w.Snapshot, Deleted: c.Count}
	out.Snapshot, err = w.replace(ctx, hits, nil,
		plan{operation: "DELETE", before: typeDelete, metrics: map[string]int64{"numDeletedRows": c.Count}})
	return out, err
}

// Update gives the selected rows their new values. Errors are those of [Delete].
func Update(ctx context.Context, t Table, o Options, c Changes) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil {
		err = w.checkMutable()
	}
	if err != nil || c.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	targets := w.targets(c)
	hits, err := w.affectedBy(ctx, c.List, targets)
	if err != nil {
		return Result{}, err
	}
	items := make([]string, len(w.Columns))
	for i, column := range w.Columns {
		items[i] = "o." + engine.QuoteIdent(column.Name)
		if n := slices.IndexFunc(c.Set, func(set engine.Column) bool { return set.Name == column.Name }); n >= 0 {
			items[i] = w.storable(column, "d."+ChangeValue(n)) + " AS " + engine.QuoteIdent(column.Name)
		}
	}
	items = append(items, w.idItems(w.idOf("o"))...)
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + hits.table.from + " AS o JOIN " + hits.rows.from + " AS d ON " +
		w.samePosition("o", "d")
	names, _, err := w.spool(ctx, sql, hits.sources()...)
	if err != nil {
		return Result{}, err
	}
	rows := newRows{relation: w.scratchFiles(w.withID(w.Columns), names...), requestRows: withoutRequestRow,
		canChange: func(columns []string) bool {
			return slices.ContainsFunc(columns, func(name string) bool { return hasColumn(c.Set, name) })
		}}
	out := Result{Snapshot: w.Snapshot, Updated: c.Count}
	out.Snapshot, err = w.checkAndReplace(ctx, hits, rows,
		plan{operation: "UPDATE", before: typeBefore, metrics: map[string]int64{"numUpdatedRows": c.Count}})
	return out, err
}

// withoutRequestRow maps each row to -1: an update's rows have no index in the
// request.
func withoutRequestRow(_ context.Context, rows []int64) (map[int64]int64, error) {
	places := make(map[int64]int64, len(rows))
	for _, r := range rows {
		places[r] = -1
	}
	return places, nil
}

// affected holds the rows to delete or replace, and the files that contain them.
type affected struct {
	files []delta.File
	// table reads the files, with row positions.
	table relation
	// rows holds the positions of the rows, as the file's number in table and the
	// row's number in the file (atFile and atRow), and the columns of their source.
	rows relation
	// deleted names a BOOLEAN column of rows that reports that no new row replaces the
	// row; if empty, the plan says what becomes of the rows.
	deleted string
}

func (a affected) sources() []engine.Source {
	return append(slices.Clone(a.table.sources), a.rows.sources...)
}

// targets returns the relation of [Changes.File].
func (w *write) targets(c Changes) relation {
	columns := []engine.Column{{Name: ChangeFile, Type: sqltype.UInteger}, {Name: ChangeRow, Type: sqltype.BigInt}}
	for i, set := range c.Set {
		columns = append(columns, engine.Column{Name: ChangeValue(i), Type: set.Type})
	}
	r := w.scratchFiles(columns, c.File)
	r.from = "(SELECT " + ChangeFile + " AS " + engine.QuoteIdent(w.names.atFile) + ", " +
		ChangeRow + " AS " + engine.QuoteIdent(w.names.atRow) + ", * FROM " + r.from + ")"
	return r
}

// affectedBy returns the files that the positions in rows refer to. The file
// numbers of rows are those of list.
func (w *write) affectedBy(ctx context.Context, list *engine.FileList, rows relation) (affected, error) {
	found, err := w.int64Rows(ctx, "SELECT DISTINCT "+engine.QuoteIdent(w.names.atFile)+"::BIGINT AS n FROM "+rows.from+" ORDER BY n",
		rows.sources...)
	if err != nil {
		return affected{}, err
	}
	files := make([]int, len(found))
	for i, n := range found {
		files[i] = int(n[0])
	}
	return w.affectedFiles(list, files, rows)
}

// affectedFiles is affectedBy for known file numbers, in ascending order.
func (w *write) affectedFiles(list *engine.FileList, numbers []int, rows relation) (affected, error) {
	part := restrict(list, hasNumber(numbers)).WithPositions(w.positions())
	a := affected{files: liveFiles(w.Snapshot, paths(part)), table: w.readWithIDs(part), rows: w.renumbered(rows, numbers)}
	if len(a.files) != len(numbers) {
		return affected{}, ErrNotListed
	}
	return a, nil
}

// hasNumber returns a filter for [restrict] that passes the files with the given
// numbers, which are in ascending order.
func hasNumber(numbers []int) func(number int, _ string) bool {
	return func(number int, _ string) bool {
		_, found := slices.BinarySearch(numbers, number)
		return found
	}
}

// renumbered converts the file numbers of rows, which are those of a list, to those
// of the part of the list that consists of the given files. Rows in other files get
// NULL.
func (w *write) renumbered(rows relation, numbers []int) relation {
	atFile := engine.QuoteIdent(w.names.atFile)
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	renumbered := "(list_position([" + strings.Join(texts, ", ") + "]::BIGINT[], " + atFile + "::BIGINT) - 1)::UINTEGER"
	return relation{sources: rows.sources, from: "(SELECT * REPLACE (" + renumbered + " AS " + atFile + ") FROM " + rows.from + ")"}
}

// samePosition returns the SQL condition that a row of a table has a position of
// rows.
func (w *write) samePosition(table, rows string) string {
	return column(table, w.names.file) + " = " + column(rows, w.names.atFile) + " AND " +
		column(table, w.names.row) + " = " + column(rows, w.names.atRow)
}

// remaining returns the rows of the affected files that stay.
func (w *write) remaining(a affected) relation {
	return relation{from: "(" + w.exceptRows(columnList("o", w.Columns), a.table.from, a.rows.from) + ")", sources: a.sources()}
}

// exceptRows returns a query for items of the rows of table, aliased o, whose
// position is not in rows.
func (w *write) exceptRows(items, table, rows string) string {
	return "SELECT " + items + " FROM " + table + " AS o ANTI JOIN " + rows + " AS d ON " + w.samePosition("o", "d")
}

// checkAndReplace checks the new rows, then calls replace.
func (w *write) checkAndReplace(ctx context.Context, a affected, rows newRows, p plan) (*delta.Snapshot, error) {
	var remaining *relation
	removed := map[string]bool{}
	if len(a.files) > 0 {
		others := w.remaining(a)
		remaining = &others
		for _, file := range a.files {
			removed[file.Name] = true
		}
	}
	if err := w.check(ctx, rows, func(path string) bool { return !removed[path] }, remaining); err != nil {
		return nil, err
	}
	return w.replace(ctx, a, &rows, p)
}

// replace commits the table without the affected rows and with the new rows. A nil
// rows adds none.
func (w *write) replace(ctx context.Context, a affected, rows *newRows, p plan) (*delta.Snapshot, error) {
	useVectors := w.usesVectors(a)
	if len(a.files) > 0 && (rows != nil || !useVectors) {
		// Remaining and changed rows move to other files.
		if err := delta.CheckRewritable(w.Snapshot); err != nil {
			return nil, err
		}
	}
	var err error
	if !useVectors || rows != nil {
		p.adds, err = w.rewrite(ctx, a, rows, useVectors)
	}
	if err != nil || w.DryRun {
		return w.Snapshot, err
	}
	if len(a.files) > 0 && w.Snapshot.ChangeFeed() {
		p.changes, err = w.writeChanges(ctx, a, rows, p.before)
	}
	if err == nil && useVectors {
		p.deletes, err = w.deletions(ctx, a)
	}
	if err != nil {
		return nil, errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), p.uploaded()))
	}
	p.reads = true
	if !useVectors {
		p.removes = a.files
	}
	p.metrics["numRemovedFiles"], p.metrics["numAddedFiles"] = int64(len(p.removes)), int64(len(p.adds))
	return w.commit(ctx, p, nil)
}

// rewrite writes the new rows and, unless deletion vectors mark the affected rows,
// the remaining rows of the affected files.
func (w *write) rewrite(ctx context.Context, a affected, rows *newRows, useVectors bool) ([]delta.AddFile, error) {
	var o rowQuery
	var parts []string
	if len(a.files) > 0 && !useVectors {
		parts, o.sources = w.remainingQueries(a), a.sources()
	}
	if rows != nil {
		parts, o.sources = append(parts, "SELECT "+columnList("", w.Columns)+w.updatedIDItems()+" FROM "+rows.from),
			append(o.sources, rows.sources...)
	}
	o.sql, o.extra, o.sources = strings.Join(parts, " UNION ALL "), w.storedIDColumns(), unique(o.sources)
	if !useVectors && w.materializes(a) {
		o.sql = "WITH " + w.names.materialized + " AS MATERIALIZED (" + o.sql + ") SELECT * FROM " + w.names.materialized
		o.rowGroup = materializedRowGroup
	}
	adds, err := w.writeFiles(ctx, o)
	tags := datafile.CurveTags(w.Snapshot)
	for i := range adds {
		adds[i].Tags = tags
	}
	return adds, err
}
