package dml

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// readWithIDs reads the files of a list, which has positions. If rows have to keep
// their ids, the relation has the id columns too.
func (w *write) readWithIDs(list *engine.FileList) relation {
	if w.ids == nil {
		return w.read(w.Snapshot, list)
	}
	from, sources := w.ids.Relation(list, func(list *engine.FileList) engine.Source { return w.source(w.Snapshot, list) })
	return relation{from: from, sources: sources}
}

// idItems returns the select item for the id of a changed row, which stays the same
// row. value is SQL. It returns none if the table does not track rows.
func (w *write) idItems(value string) []string {
	if w.ids == nil {
		return nil
	}
	return []string{value + " AS " + engine.QuoteIdent(w.ids.ID)}
}

// idOf returns SQL for the id of a row in a relation that has it, or "".
func (w *write) idOf(alias string) string {
	if w.ids == nil {
		return ""
	}
	return column(alias, w.ids.ID)
}

// withID appends the id column to the columns of spooled rows, if the table tracks
// rows.
func (w *write) withID(columns []engine.Column) []engine.Column {
	if w.ids == nil {
		return columns
	}
	return append(slices.Clone(columns), engine.Column{Name: w.ids.ID, Type: sqltype.BigInt})
}

// storedIDItems returns the select items for the hidden columns of a new file,
// which follow the table's columns: the id and the commit version of a row, both
// SQL. NULL means the value that the file assigns: a new id, or the version of the
// commit that adds the file.
func (w *write) storedIDItems(id, version string) string {
	if w.ids == nil {
		return ""
	}
	return ", " + id + "::BIGINT AS " + engine.QuoteIdent(w.ids.Stored.ID) +
		", " + version + "::BIGINT AS " + engine.QuoteIdent(w.ids.Stored.CommitVersion)
}

// movedIDItems returns storedIDItems for rows that move unchanged.
func (w *write) movedIDItems(alias string) string {
	if w.ids == nil {
		return ""
	}
	return w.storedIDItems(w.idOf(alias), column(alias, w.ids.CommitVersion))
}

// updatedIDItems returns storedIDItems for rows with new values.
func (w *write) updatedIDItems() string { return w.storedIDItems(w.idOf(""), "NULL") }

// storedIDColumns returns the names of the hidden columns of new files.
func (w *write) storedIDColumns() []string {
	if w.ids == nil {
		return nil
	}
	return []string{w.ids.Stored.ID, w.ids.Stored.CommitVersion}
}
