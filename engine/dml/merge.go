package dml

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Matched says what a merge does with existing rows that match rows of the request.
type Matched string

// The choices.
const (
	MatchedUpdate Matched = "update"
	MatchedIgnore Matched = "ignore"
	MatchedDelete Matched = "delete"
)

// MergeRows is a merge. Rows match if all columns of On are equal, where NULL
// equals NULL.
type MergeRows struct {
	Rows
	// On are columns of the table, in the table's spelling.
	On      []string
	Matched Matched
	// Insert adds the rows that match no row of the table.
	Insert bool
	// Delete are the keys of rows that the merge deletes: different values of On, which
	// no row of the request has. Rows with a key that the writer does not see stay.
	Delete Rows
}

// Changes reports whether an update gives a column a new value: some row of the request names it, and
// the merge is not on it.
func (m MergeRows) Changes(column string) bool {
	naming, _ := m.naming(column, "")
	return naming != "" && !slices.Contains(m.On, column)
}

// Merge merges the rows of a request into the table. An update changes the columns
// that the row names, except those of On. Rows that the writer does not see never
// match. If the columns of On are exactly those of a key of the table, a row of the
// request with the key of a hidden row is [ErrHiddenMatch], because it could be
// neither updated nor inserted. With more columns in On that error would reveal
// their values in the hidden row. The rows that Delete names are deleted in the same
// commit, and new rows can have their keys. Errors are those of [Update].
func Merge(ctx context.Context, t Table, o Options, m MergeRows) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil && (m.Matched != MatchedIgnore || m.Delete.Count > 0) {
		err = w.checkMutable()
	}
	if err != nil || m.Count == 0 && m.Delete.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	staged, err := w.staged(m.Rows, m.Insert && m.Count > 0)
	if err != nil {
		return Result{}, err
	}
	j := &merge{write: w, m: m, rows: staged, on: w.mergeKey(m.On)}
	j.asRequested = m.Matched != MatchedUpdate || j.replacesAllColumns()
	if err := j.stageDeleted(ctx); err != nil {
		return Result{}, err
	}
	if err := j.match(ctx); err != nil {
		return Result{}, err
	}
	if err := j.matchDeleted(ctx); err != nil {
		return Result{}, err
	}
	return j.run(ctx)
}

// merge is a merge in progress.
type merge struct {
	*write
	m    MergeRows
	rows relation
	on   constraint.Key
	// asRequested reports that every row to write equals a row of the request.
	asRequested bool
	// list holds the files that can contain matching rows. within is an SQL
	// condition that matching rows fulfil, with the alias of package constraint.
	list   *engine.FileList
	within string
	// matches has one row for each pair of matching rows: index, the position in
	// list, and, unless asRequested is true, the table's columns with their values
	// after the update.
	matches relation
	// matchCount is the number of pairs, matchedRequestRows the number of different
	// rows of the request in them, and matchedFiles are the numbers of their files
	// in list.
	matchCount, matchedRequestRows int64
	matchedFiles                   []int
	// deleted are the rows that Delete names.
	deleted deleted
}

func (w *write) mergeKey(on []string) constraint.Key {
	key := constraint.Key{Name: "on", NullsEqual: true}
	for _, name := range on {
		f, _ := w.Snapshot.Schema().Field(name)
		key.Columns = append(key.Columns, constraint.KeyColumn{Name: name, Type: f.Type})
	}
	return key
}

// fewFiles is the number of files up to which reading them costs less than
// excluding some by their keys.
const fewFiles = 2

