package dml

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// changeColumn is the column of change files that says what became of a row, and
// the values that it has (protocol, "Change Data Files").
const (
	// The column of change data files that holds the type of a change, and its
	// values (protocol, "Change Data Files").
	changeColumn = "_change_type"
	typeInsert   = "insert"
	typeDelete   = "delete"
	typeBefore   = "update_preimage"
	typeAfter    = "update_postimage"
)

// reservedByFeed reports whether readers of the change data feed add a column of
// this name.
func reservedByFeed(name string) bool {
	return slices.Contains([]string{changeColumn, "_commit_version", "_commit_timestamp"}, strings.ToLower(name))
}

// writeChanges writes and uploads the change data files: the affected rows as they
// were, and the new rows. Commits that only add or only remove files need none:
// readers derive their changes from the files.
func (w *write) writeChanges(ctx context.Context, a affected, rows *newRows, before string) ([]delta.ChangeFile, error) {
	change := engine.QuoteString(before)
	if a.deleted != "" {
		change = "CASE WHEN " + column("d", a.deleted) + " THEN " + engine.QuoteString(typeDelete) + " ELSE " + change + " END"
	}
	sql := "SELECT " + columnList("o", w.Columns) + ", " + change + " AS " + changeColumn +
		" FROM " + a.table.from + " AS o JOIN " + a.rows.from + " AS d ON " + w.samePosition("o", "d")
	sources := a.sources()
	if rows != nil {
		after := engine.QuoteString(typeAfter)
		if rows.changed != "" {
			after = "CASE WHEN " + engine.QuoteIdent(rows.changed) + " THEN " + after + " ELSE " + engine.QuoteString(typeInsert) + " END"
		}
		sql += " UNION ALL SELECT " + columnList("", w.Columns) + ", " + after + " FROM " + rows.from
		sources = append(sources, rows.sources...)
	}
	dir, files, err := w.writeLocal(ctx, rowQuery{sql: sql, extra: []string{changeColumn}, sources: unique(sources)})
	if err != nil {
		return nil, err
	}
	return datafile.UploadChanges(ctx, w.Snapshot, dir, files)
}
