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
)

// Changes are rows of the table that a caller's own session has pointed at.
type Changes struct {
	// List is the list of files that the positions are about.
	List *engine.FileList
	// File is a Parquet file in the scratch directory, with the columns
	// [ChangeFile], [ChangeRow] and one of each of Set, in its order, named by
	// [ChangeValue].
	File string
	// Count is the number of rows in it, each another row of the table.
	Count int64
	// Set are the columns that get new values.
	Set []engine.Column
}

// The columns of [Changes.File].
const (
	ChangeFile = "f"
	ChangeRow  = "r"
)

// ChangeValue names the column with the new values of the n-th column that is set.
func ChangeValue(n int) string { return "v" + strconv.Itoa(n) }

// Delete removes the rows that were pointed at. Errors are those of [Insert]; a
// conflict always asks for another plan.
func Delete(ctx context.Context, t Table, o Options, c Changes) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil {
		err = w.changes()
	}
	if err != nil || c.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	hit, err := w.hit(ctx, c.List, w.pointed(c))
	if err != nil {
		return Result{}, err
	}
	out := Result{Snapshot: w.Snapshot, Deleted: c.Count}
	out.Snapshot, err = w.replace(ctx, hit, nil, plan{operation: "DELETE", before: typeDelete, metrics: map[string]int64{"numDeletedRows": c.Count}})
	return out, err
}

// Update gives the rows that were pointed at their new values.
func Update(ctx context.Context, t Table, o Options, c Changes) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil {
		err = w.changes()
	}
	if err != nil || c.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	pointed := w.pointed(c)
	hit, err := w.hit(ctx, c.List, pointed)
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
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + hit.table.from + " AS o JOIN " + hit.rows.from + " AS d ON " + w.same("o", "d")
	names, _, err := w.spool(ctx, sql, hit.sources()...)
	if err != nil {
		return Result{}, err
	}
	f := fresh{relation: w.scratchFiles(w.withID(w.Columns), names...), index: unnumbered, touches: func(columns []string) bool {
		return slices.ContainsFunc(columns, func(name string) bool { return has(c.Set, name) })
	}}
	out := Result{Snapshot: w.Snapshot, Updated: c.Count}
	out.Snapshot, err = w.replaceJudged(ctx, hit, f, plan{operation: "UPDATE", before: typeBefore, metrics: map[string]int64{"numUpdatedRows": c.Count}})
	return out, err
}

// unnumbered says that rows have no place in the request.
func unnumbered(_ context.Context, rows []int64) (map[int64]int64, error) {
	places := make(map[int64]int64, len(rows))
	for _, r := range rows {
		places[r] = -1
	}
	return places, nil
}

// hit are the files that hold rows which go, and these rows.
type hit struct {
	files []delta.File
	// table reads the files, with positions.
	table relation
	// rows are the positions that go, with the columns of their source; atFile and
	// atRow say where, in the numbers of table.
	rows relation
}

func (h hit) sources() []engine.Source {
	return append(slices.Clone(h.table.sources), h.rows.sources...)
}

// pointed is the relation of [Changes.File].
func (w *write) pointed(c Changes) relation {
	columns := []engine.Column{{Name: ChangeFile, Type: "UINTEGER"}, {Name: ChangeRow, Type: "BIGINT"}}
	for i, set := range c.Set {
		columns = append(columns, engine.Column{Name: ChangeValue(i), Type: set.Type})
	}
	r := w.scratchFiles(columns, c.File)
	r.from = "(SELECT " + ChangeFile + " AS " + engine.QuoteIdent(w.names.atFile) + ", " + ChangeRow + " AS " + engine.QuoteIdent(w.names.atRow) +
		", * FROM " + r.from + ")"
	return r
}

// hit finds the files behind positions in a list.
func (w *write) hit(ctx context.Context, list *engine.FileList, rows relation) (hit, error) {
	found, err := w.numbers(ctx, "SELECT DISTINCT "+engine.QuoteIdent(w.names.atFile)+"::BIGINT AS n FROM "+rows.from+" ORDER BY n", rows.sources...)
	if err != nil {
		return hit{}, err
	}
	files := make([]int, len(found))
	for i, n := range found {
		files[i] = int(n[0])
	}
	return w.hitFiles(list, files, rows)
}

// hitFiles is hit where the numbers of the files in the list are known, in order.
func (w *write) hitFiles(list *engine.FileList, numbers []int, rows relation) (hit, error) {
	part := restrict(list, chosen(numbers)).WithPositions(w.positions())
	h := hit{files: liveFiles(w.Snapshot, paths(part)), table: w.track(part), rows: w.renumbered(rows, numbers)}
	if len(h.files) != len(numbers) {
		return hit{}, ErrNotListed
	}
	return h, nil
}