// candidateFiles lists the files that can contain rows that match the request's
// rows, or that the merge deletes. It returns an error if two rows of the request match each other.
func (j *merge) candidateFiles(ctx context.Context) (*engine.FileList, error) {
	scope := j.scope(j.rows)
	span, err := scope.KeySpan(ctx, j.on, j.rows.rules())
	if err != nil {
		return nil, err
	}
	if span.Repeated > 0 {
		report, err := scope.Repeated(ctx, j.on, j.rows.rules())
		if err == nil {
			err = j.keyError(ctx, newRows{relation: j.rows}, j.on, KeyRepeated, report)
		}
		if err != nil {
			return nil, err
		}
	}
	j.within = span.Within
	if list, ok := j.files(j.Snapshot, j.orDeleted(span.Condition), j.Restricted); ok && list.Len() <= fewFiles {
		return list, nil
	}
	condition, err := scope.KeyCondition(ctx, j.on, j.rows.rules())
	if err != nil {
		return nil, err
	}
	list, ok := j.files(j.Snapshot, j.orDeleted(condition), j.Restricted)
	if !ok {
		return nil, ErrNotListed
	}
	return list, nil
}

// match finds the rows of the table that match the request's rows.
func (j *merge) match(ctx context.Context) error {
	list, err := j.candidateFiles(ctx)
	if err != nil {
		return err
	}
	j.list = list.WithPositions(j.positions())
	table := j.shielded(j.readWithIDs(j.list), j.m.On)
	r, s := engine.QuoteIdent(constraint.Alias), "s"
	visible, where := "true", ""
	if j.Filter != "" {
		seen := "coalesce(TRY((" + j.Filter + ")), false)"
		if blocks := j.blocksCondition(s); blocks != noRow && !j.keysUnchecked() {
			visible = "CASE WHEN " + seen + " THEN true WHEN " + blocks + " THEN false END"
		} else {
			// A file of hidden matches would take time to write.
			where = " WHERE " + seen
		}
	}
	items := []string{
		column(s, j.rows.row) + " AS " + engine.QuoteIdent(j.names.index),
		column(r, j.names.file) + " AS " + engine.QuoteIdent(j.names.atFile), column(r, j.names.row) + " AS " + engine.QuoteIdent(j.names.atRow),
		visible + " AS " + engine.QuoteIdent(j.names.visible),
	}
	items = append(items, j.idItems(j.idOf(r))...)
	if !j.asRequested {
		for _, c := range j.Columns {
			items = append(items, j.updated(c, s, r)+" AS "+engine.QuoteIdent(c.Name))
		}
	}
	equal := []string{j.within}
	for _, name := range j.m.On {
		equal = append(equal, column(s, name)+" IS NOT DISTINCT FROM "+column(r, name))
	}
	// The alias r is the one that qualifies the columns of the filter and of within.
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + table.from + " AS " + r + " JOIN " + j.rows.from + " AS s ON " +
		strings.Join(equal, " AND ") + where
	names, _, err := j.spool(ctx, sql, append(slices.Clone(table.sources), j.rows.sources...)...)
	if err != nil {
		return err
	}
	columns := []engine.Column{
		{Name: j.names.index, Type: sqltype.BigInt}, {Name: j.names.atFile, Type: sqltype.UInteger}, {Name: j.names.atRow, Type: sqltype.BigInt},
		{Name: j.names.visible, Type: sqltype.Boolean},
	}
	columns = j.withID(columns)
	if !j.asRequested {
		columns = append(columns, j.Columns...)
	}
	j.matches = j.scratchFiles(columns, names...)
	return j.dropHidden(ctx)
}

// noRow is the SQL condition that no row satisfies.
const noRow = "false"

