package dml

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
)

// track is read for files whose rows may move: where they must keep their ids, the
// relation has these too. The list has positions.
func (w *write) track(list *engine.FileList) relation {
	if w.ids == nil {
		return w.read(w.Snapshot, list)
	}
	from, sources := w.ids.Relation(list, func(list *engine.FileList) engine.Source { return w.source(w.Snapshot, list) })
	return relation{from: from, sources: sources}
}

// idItems select the id of a row that is changed, which is value in SQL: it stays the
// same row. There is none where rows need not keep theirs.
func (w *write) idItems(value string) []string {
	if w.ids == nil {
		return nil
	}
	return []string{value + " AS " + engine.QuoteIdent(w.ids.ID)}
}

// idOf is the id of a row in a relation that has it.
func (w *write) idOf(alias string) string {
	if w.ids == nil {
		return ""
	}
	return column(alias, w.ids.ID)
}

// withID are columns of spooled rows with that of the ids.
func (w *write) withID(columns []engine.Column) []engine.Column {
	if w.ids == nil {
		return columns
	}
	return append(slices.Clone(columns), engine.Column{Name: w.ids.ID, Type: "BIGINT"})
}

// hidden select the hidden columns of a new file, behind those of the table: the id
// and the commit version of a row, as SQL. NULL is for what the file gives to the row
// by itself, a new id or the version of its commit.
func (w *write) hidden(id, version string) string {
	if w.ids == nil {
		return ""
	}
	return ", " + id + "::BIGINT AS " + engine.QuoteIdent(w.ids.Stored.ID) + ", " + version + "::BIGINT AS " + engine.QuoteIdent(w.ids.Stored.CommitVersion)
}

// copied are the hidden columns of a row that moves as it is, changed those of one that
// got new values.
func (w *write) copied(alias string) string {
	if w.ids == nil {
		return ""
	}
	return w.hidden(w.idOf(alias), column(alias, w.ids.CommitVersion))
}

func (w *write) changed() string { return w.hidden(w.idOf(""), "NULL") }

// hiddenColumns are those of new files.
func (w *write) hiddenColumns() []string {
	if w.ids == nil {
		return nil
	}
	return []string{w.ids.Stored.ID, w.ids.Stored.CommitVersion}
}
