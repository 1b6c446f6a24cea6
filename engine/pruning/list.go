package pruning

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// maxGroups bounds the number of different partition values in a list, because each is a part of
// the SQL that reads it.
const maxGroups = 64

// List returns the data files that together hold every row of the snapshot that satisfies the
// condition. columns are all columns of the table, with their SQL types. The order of groups
// depends only on their partition values, and the order of files in a group only on their names, so
// that the order of rows does not reveal pruned files.
//
// It returns false if the table has to be read through its log, because
//   - [delta.CheckListable] refuses it,
//   - a file has a deletion vector that [Load] has not read,
//   - the name of a file has both a backslash and a pattern character, or
//   - the remaining files have more than 64 different partition values.
//
// The last two do not apply to a table that the engine's log reader refuses, of which it misreads a
// partition value, or of which a checkpoint is damaged.
//
// The list is shared: callers must not change anything in it.
func List(snap *delta.Snapshot, columns []engine.Column, condition engine.Condition) (*engine.FileList, bool) {
	x := indexOf(snap)
	if !x.usable() || x.odd && x.unscannable == nil {
		return nil, false
	}
	at := x.prune(condition)
	if len(at) == len(x.files) {
		return x.fullList(columns, at)
	}
	return x.list(columns, at, maxGroups)
}

// ListRestricted is [List] for a reader who sees only some rows of the table. The decision to read
// the table through its log must not depend on files with hidden rows, because the log has another
// order of rows. It therefore depends on the schema and the protocol only: a table that may have
// deletion vectors is listed after [Load], and a list has any number of groups.
func ListRestricted(snap *delta.Snapshot, columns []engine.Column, condition engine.Condition) (*engine.FileList, bool) {
	if !ListsRestricted(snap) {
		return nil, false
	}
	x := indexOf(snap)
	return x.list(columns, x.prune(condition), len(x.files))
}

// prune returns the positions of the files that may hold a row that satisfies the condition.
func (x *index) prune(condition engine.Condition) []int32 {
	m := x.bound(compile(x.schema, condition))
	var at []int32
	for i := range x.files {
		if m.match(i) {
			at = append(at, int32(i))
		}
	}
	return at
}

// bound binds m to the spans of the columns that it refers to.
func (x *index) bound(m matcher) *matcher {
	m.bind(x.spansOf(m.names(nil)))
	return &m
}

// fullList returns the list of all files, which is cached.
func (x *index) fullList(columns []engine.Column, at []int32) (*engine.FileList, bool) {
	x.mu.Lock()
	full := x.full
	x.mu.Unlock()
	if full != nil && slices.EqualFunc(full.Columns, columns, engine.Column.Equal) {
		return full, true
	}
	full, ok := x.list(columns, at, maxGroups)
	if ok {
		x.mu.Lock()
		x.full = full
		x.mu.Unlock()
	}
	return full, ok
}

func (x *index) list(columns []engine.Column, at []int32, most int) (*engine.FileList, bool) {
	if x.unscannable != nil {
		most = len(x.files)
	}
	var groups []engine.FileGroup
	place := make(map[int32]int)
	for _, i := range at {
		of := x.member[i]
		n, ok := place[of]
		if !ok {
			if n = len(groups); n == most {
				return nil, false
			}
			place[of] = n
			groups = append(groups, engine.FileGroup{Partition: x.constants(of)})
		}
		groups[n].Add(x.files[i].Name, StampOf(x.files[i]))
	}
	var ordered []engine.FileGroup
	for _, of := range slices.SortedFunc(maps.Keys(place), x.byKey) {
		ordered = append(ordered, groups[place[of]])
	}
	// Files that were written before a column was widened have another type.
	list := x.described(engine.NewFileList(columns, x.widened == nil && x.wholeFiles(at), ordered))
	if gone := x.deletedIn(ordered); len(gone) > 0 {
		list = list.WithDeleted(gone)
	}
	return list, true
}

// described returns a list with what the log says of columns in files.
func (x *index) described(list *engine.FileList) *engine.FileList {
	if x.mapped != nil {
		list = list.WithStored(x.mapped)
	}
	if x.ids != nil {
		list = list.WithColumnIDs(x.ids)
	}
	if x.parts != nil {
		list = list.WithParts(x.parts)
	}
	if x.widened != nil {
		list = list.WithWidened(x.widened)
	}
	return list
}

// maxChecked bounds the files of [CheckedFiles]: to check a file costs a request to the store.
const maxChecked = 1000

// CheckedFiles returns the files of a table that is read through its log, as [engine.Source.Checked].
// It omits files whose names no list can express, and returns nil for a table that no list can
// describe, or that has more than maxChecked files. The list is shared: callers must not change
// anything in it.
func CheckedFiles(snap *delta.Snapshot, columns []engine.Column) *engine.FileList {
	x := indexOf(snap)
	if !x.listed || len(x.files) == 0 || len(x.files) > maxChecked {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.checked == nil {
		group := engine.FileGroup{Partition: x.constants(x.member[0])}
		for _, f := range x.files {
			if listable(f.Name) {
				group.Add(f.Name, StampOf(f))
			}
		}
		x.checked = x.described(engine.NewFileList(columns, false, []engine.FileGroup{group}))
	}
	return x.checked
}

// StampOf returns what the log says of a file.
func StampOf(f delta.File) engine.FileStamp {
	return engine.FileStamp{Size: f.Add.Size, Modified: f.Add.ModificationTime}
}

// constants returns the values of the columns that the files of a group do not contain: the
// partition values, and NULL for void columns.
func (x *index) constants(group int32) map[string]*string {
	values := x.groups[group].values
	if len(x.voids) == 0 {
		return values
	}
	all := make(map[string]*string, len(values)+len(x.voids))
	maps.Copy(all, values)
	for _, name := range x.voids {
		all[name] = nil
	}
	return all
}

// byKey compares two groups by their partition values.
func (x *index) byKey(a, b int32) int { return strings.Compare(x.groups[a].key, x.groups[b].key) }

// count parses a number of rows; it returns -1 if there is none.
func count(raw string) int64 {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
