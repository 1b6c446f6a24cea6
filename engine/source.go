package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Source is a Delta table at one version. Two sources with equal [Source.Database] are the same
// relation; an engine may cache it between statements.
type Source struct {
	// Location is the table's root: an absolute directory below one of the
	// session's roots, or s3://bucket/prefix below one of its remote prefixes.
	Location string
	// Version is the Delta version that was validated. It never defaults to the latest.
	Version int64
	// Identity distinguishes successive tables at one location: it combines the table's metaData.id
	// with a digest of what was validated.
	Identity string
	// Files is the list of data files to read. If it is nil, the engine reads the Delta log itself.
	Files *FileList
	// Checked, if Files is nil, are the data files whose types the engine checks before it reads the
	// log. Partition values in it have no meaning. nil means that no file is checked.
	Checked *FileList
}

// Lists returns Files, or else Checked.
func (s Source) Lists() *FileList {
	if s.Files != nil {
		return s.Files
	}
	return s.Checked
}

// FileList is a list of data files that together hold every row of a table that the statement can
// need.
type FileList struct {
	// Columns are all columns of the table, partition columns included, with
	// their SQL types.
	Columns []Column
	// Uniform reports that every file is known to hold every column except the partition columns.
	// Otherwise files may lack columns, which then read as NULL.
	Uniform bool
	// Stored are the columns as files hold them, in the order of Columns: the names may differ,
	// including those of members of structs, the types do not. nil means the names of Columns.
	// Entries of partition columns are ignored.
	Stored []Column
	// Groups hold the files. If there are none, the table reads as empty.
	Groups []FileGroup
	// ColumnIDs are the Parquet field ids by which the reader finds columns in files, in the order
	// of Columns. nil means that columns are found by name. ColumnIDs requires Stored, and Parts
	// for columns with members.
	ColumnIDs []int
	// Parts are the members, elements, keys and values of columns, in the order of Columns;
	// trailing columns may be omitted. If Parts is set, the schema of every file is read: members
	// are found as columns are, by field id or by name, and a file may lack any of them. Otherwise
	// members are found by name, and each file has at least one member of a struct. Parts requires
	// Stored.
	Parts [][]FieldID
	// Widened names the columns whose type in a file may be narrower than the table's. Values of
	// these columns are cast before they are compared, because DuckDB's reader casts the constant
	// to the type of the file, which turns 1.6 into 2.
	Widened []string
	// Deleted are the deleted rows that the files still contain. The relation omits them; row
	// numbers of the others remain physical.
	Deleted []DeletedRows
	// Positions names two additional columns of the relation that hold the position of a row; zero
	// means that there are none.
	Positions PositionColumns

	digest string
}

// PositionColumns are the names of the columns that hold a row's position in a list of files: the
// zero-based index of its file in the list (UINTEGER), and the zero-based physical number of the
// row in that file (BIGINT). No column of the table has these names.
type PositionColumns struct{ File, Row string }

// WithPositions returns the list with position columns.
func (l *FileList) WithPositions(columns PositionColumns) *FileList {
	return l.with(func(out *FileList) { out.Positions = columns })
}

// WithStored returns the list for files in which the columns have other names.
func (l *FileList) WithStored(columns []Column) *FileList {
	return l.with(func(out *FileList) { out.Stored = columns })
}

// WithColumnIDs returns the list for files in which columns are found by field id.
func (l *FileList) WithColumnIDs(ids []int) *FileList {
	return l.with(func(out *FileList) { out.ColumnIDs = ids })
}

// WithParts returns the list for files whose nested columns are resolved by parts.
func (l *FileList) WithParts(parts [][]FieldID) *FileList {
	return l.with(func(out *FileList) { out.Parts = parts })
}

// WithWidened returns the list with some columns marked as possibly having narrower
// types in files.
func (l *FileList) WithWidened(names []string) *FileList {
	return l.with(func(out *FileList) { out.Widened = names })
}

// WithDeleted returns the list without some of the rows of its files.
func (l *FileList) WithDeleted(rows []DeletedRows) *FileList {
	return l.with(func(out *FileList) { out.Deleted = rows })
}

// OnlyFile returns the list of one of its files, with all of that file's rows and without the
// columns of positions.
func (l *FileList) OnlyFile(file FileGroup) *FileList {
	return l.with(func(out *FileList) {
		out.Groups, out.Deleted, out.Positions = []FileGroup{file}, nil, PositionColumns{}
	})
}

func (l *FileList) with(change func(*FileList)) *FileList {
	out := *l
	change(&out)
	out.digest = out.address()
	return &out
}

// FileGroup is a group of files with equal partition values.
type FileGroup struct {
	// Partition maps the columns that the files do not hold (the partition columns and those that
	// are always NULL) to their values, as text that casts to the column's type; nil is NULL.
	Partition map[string]*string
	// Paths are relative to the table's location, with slashes, decoded.
	Paths []string
	// Stamps are those of the files in the order of Paths; nil if they are unknown.
	Stamps []FileStamp
}