// blocksCondition returns the SQL condition under which a hidden row prevents a
// matching row of the request from being written: both have the same key.
func (j *merge) blocksCondition(rows string) string {
	keys := j.Rules.AllKeys()
	at := slices.IndexFunc(keys, j.onIsKey)
	if at < 0 || !j.m.Insert { // a row that is not inserted meets no key
		return noRow
	}
	parts := []string{"true"}
	for _, name := range keyColumns(keys[at]) {
		if !keys[at].NullsEqual {
			parts = append(parts, column(rows, name)+" IS NOT NULL")
		}
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// dropHidden removes rows that the writer does not see from the matches. Their
// column visible is FALSE for a row that prevents the write, which is an error, and
// NULL for any other.
func (j *merge) dropHidden(ctx context.Context) error {
	visible := engine.QuoteIdent(j.names.visible)
	counts, err := j.int64Rows(ctx,
		"SELECT "+engine.QuoteIdent(j.names.atFile)+"::BIGINT, count(*) FILTER ("+visible+"), count(*) FILTER (NOT "+visible+"),"+
			" (SELECT count(DISTINCT "+engine.QuoteIdent(j.names.index)+") FROM "+j.matches.from+" WHERE "+visible+")"+
			" FROM "+j.matches.from+" GROUP BY 1 ORDER BY 1", j.matches.sources...)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c[2] > 0 {
			return ErrHiddenMatch
		}
		if c[1] > 0 {
			j.matchedFiles = append(j.matchedFiles, int(c[0]))
		}
		j.matchCount, j.matchedRequestRows = j.matchCount+c[1], c[3]
	}
	j.matches.from = "(SELECT * FROM " + j.matches.from + " WHERE " + visible + ")"
	return nil
}

// replacesAllColumns reports whether an update keeps no value of the existing row:
// every row of the request names every column, and equal values of On are
// identical, which is not true of floats.
func (j *merge) replacesAllColumns() bool {
	for _, c := range j.Columns {
		if !hasColumn(j.m.Columns, c.Name) ||
			slices.ContainsFunc(j.m.Shapes, func(shape []string) bool { return !slices.Contains(shape, c.Name) }) {
			return false
		}
	}
	return !slices.ContainsFunc(j.on.Columns, func(c constraint.KeyColumn) bool { return c.Type == delta.Float || c.Type == delta.Double })
}

// onIsKey reports whether On consists of exactly the columns of the key. Every
// existing row with the key of a new row has matched then: a visible one is
// replaced, and a hidden one has ended the merge.
func (j *merge) onIsKey(k constraint.Key) bool {
	return len(k.Columns) == len(j.m.On) &&
		!slices.ContainsFunc(keyColumns(k), func(name string) bool { return !slices.Contains(j.m.On, name) })
}

// updated returns SQL for a column's value after an update: the request's, if the
// row names the column.
func (j *merge) updated(c engine.Column, rows, table string) string {
	naming, others := j.m.naming(c.Name, column(rows, j.m.ShapeColumn))
	switch {
	case naming == "" || slices.Contains(j.m.On, c.Name):
		return column(table, c.Name)
	case !others:
		return column(rows, c.Name)
	}
	return "CASE WHEN " + naming + " THEN " + column(rows, c.Name) + " ELSE " + column(table, c.Name) + " END"
}

// run checks and writes the rows that the merge changes and adds.
func (j *merge) run(ctx context.Context) (Result, error) {
	out := Result{Snapshot: j.Snapshot, Deleted: j.deleted.count}
	a, err := j.affected()
	if err != nil {
		return Result{}, err
	}
	switch j.m.Matched {
	case MatchedUpdate:
		out.Updated = j.matchCount
	case MatchedDelete:
		out.Deleted += j.matchCount
	}
	added, rows, err := j.rowsToWrite(ctx)
	if err != nil {
		return Result{}, err
	}
	out.Inserted = rows - out.Updated
	p := plan{operation: "MERGE", before: typeBefore, metrics: map[string]int64{
		"numSourceRows": j.m.Count, "numTargetRowsInserted": out.Inserted, "numTargetRowsUpdated": out.Updated,
		"numTargetRowsDeleted": out.Deleted,
	}}
	if j.m.Matched == MatchedDelete {
		p.before = typeDelete
	}
	switch {
	case rows > 0:
		out.Snapshot, err = j.checkAndReplace(ctx, a, added, p)
	case len(a.files) > 0:
		out.Snapshot, err = j.replace(ctx, a, nil, p)
	}
	return out, err
}

// rowsToWrite returns the changed and added rows, and their number. Rows that equal
// a row of the request, each written at most once, are read from the request's
// file.
func (j *merge) rowsToWrite(ctx context.Context) (newRows, int64, error) {
	index, row := engine.QuoteIdent(j.names.index), column("s", j.rows.row)
	items := func(columns, index, changed, id string) string {
		all := append([]string{columns, index, changed + " AS " + engine.QuoteIdent(j.names.changed)}, j.idItems(id)...)
		return "SELECT " + strings.Join(all, ", ")
	}
	staged := func(changed, id string) string {
		return items(columnList("s", j.Columns), row+" AS "+index, changed, id) + " FROM " + j.rows.from + " AS s"
	}
	joinMatches := " JOIN " + j.matches.from + " AS d ON " + row + " = d." + index
	matched, unmatched := staged("true", j.idOf("d"))+joinMatches, staged("false", "NULL::BIGINT")+" ANTI"+joinMatches
	both := unique(append(slices.Clone(j.rows.sources), j.matches.sources...))
	if !j.asRequested {
		matched = items(columnList("", j.Columns), index, "true", j.idOf("")) + " FROM " + j.matches.from
	}
	all := matched + " UNION ALL " + unmatched
	updates, once := j.m.Matched == MatchedUpdate && j.matchCount > 0, j.asRequested && j.matchedRequestRows == j.matchCount
	switch {
	case !updates && !j.m.Insert:
		return newRows{}, 0, nil
	case !updates:
		return j.fromRequest(unmatched, both), j.m.Count - j.matchedRequestRows, nil
	case once && !j.m.Insert:
		return j.fromRequest(matched, both), j.matchCount, nil
	case once && (j.Snapshot.ChangeFeed() || j.ids != nil || slices.ContainsFunc(j.Domains, j.isOnKey)):
		return j.fromRequest(all, both), j.m.Count, nil
	case once: // nothing depends on which rows replace others
		return j.fromRequest(staged("NULL", ""), j.rows.sources), j.m.Count, nil
	case !j.m.Insert:
		all = matched
	}
	names, rows, err := j.spool(ctx, all, both...)
	return j.spooled(names), rows, err
}

// fromRequest returns new rows that are rows of the request. No two of them have
// equal columns of On: candidateFiles has checked that.
func (j *merge) fromRequest(sql string, sources []engine.Source) newRows {
	return newRows{
		relation: relation{from: "(" + sql + ")", sources: sources, row: j.names.index},
		changed:  j.names.changed, adds: j.m.Insert, canChange: j.canChange,
		knownFree: j.onIsKey, knownDistinct: j.onIsKey, requestRows: sameRows,
	}
}

// spooled returns new rows that are read from files that have the rows' indexes in
// the request.
func (j *merge) spooled(names []string) newRows {
	columns := append(slices.Clone(j.Columns), engine.Column{Name: j.names.index, Type: sqltype.BigInt},
		engine.Column{Name: j.names.changed, Type: sqltype.Boolean})
	r := j.scratchFiles(j.withID(columns), names...)
	return newRows{relation: r, changed: j.names.changed, adds: j.m.Insert, canChange: j.canChange, knownFree: j.onIsKey,
		requestRows: func(ctx context.Context, rows []int64) (map[int64]int64, error) {
			texts := make([]string, len(rows))
			for i, n := range rows {
				texts[i] = strconv.FormatInt(n, 10)
			}
			found, err := j.int64Rows(ctx, "SELECT "+engine.QuoteIdent(r.row)+", "+engine.QuoteIdent(j.names.index)+" FROM "+r.from+
				" WHERE "+engine.QuoteIdent(r.row)+" IN ("+strings.Join(texts, ", ")+")", r.sources...)
			places := make(map[int64]int64, len(found))
			for _, pair := range found {
				places[pair[0]] = pair[1]
			}
			return places, err
		}}
}

// canChange reports whether an update gives one of the columns a new value.
func (j *merge) canChange(columns []string) bool { return slices.ContainsFunc(columns, j.m.Changes) }

// isOnKey reports whether an update leaves the columns of a domain unchanged, so that
// only added rows are checked.
func (j *merge) isOnKey(d Domain) bool { return !j.canChange(d.Rule.Columns) }