// chosen passes some numbers of files, which are in order.
func chosen(numbers []int) func(number int, _ string) bool {
	return func(number int, _ string) bool {
		_, found := slices.BinarySearch(numbers, number)
		return found
	}
}

// renumbered are positions in a list by the numbers of a part of it, which has the files
// of some numbers. Those in other files have no number.
func (w *write) renumbered(rows relation, numbers []int) relation {
	atFile := engine.QuoteIdent(w.names.atFile)
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	renumbered := "(list_position([" + strings.Join(texts, ", ") + "]::BIGINT[], " + atFile + "::BIGINT) - 1)::UINTEGER"
	return relation{sources: rows.sources, from: "(SELECT * REPLACE (" + renumbered + " AS " + atFile + ") FROM " + rows.from + ")"}
}

// same joins a row of the table with its position.
func (w *write) same(table, rows string) string {
	return column(table, w.names.file) + " = " + column(rows, w.names.atFile) + " AND " + column(table, w.names.row) + " = " + column(rows, w.names.atRow)
}

// stays is what is left of the files that are hit.
func (w *write) stays(h hit) relation {
	return relation{from: "(" + w.left(columnList("o", w.Columns), h.table.from, h.rows.from) + ")", sources: h.sources()}
}

// left are items of the rows of a table, o, that are not among others, by position.
func (w *write) left(items, table, rows string) string {
	return "SELECT " + items + " FROM " + table + " AS o ANTI JOIN " + rows + " AS d ON " + w.same("o", "d")
}

// replaceJudged is replace for new rows that are judged first.
func (w *write) replaceJudged(ctx context.Context, h hit, f fresh, p plan) (*delta.Snapshot, error) {
	if err := w.judge(ctx, f); err != nil {
		return nil, err
	}
	var stays *relation
	gone := map[string]bool{}
	if len(h.files) > 0 {
		left := w.stays(h)
		stays = &left
		for _, file := range h.files {
			gone[file.Name] = true
		}
	}
	if err := w.judgeKeys(ctx, f, w.Snapshot, func(path string) bool { return !gone[path] }, stays); err != nil {
		return nil, err
	}
	if err := w.judgeRepeats(ctx, f); err != nil {
		return nil, err
	}
	return w.replace(ctx, h, &f, p)
}

// replace commits the table without the rows that go and with the new rows.
func (w *write) replace(ctx context.Context, h hit, f *fresh, p plan) (*delta.Snapshot, error) {
	hides := w.hides(h)
	if len(h.files) > 0 && (f != nil || !hides) {
		// Rows go from one file to another, changed or not.
		if err := delta.CheckRewritable(w.Snapshot); err != nil {
			return nil, err
		}
	}
	var err error
	if !hides || f != nil {
		p.adds, err = w.rewrite(ctx, h, f, hides)
	}
	if err != nil || w.DryRun {
		return w.Snapshot, err
	}
	if len(h.files) > 0 && w.Snapshot.ChangeFeed() {
		p.changes, err = w.writeChanges(ctx, h, f, p.before)
	}
	if err == nil && hides {
		p.deletes, err = w.deletions(ctx, h)
	}
	if err != nil {
		return nil, errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), p.uploaded()))
	}
	p.reads = true
	if !hides {
		p.removes = h.files
	}
	p.metrics["numRemovedFiles"], p.metrics["numAddedFiles"] = int64(len(p.removes)), int64(len(p.adds))
	return w.commit(ctx, p, nil)
}

// rewrite writes the new rows and, unless deletion vectors hide the replaced rows, the
// remaining rows of the files that are hit.
func (w *write) rewrite(ctx context.Context, h hit, f *fresh, hides bool) ([]delta.AddFile, error) {
	var o outcome
	var parts []string
	if len(h.files) > 0 && !hides {
		parts, o.sources = w.pieces(h), h.sources()
	}
	if f != nil {
		parts, o.sources = append(parts, "SELECT "+columnList("", w.Columns)+w.changed()+" FROM "+f.from), append(o.sources, f.sources...)
	}
	o.sql, o.more, o.sources = strings.Join(parts, " UNION ALL "), w.hiddenColumns(), unique(o.sources)
	if !hides && w.gathers(h) {
		o.sql = "WITH " + w.names.gathered + " AS MATERIALIZED (" + o.sql + ") SELECT * FROM " + w.names.gathered
		o.rowGroup = gatheredGroup
	}
	adds, err := w.output(ctx, o)
	tags := datafile.CurveTags(w.Snapshot)
	for i := range adds {
		adds[i].Tags = tags
	}
	return adds, err
}
