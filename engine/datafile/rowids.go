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
)

// RowIDs reads the ids and commit versions of rows that are about to move to
// another file, where they must be kept (protocol, "Row Tracking").
type RowIDs struct {
	// ID and CommitVersion are the columns that [RowIDs.Relation] adds, of type
	// BIGINT. No column of a table has these names. NULL is a row without any, which
	// gets what the new file gives it.
	ID, CommitVersion string
	// Stored are the columns of a new file that take them.
	Stored delta.RowColumns

	// files are those of the snapshot by name. They are gathered once, and only
	// when rows move: a table can have many files, and be read in many lists.
	files func() map[string]delta.File
	// Columns of our own beside those of the table: what files hold, what the log says
	// of each file, and where rows stand.
	heldID, heldVersion, base, version string
	at                                 engine.PositionColumns
}

// RowIDsOf is nil for tables whose rows need not keep them. What it returns may be
// used by several goroutines at once.
func RowIDsOf(snap *delta.Snapshot) *RowIDs {
	stored, kept := snap.RowColumns()
	if !kept {
		return nil
	}
	own := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	return &RowIDs{
		ID: own + "id", CommitVersion: own + "commit_version", Stored: stored, files: sync.OnceValue(func() map[string]delta.File { return byName(snap) }),
		heldID: own + "held_id", heldVersion: own + "held_version", base: own + "base", version: own + "version",
		at: engine.PositionColumns{File: own + "file", Row: own + "row"},
	}
}

// Relation reads a list of files of the table, which has positions, with two more
// columns. The first source is that of the files in the order of the list.
func (r *RowIDs) Relation(list *engine.FileList, source func(*engine.FileList) engine.Source) (from string, sources []engine.Source) {
	file, row := "t."+engine.QuoteIdent(list.Positions.File), "t."+engine.QuoteIdent(list.Positions.Row)
	alias := "t."
	if list.ColumnIDs == nil {
		sources = []engine.Source{source(r.beside(list))}
		from = sources[0].Relation() + " AS t"
	} else {
		// The hidden columns have no field ids, also where all others are found by
		// them: they are read by themselves.
		alias = "h."
		sources = []engine.Source{source(list), source(r.alone(list))}
		from = sources[0].Relation() + " AS t JOIN " + sources[1].Relation() + " AS h ON " +
			file + " = h." + engine.QuoteIdent(r.at.File) + " AND " + row + " = h." + engine.QuoteIdent(r.at.Row)
	}
	held := func(name string) string { return alias + engine.QuoteIdent(name) }
	id := "coalesce(" + held(r.heldID) + ", " + held(r.base) + " + " + row + ") AS " + engine.QuoteIdent(r.ID)
	version := "coalesce(" + held(r.heldVersion) + ", " + held(r.version) + ") AS " + engine.QuoteIdent(r.CommitVersion)
	return "(SELECT t.*, " + id + ", " + version + " FROM " + from + ")", sources
}

// beside is the list with the hidden columns, and what the log says of each file.
func (r *RowIDs) beside(list *engine.FileList) *engine.FileList {
	stored := list.Stored
	if stored == nil {
		stored = list.Columns
	}
	out := engine.NewFileList(slices.Concat(list.Columns, r.columns()), false, r.perFile(list, true)).
		WithStored(slices.Concat(stored, r.inFiles())).WithPositions(list.Positions)
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

// alone is beside without the columns of the table, and with the rows that are gone.
func (r *RowIDs) alone(list *engine.FileList) *engine.FileList {
	return engine.NewFileList(r.columns(), false, r.perFile(list, false)).WithStored(r.inFiles()).WithPositions(r.at)
}

func (r *RowIDs) columns() []engine.Column {
	return numbers(r.heldID, r.heldVersion, r.base, r.version)
}

// inFiles are the names of columns in files; the last two are in none.
func (r *RowIDs) inFiles() []engine.Column {
	return numbers(r.Stored.ID, r.Stored.CommitVersion, r.base, r.version)
}

func numbers(names ...string) []engine.Column {
	out := make([]engine.Column, len(names))
	for i, name := range names {
		out[i] = engine.Column{Name: name, Type: "BIGINT", Nullable: true}
	}
	return out
}

// perFile makes a group of each file of a list: what the log says of its rows is a
// value of every one of them, as that of a partition column is.
func (r *RowIDs) perFile(list *engine.FileList, partitions bool) []engine.FileGroup {
	files := r.files()
	var groups []engine.FileGroup
	for _, g := range list.Groups {
		for _, path := range g.Paths {
			add := files[path].Add
			values := map[string]*string{r.base: text(add.BaseRowID), r.version: text(add.DefaultRowCommitVersion)}
			if partitions {
				maps.Copy(values, g.Partition)
			}
			groups = append(groups, engine.FileGroup{Partition: values, Paths: []string{path}})
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

// text is nil for nil, which is NULL.
func text(n *int64) *string {
	if n == nil {
		return nil
	}
	out := strconv.FormatInt(*n, 10)
	return &out
}
