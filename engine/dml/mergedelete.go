package dml

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// deleted are the rows that a merge deletes by their keys.
type deleted struct {
	// keys are the keys of the request.
	keys relation
	// condition is satisfied by every row with one of the keys, within is SQL for the
	// same with the alias of package constraint.
	condition engine.Condition
	within    string
	// rows has the positions of the visible rows with a key, count is their number, and
	// files are the numbers of their files in the list of the merge.
	rows  relation
	count int64
	files []int
}

// stageDeleted checks that the keys of rows to delete differ from each other and from
// those of the request's rows.
func (j *merge) stageDeleted(ctx context.Context) error {
	if j.m.Delete.Count == 0 {
		return nil
	}
	columns := slices.Clone(j.m.Delete.Columns)
	if j.m.Delete.ShapeColumn != "" {
		columns = append(columns, engine.Column{Name: j.m.Delete.ShapeColumn, Type: sqltype.Integer})
	}
	r := j.scratchFiles(columns, j.m.Delete.File)
	items := []string{engine.QuoteIdent(r.row)}
	for _, name := range j.m.On {
		at := slices.IndexFunc(j.Columns, func(c engine.Column) bool { return c.Name == name })
		items = append(items, j.storable(j.Columns[at], engine.QuoteIdent(name))+" AS "+engine.QuoteIdent(name))
	}
	r.from = "(SELECT " + strings.Join(items, ", ") + " FROM " + r.from + ")"
	j.deleted.keys = r
	scope := j.scope(r)
	span, err := scope.KeySpan(ctx, j.on, r.rules())
	if err != nil {
		return err
	}
	if span.Repeated > 0 {
		report, err := scope.Repeated(ctx, j.on, r.rules())
		if err != nil || report.Total > 0 {
			return orRefused(err, report, "another key of delete is equal")
		}
	}
	if j.m.Count > 0 {
		report, err := j.scope(r, j.rows.sources...).Taken(ctx, j.on, r.rules(), j.rows.rules())
		if err != nil || report.Total > 0 {
			return orRefused(err, report, "one of the rows has this key, too")
		}
	}
	j.deleted.within = span.Within
	j.deleted.condition, err = scope.KeyCondition(ctx, j.on, r.rules())
	return err
}

// orRefused returns err, or the refusal of keys of rows to delete.
func orRefused(err error, report constraint.KeyReport, message string) error {
	if err != nil {
		return err
	}
	out := &RowsError{Kind: KeyRepeated, Total: report.Total}
	for _, b := range report.Breaches {
		out.Breaches = append(out.Breaches, Breach{Row: b.Row, Message: message, Deletes: true})
	}
	return out
}

// orDeleted returns the condition under which a row fulfils condition or has a key of the
// rows to delete.
func (j *merge) orDeleted(condition engine.Condition) engine.Condition {
	switch {
	case j.m.Delete.Count == 0:
		return condition
	case j.m.Count == 0:
		return j.deleted.condition
	}
	return engine.AnyOf(condition, j.deleted.condition)
}

// matchDeleted finds the rows to delete, in the files of the merge's list.
func (j *merge) matchDeleted(ctx context.Context) error {
	if j.m.Delete.Count == 0 {
		return nil
	}
	table := j.shielded(j.read(j.Snapshot, j.list), j.m.On)
	r, visible := engine.QuoteIdent(constraint.Alias), "true"
	if j.Filter != "" {
		visible = "coalesce(TRY((" + j.Filter + ")), false)"
	}
	equal := []string{j.deleted.within}
	for _, name := range j.m.On {
		equal = append(equal, column("s", name)+" IS NOT DISTINCT FROM "+column(r, name))
	}
	// The alias r is the one that qualifies the columns of the filter and of within.
	sql := "SELECT " + column(r, j.names.file) + " AS " + engine.QuoteIdent(j.names.atFile) + ", " + column(r, j.names.row) + " AS " +
		engine.QuoteIdent(j.names.atRow) + ", " + visible + " AS " + engine.QuoteIdent(j.names.visible) +
		" FROM " + table.from + " AS " + r + " JOIN " + j.deleted.keys.from + " AS s ON " + strings.Join(equal, " AND ")
	names, _, err := j.spool(ctx, sql, append(slices.Clone(table.sources), j.deleted.keys.sources...)...)
	if err != nil {
		return err
	}
	j.deleted.rows = j.scratchFiles([]engine.Column{
		{Name: j.names.atFile, Type: sqltype.UInteger}, {Name: j.names.atRow, Type: sqltype.BigInt},
		{Name: j.names.visible, Type: sqltype.Boolean},
	}, names...)
	j.deleted.rows.from = "(SELECT * FROM " + j.deleted.rows.from + " WHERE " + engine.QuoteIdent(j.names.visible) + ")"
	counts, err := j.int64Rows(ctx, "SELECT "+engine.QuoteIdent(j.names.atFile)+"::BIGINT, count(*) FROM "+j.deleted.rows.from+
		" GROUP BY 1 ORDER BY 1", j.deleted.rows.sources...)
	for _, c := range counts {
		j.deleted.files = append(j.deleted.files, int(c[0]))
		j.deleted.count += c[1]
	}
	return err
}

// affected returns the rows that the merge changes or deletes. No row is both, because
// their keys differ.
func (j *merge) affected() (affected, error) {
	matches := j.matchCount > 0 && j.m.Matched != MatchedIgnore
	switch {
	case j.deleted.count == 0 && !matches:
		return affected{}, nil
	case j.deleted.count == 0:
		return j.affectedFiles(j.list, j.matchedFiles, j.matches)
	}
	part := func(r relation, isDeleted string) string {
		return "SELECT " + engine.QuoteIdent(j.names.atFile) + ", " + engine.QuoteIdent(j.names.atRow) + ", " + isDeleted + " AS " +
			engine.QuoteIdent(j.names.deleted) + " FROM " + r.from
	}
	rows := relation{from: part(j.deleted.rows, "true"), sources: j.deleted.rows.sources}
	files := j.deleted.files
	if matches {
		rows.from += " UNION ALL " + part(j.matches, "false")
		rows.sources = unique(slices.Concat(rows.sources, j.matches.sources))
		files = slices.Concat(files, j.matchedFiles)
		slices.Sort(files)
		files = slices.Compact(files)
	}
	rows.from = "(" + rows.from + ")"
	a, err := j.affectedFiles(j.list, files, rows)
	a.deleted = j.names.deleted
	return a, err
}
