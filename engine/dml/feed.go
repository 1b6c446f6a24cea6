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
	changeColumn = "_change_type"
	typeInsert   = "insert"
	typeDelete   = "delete"
	typeBefore   = "update_preimage"
	typeAfter    = "update_postimage"
)

// reservedByFeed reports the name of a column that readers of the feed add.
func reservedByFeed(name string) bool {
	return slices.Contains([]string{changeColumn, "_commit_version", "_commit_timestamp"}, strings.ToLower(name))
}

// writeChanges writes and uploads the files of the feed of changes: the rows that
// go, as they were, and the new ones. A commit that only adds files or only removes
// them tells its changes by that.
func (w *write) writeChanges(ctx context.Context, h hit, f *fresh, before string) ([]delta.ChangeFile, error) {
	sql := "SELECT " + columnList("o", w.Columns) + ", " + engine.QuoteString(before) + " AS " + changeColumn +
		" FROM " + h.table.from + " AS o JOIN " + h.rows.from + " AS d ON " + w.same("o", "d")
	sources := h.sources()
	if f != nil {
		after := engine.QuoteString(typeAfter)
		if f.changed != "" {
			after = "CASE WHEN " + engine.QuoteIdent(f.changed) + " THEN " + after + " ELSE " + engine.QuoteString(typeInsert) + " END"
		}
		sql += " UNION ALL SELECT " + columnList("", w.Columns) + ", " + after + " FROM " + f.from
		sources = append(sources, f.sources...)
	}
	dir, files, err := w.outputFiles(ctx, outcome{sql: sql, more: []string{changeColumn}, sources: unique(sources)})
	if err != nil {
		return nil, err
	}
	return datafile.UploadChanges(ctx, w.Snapshot, dir, files)
}
