package datafile

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// RowIDs reads the ids and commit versions of rows that move to another file and
// have to keep them (protocol, "Row Tracking").
type RowIDs struct {
	// ID and CommitVersion are the BIGINT columns that [RowIDs.Relation] adds. No
	// column of the table has these names. NULL means that the row has none yet and
	// gets those that the new file assigns.
	ID, CommitVersion string
	// Stored are the columns of new files that hold the ids and commit versions.
	Stored delta.RowColumns

	// files returns the files of the snapshot by name. They are collected once,
	// when rows move, because a table can have many files and be read in many
	// lists.
	files func() map[string]delta.File
	// Names of columns that the relation adds to those of the table: the values
	// stored in files, and those that the log has for each file.
	fileID, fileVersion, baseID, addVersion string
	// positions names the columns of row positions in the list of stored ids.
	positions engine.PositionColumns
}

// RowIDsOf returns nil if the table does not track rows. Several goroutines may use
// the result at once.
func RowIDsOf(snap *delta.Snapshot) *RowIDs {
	stored, tracked := snap.RowColumns()
	if !tracked {
		return nil
	}
	prefix := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	return &RowIDs{
		ID: prefix + "id", CommitVersion: prefix + "commit_version", Stored: stored,
		files:  sync.OnceValue(func() map[string]delta.File { return byName(snap) }),
		fileID: prefix + "file_id", fileVersion: prefix + "file_version", baseID: prefix + "base", addVersion: prefix + "version",
		positions: engine.PositionColumns{File: prefix + "file", Row: prefix + "row"},
	}
}

// Relation returns SQL that reads a list of files of the table, which has
// positions, with the columns ID and CommitVersion. The first source is that of the
// files in the order of the list.
func (r *RowIDs) Relation(list *engine.FileList, source func(*engine.FileList) engine.Source) (from string, sources []engine.Source) {
	file, row := "t."+engine.QuoteIdent(list.Positions.File), "t."+engine.QuoteIdent(list.Positions.Row)
	alias := "t."
	if list.ColumnIDs == nil {
		sources = []engine.Source{source(r.withIDColumns(list))}
		from = sources[0].Relation() + " AS t"
	} else {
		// The stored id columns have no field ids. If the other columns are found by
		// field id, they need a list of their own.
		alias = "h."
		sources = []engine.Source{source(list), source(r.onlyIDColumns(list))}
		from = sources[0].Relation() + " AS t JOIN " + sources[1].Relation() + " AS h ON " +
			file + " = h." + engine.QuoteIdent(r.positions.File) + " AND " + row + " = h." + engine.QuoteIdent(r.positions.Row)
	}
	held := func(name string) string { return alias + engine.QuoteIdent(name) }
	id := "coalesce(" + held(r.fileID) + ", " + held(r.baseID) + " + " + row + ") AS " + engine.QuoteIdent(r.ID)
	version := "coalesce(" + held(r.fileVersion) + ", " + held(r.addVersion) + ") AS " + engine.QuoteIdent(r.CommitVersion)
	return "(SELECT t.*, " + id + ", " + version + " FROM " + from + ")", sources
}

// withIDColumns returns the list with the stored id columns, and with the log's
// values for each file.
func (r *RowIDs) withIDColumns(list *engine.FileList) *engine.FileList {
	stored := list.Stored
	if stored == nil {
		stored = list.Columns
	}
	out := engine.NewFileList(slices.Concat(list.Columns, r.columns()), false, r.perFile(list, true)).
		WithStored(slices.Concat(stored, r.storedColumns())).WithPositions(list.Positions)
	if list.Parts != nil {
		out = out.WithParts(list.Parts)
	}
	if list.Widened != nil {
		out = out.WithWidened(list.Widened)
	}
	if len(list.Deleted) > 0 {
		out = out.WithDeleted(list.Deleted)
	}
	return out
}

// onlyIDColumns returns a list with the stored id columns and the log's values for
// each file. It includes deleted rows.
func (r *RowIDs) onlyIDColumns(list *engine.FileList) *engine.FileList {
	return engine.NewFileList(r.columns(), false, r.perFile(list, false)).WithStored(r.storedColumns()).WithPositions(r.positions)
}

func (r *RowIDs) columns() []engine.Column {
	return bigints(r.fileID, r.fileVersion, r.baseID, r.addVersion)
}

// storedColumns returns the columns by their names in files. The last two are in no
// file.
func (r *RowIDs) storedColumns() []engine.Column {
	return bigints(r.Stored.ID, r.Stored.CommitVersion, r.baseID, r.addVersion)
}

func bigints(names ...string) []engine.Column {
	out := make([]engine.Column, len(names))
	for i, name := range names {
		out[i] = engine.Column{Name: name, Type: sqltype.BigInt, Nullable: true}
	}
	return out
}

// perFile returns a group for each file of a list. The log's values for the file
// are partition values of the group.
func (r *RowIDs) perFile(list *engine.FileList, partitions bool) []engine.FileGroup {
	files := r.files()
	var groups []engine.FileGroup
	for _, g := range list.Groups {
		for i, path := range g.Paths {
			add := files[path].Add
			values := map[string]*string{r.baseID: formatID(add.BaseRowID), r.addVersion: formatID(add.DefaultRowCommitVersion)}
			if partitions {
				maps.Copy(values, g.Partition)
			}
			groups = append(groups, engine.FileGroup{Partition: values, Paths: []string{path}, Stamps: []engine.FileStamp{g.Stamp(i)}})
		}
	}
	return groups
}

func byName(snap *delta.Snapshot) map[string]delta.File {
	files := make(map[string]delta.File, snap.NumFiles())
	for f := range snap.Files() {
		files[f.Name] = f
	}
	return files
}

// formatID returns nil, which means NULL, for nil.
func formatID(n *int64) *string {
	if n == nil {
		return nil
	}
	out := strconv.FormatInt(*n, 10)
	return &out
}
