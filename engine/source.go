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

// Source is a Delta table at one version. Two sources with equal
// [Source.Database] are the same relation; an engine may keep it between
// statements.
type Source struct {
	// Location is the table's root: an absolute directory below one of the
	// session's roots, or s3://bucket/prefix below one of its remote prefixes.
	Location string
	// Version is the Delta version that was validated. It is never the latest
	// by implication.
	Version int64
	// Identity tells apart two tables that were written at one location one
	// after the other: the table's metaData.id with a digest of what was
	// validated.
	Identity string
	// Files is our own list of the data files to read. Without one, the engine
	// reads the Delta log itself.
	Files *FileList
}

// FileList is a list of data files that together hold every row of a table that
// the statement can need.
type FileList struct {
	// Columns are all columns of the table, partition columns included, with
	// their SQL types.
	Columns []Column
	// Uniform says that every file is known to hold every column that is not a
	// partition column. Otherwise files may lack columns, whose values are NULL
	// then.
	Uniform bool
	// Stored are the columns as files hold them, in the order of Columns: other
	// names, of members of structs too, and otherwise the same types. nil means the
	// names of Columns. Partition columns have an entry without a meaning.
	Stored []Column
	// Groups hold the files. Without any the table is read as empty.
	Groups []FileGroup
	// ColumnIDs are the field ids by which columns are found in files, in the order of
	// Columns; nil means that they are found by name. It needs Stored, and Parts for
	// columns with members.
	ColumnIDs []int
	// Parts are the members, elements, keys and values of columns, in the order of
	// Columns, whose last ones may be missing here. With them every file is looked
	// into: members are found there as columns are, by field id or by name, and a file
	// may have any of them or none. Without, they are found by name, and each file has
	// at least one of a struct's. They need Stored.
	Parts [][]FieldID
	// Widened names the columns for which a file may hold a narrower type than the
	// table's. Values of these columns are cast before they are compared, because
	// DuckDB's reader casts the constant to the type of the file, which turns 1.6 into
	// 2.
	Widened []string
	// Deleted are rows that are gone although their files still hold them. The
	// relation has none of them; the numbers of the others stay physical.
	Deleted []DeletedRows
	// Positions names two more columns of the relation, which say where a row
	// stands; zero means that it has none.
	Positions PositionColumns

	digest string
}

// PositionColumns are the names of the columns that say where a row of a list of
// files stands: the number of its file in the order of the list, from 0 on
// (UINTEGER), and the physical number of the row in that file, from 0 on (BIGINT).
// No column of the table has these names.
type PositionColumns struct{ File, Row string }

// WithPositions returns the list with columns for positions.
func (l *FileList) WithPositions(columns PositionColumns) *FileList {
	return l.with(func(out *FileList) { out.Positions = columns })
}

// WithStored returns the list for files that hold the columns under other names.
func (l *FileList) WithStored(columns []Column) *FileList {
	return l.with(func(out *FileList) { out.Stored = columns })
}

// WithColumnIDs returns the list for files in which columns are found by field id.
func (l *FileList) WithColumnIDs(ids []int) *FileList {
	return l.with(func(out *FileList) { out.ColumnIDs = ids })
}

// WithParts returns the list for files whose nested columns are looked into.
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

func (l *FileList) with(change func(*FileList)) *FileList {
	out := *l
	change(&out)
	out.digest = out.address()
	return &out
}

// FileGroup are files with equal partition values.
type FileGroup struct {
	// Partition maps the columns that the files do not hold, which are the partition
	// columns and those that are always NULL, to their values, as text that casts to the
	// column's type; nil is NULL.
	Partition map[string]*string
	// Paths are below the table's location, with slashes, decoded.
	Paths []string
}

// DeletedRows are rows of one file of a list that are gone.
type DeletedRows struct {
	// File is the number of the file in the order of the list, from 0 on. No file
	// has two entries.
	File int
	// Rows are their physical numbers in the file: a bitmap as package
	// engine/delta/deletion prints it.
	Rows []byte
}

// NewFileList returns a list whose content address is computed once. The
// arguments must not be changed afterwards.
func NewFileList(columns []Column, uniform bool, groups []FileGroup) *FileList {
	l := &FileList{Columns: columns, Uniform: uniform, Groups: groups}
	l.digest = l.address()
	return l
}

// Digest is the content address of the list.
func (l *FileList) Digest() string {
	if l.digest == "" {
		return l.address() // decoded from a message
	}
	return l.digest
}

// Len is the number of files.
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
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// digest hashes fields so that two different lists of fields never run together.
type digest struct{ hash.Hash }

func (d digest) number(n int) {
	_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // a hash takes everything
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

// Database is the content address of the source: the name under which an engine
// keeps it. It is unguessable in practice and never shown to users.
func (s Source) Database() string {
	text := s.Location + "\x00" + s.Identity
	if s.Files != nil {
		text += "\x00" + s.Files.Digest()
	}
	sum := sha256.Sum256([]byte(text))
	return "src_" + hex.EncodeToString(sum[:12]) + "_" + strconv.FormatInt(s.Version, 10)
}

// SourceTable is the table name inside every attached source.
const SourceTable = "t"

// IsZero reports the source of a [Barrier] that reads none.
func (s Source) IsZero() bool { return s.Location == "" }

// Name are the three parts of the source's qualified name. A source that is
// read from the log is a table of an attached database; one with a list of files
// is a view among the session's own.
func (s Source) Name() (database, schema, table string) {
	if s.Files != nil {
		return BarrierDatabase, BarrierSchema, s.Database()
	}
	return s.Database(), "main", SourceTable
}

// Relation is the qualified name of the source in SQL, quoted.
func (s Source) Relation() string {
	database, schema, table := s.Name()
	return QuoteIdent(database) + "." + QuoteIdent(schema) + "." + QuoteIdent(table)
}