// FileStamp is what the log of a table says of a file. A file that was replaced under its name, and
// entered in the log again, has another one.
type FileStamp struct {
	// Size is in bytes, and Modified in milliseconds since the epoch.
	Size, Modified int64
}

// Add adds a file with a known stamp. The group must not hold files with unknown ones.
func (g *FileGroup) Add(path string, stamp FileStamp) {
	g.Paths, g.Stamps = append(g.Paths, path), append(g.Stamps, stamp)
}

// Stamp returns the stamp of the file with the given number in the group, zero if it is unknown.
func (g FileGroup) Stamp(i int) FileStamp {
	if i < len(g.Stamps) {
		return g.Stamps[i]
	}
	return FileStamp{}
}

// DeletedRows are the deleted rows of one file of a list.
type DeletedRows struct {
	// File is the zero-based index of the file in the list. No file has two entries.
	File int
	// Rows are their physical numbers in the file: a bitmap in the format of package
	// engine/delta/deletion.
	Rows []byte
}

// NewFileList returns a list and computes its content address once. The arguments must not be
// changed afterwards.
func NewFileList(columns []Column, uniform bool, groups []FileGroup) *FileList {
	l := &FileList{Columns: columns, Uniform: uniform, Groups: groups}
	l.digest = l.address()
	return l
}

// Digest returns the content address of the list.
func (l *FileList) Digest() string {
	if l.digest == "" {
		return l.address() // decoded from a message
	}
	return l.digest
}

// Len returns the number of files.
func (l *FileList) Len() int {
	n := 0
	for _, g := range l.Groups {
		n += len(g.Paths)
	}
	return n
}

func (l *FileList) address() string {
	h := digest{sha256.New()}
	for _, columns := range [][]Column{l.Columns, l.Stored} {
		h.number(len(columns))
		for _, c := range columns {
			h.text(c.Name)
			h.text(c.Type.String())
		}
	}
	h.text(strconv.FormatBool(l.Uniform))
	h.number(len(l.ColumnIDs))
	for _, id := range l.ColumnIDs {
		h.number(id)
	}
	h.number(len(l.Parts))
	for _, parts := range l.Parts {
		h.parts(parts)
	}
	h.number(len(l.Widened))
	for _, name := range l.Widened {
		h.text(name)
	}
	h.number(len(l.Deleted))
	for _, d := range l.Deleted {
		h.number(d.File)
		h.text(string(d.Rows))
	}
	h.text(l.Positions.File)
	h.text(l.Positions.Row)
	h.number(len(l.Groups))
	for _, g := range l.Groups {
		h.number(len(g.Partition))
		for _, name := range slices.Sorted(maps.Keys(g.Partition)) {
			h.text(name)
			if v := g.Partition[name]; v != nil {
				h.text("=" + *v)
			} else {
				h.text("")
			}
		}
		h.number(len(g.Paths))
		for _, p := range g.Paths {
			h.text(p)
		}
		h.number(len(g.Stamps))
		for _, s := range g.Stamps {
			h.number(int(s.Size))
			h.number(int(s.Modified))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// digest hashes fields so that different lists of fields have different inputs.
type digest struct{ hash.Hash }

func (d digest) number(n int) {
	_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // a hash never fails
}

func (d digest) text(s string) {
	d.number(len(s))
	_, _ = d.Write([]byte(s))
}

func (d digest) parts(parts []FieldID) {
	d.number(len(parts))
	for _, p := range parts {
		d.text(p.Column)
		d.number(p.ID)
		d.text(strconv.FormatBool(p.Void))
		d.parts(p.Children)
	}
}

// Database returns the content address of the source, which is the name under which an engine
// caches it. It is practically unguessable and never shown to users.
func (s Source) Database() string {
	text := s.Location + "\x00" + s.Identity
	if s.Files != nil {
		text += "\x00" + s.Files.Digest()
	}
	sum := sha256.Sum256([]byte(text))
	return "src_" + hex.EncodeToString(sum[:12]) + "_" + strconv.FormatInt(s.Version, 10)
}

// SourceTable is the table name inside the database of a source that is read through its log.
const SourceTable = "t"

// IsZero reports whether s is the source of a [Barrier] that reads no table.
func (s Source) IsZero() bool { return s.Location == "" }

// Name returns the three parts of the source's qualified name: it is a view of the session.
func (s Source) Name() (database, schema, table string) {
	return BarrierDatabase, BarrierSchema, s.Database()
}

// Relation returns the qualified name of the source in SQL, quoted.
func (s Source) Relation() string {
	database, schema, table := s.Name()
	return QuoteIdent(database) + "." + QuoteIdent(schema) + "." + QuoteIdent(table)
}
