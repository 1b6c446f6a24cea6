package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// fileQuery returns the SELECT that reads a list of files as the table they belong to. It
// opens the first file, and every file that was not checked before.
//
// deleted is the number of the list of deleted rows, zero for none; the caller drops that list
// together with the query.
func (v *Views) fileQuery(l *engine.FileList, location string) (query string, deleted int64, err error) {
	scan, err := newFileScan(l, location)
	if err != nil {
		return "", 0, err
	}
	if len(scan.paths) == 0 {
		return emptyQuery(slices.Concat(l.Columns, positionColumns(l.Positions))), 0, nil
	}
	if err := v.bindFiles(scan); err != nil {
		return "", 0, err
	}
	if values := scan.allValues(); values != "" {
		if err := v.inst.ExecOne(values); err != nil {
			return "", 0, err
		}
	}
	if len(l.Deleted) == 0 {
		return scan.query(), 0, nil
	}
	if deleted, err = v.deleted.add(v.inst, l.Deleted); err != nil {
		return "", 0, err
	}
	return scan.query() + " WHERE " + notDeleted(deleted), deleted, nil
}

// emptyQuery returns a query with the given columns and no row.
func emptyQuery(columns []engine.Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "NULL::" + c.Type.String() + " AS " + engine.QuoteIdent(c.Name)
	}
	return "SELECT " + strings.Join(items, ", ") + " WHERE false"
}

// fileScan is a list of files that becomes a query.
type fileScan struct {
	columns []engine.Column
	uniform bool
	groups  []fileGroup
	// paths are the paths of all groups, in order.
	paths []string
	// inFile are the columns that files hold; the others are constants of their group. stored
	// are the same columns as they are in files. value, if renamed is true, is SQL for the
	// table's value of each.
	inFile    []engine.Column
	stored    []engine.Column
	value     []string
	positions engine.PositionColumns
	// widened holds the columns whose files may hold another type, which is cast to the column's.
	widened map[string]bool
	// ids are the field ids of stored, if columns are found by id.
	ids []int
	// parts are the members of stored, and literal the unescaped paths, if files are to be
	// inspected. inside is the result, nil for columns without members.
	parts   [][]engine.FieldID
	literal []string
	// stamps are those of the files, in the order of paths.
	stamps []engine.FileStamp
	inside []*part
	// forms are the different schemas of the files, if parts is not nil.
	forms []fileForm
	// deletes reports whether the list has deleted rows.
	deletes bool
	// options are the named arguments of read_parquet.
	options string
	// renamed reports whether the options name the columns in the order of inFile.
	renamed bool
}

type fileGroup struct {
	values map[string]*string
	paths  []string
}

func newFileScan(l *engine.FileList, location string) (*fileScan, error) {
	s := &fileScan{columns: l.Columns, uniform: l.Uniform, positions: l.Positions, widened: map[string]bool{},
		deletes: len(l.Deleted) > 0, options: ", hive_partitioning=false"}
	s.widen(l.Widened)
	constant := map[string]bool{}
	for _, g := range l.Groups {
		if len(g.Paths) == 0 {
			continue
		}
		group := fileGroup{values: g.Partition, paths: make([]string, len(g.Paths))}
		for i, p := range g.Paths {
			path, err := filePath(location, p)
			if err != nil {
				return nil, err
			}
			group.paths[i] = path
			s.literal = append(s.literal, location+"/"+p)
			s.stamps = append(s.stamps, g.Stamp(i))
		}
		for name := range g.Partition {
			constant[name] = true
		}
		s.groups = append(s.groups, group)
		s.paths = append(s.paths, group.paths...)
	}
	if l.Stored != nil && len(l.Stored) != len(l.Columns) {
		return nil, fileSchemaError("names of columns in files that are not those of the table")
	}
	if l.ColumnIDs != nil && (len(l.ColumnIDs) != len(l.Columns) || l.Stored == nil) {
		return nil, fileSchemaError("ids of columns in files that are not those of the table")
	}
	if len(l.Parts) > len(l.Columns) || l.Parts != nil && l.Stored == nil {
		return nil, fileSchemaError("parts of columns that are not those of the table")
	}
	for i, c := range l.Columns {
		if constant[c.Name] {
			continue
		}
		if i < len(l.Parts) {
			s.parts = append(s.parts, l.Parts[i])
		} else if l.Parts != nil {
			s.parts = append(s.parts, nil)
		}
		s.inFile = append(s.inFile, c)
		if l.Stored != nil {
			c = l.Stored[i]
		}
		if l.ColumnIDs != nil {
			s.ids = append(s.ids, l.ColumnIDs[i])
		}
		s.stored = append(s.stored, c)
	}
	s.renamed = l.Stored != nil
	// Writers of old leave texts unmarked, which DuckDB then takes for bytes. The parts of
	// variants are bytes.
	if !slices.ContainsFunc(s.stored, holdsBytes) {
		s.options += ", binary_as_string=true"
	}
	return s, s.check(len(constant))
}

// only returns a scan of the files with the given numbers, to be inspected.
func (s *fileScan) only(numbers []int) *fileScan {
	out := *s
	out.groups, out.paths, out.literal, out.stamps = nil, nil, nil, nil
	for _, n := range numbers {
		out.paths = append(out.paths, s.paths[n])
		out.literal = append(out.literal, s.literal[n])
		out.stamps = append(out.stamps, s.stamps[n])
	}
	return &out
}

// widen records columns that the reader converts.
func (s *fileScan) widen(names []string) {
	for _, name := range names {
		s.widened[name] = true
	}
}

// check refuses groups with values for different columns, and names that stand for two
// columns.
func (s *fileScan) check(constants int) error {
	for _, c := range positionColumns(s.positions) {
		if hasColumn(s.columns, c.Name) || strings.EqualFold(s.positions.File, s.positions.Row) {
			return fileSchemaError("a column with the name of a position")
		}
	}
	if len(s.columns)-len(s.inFile) != constants {
		return fileSchemaError("a partition column that the table does not have")
	}
	for _, g := range s.groups {
		if len(g.values) != constants {
			return fileSchemaError("groups of files with different partition columns")
		}
	}
	return nil
}

// lookupFiles is the largest number of files whose partition values are a constant list. Every
// access copies the list.
const lookupFiles = 32

// query returns SQL that reads the files in their order. It has no join, which would not keep
// that order.
func (s *fileScan) query() string {
	items := make([]string, 0, len(s.columns)+2)
	for _, c := range s.columns {
		name := engine.QuoteIdent(c.Name)
		switch at := slices.Index(s.inFile, c); {
		case at < 0:
			items = append(items, lookup(c, s.values(c), 0)+" AS "+name)
		case s.renamed:
			items = append(items, s.guard(c, s.value[at])+" AS "+name)
		default:
			items = append(items, s.guard(c, "f."+name)+" AS "+name)
		}
	}
	if p := s.positions; p != (engine.PositionColumns{}) {
		items = append(items, "f."+fileIndex+"::UINTEGER AS "+engine.QuoteIdent(p.File), "f."+fileRow+" AS "+engine.QuoteIdent(p.Row))
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + ReadParquet(s.paths, s.options) + " AS f"
}

// needsIndex reports whether the query reads the number of a row or of its file.
func (s *fileScan) needsIndex() bool {
	return s.deletes || slices.ContainsFunc(s.inFile, s.guarded) || s.positions != (engine.PositionColumns{}) ||
		len(s.groups) > 1 && len(s.columns) > len(s.inFile)
}

// columnName is the query's own name for a column, used if the column's name would hide a
// position column.
func columnName(i int) string { return "c" + strconv.Itoa(i) }

// positionColumns returns the columns of p, nil if p is zero.
func positionColumns(p engine.PositionColumns) []engine.Column {
	if p == (engine.PositionColumns{}) {
		return nil
	}
	return []engine.Column{{Name: p.File, Type: sqltype.UInteger}, {Name: p.Row, Type: sqltype.BigInt}}
}

// lookup returns SQL for a partition column by the number of the file. values are those of the
// files from number first on. Rows come from one file at a time, so a long list is searched by
// halves.
func lookup(c engine.Column, values []string, first int) string {
	switch middle := len(values) / 2; {
	case !slices.ContainsFunc(values, func(v string) bool { return v != values[0] }):
		return values[0] + "::" + c.Type.String()
	case len(values) <= lookupFiles:
		return "(" + typedList(c, values) + ")[f.file_index::BIGINT - " + strconv.Itoa(first-1) + "]"
	default:
		return "CASE WHEN f.file_index < " + strconv.Itoa(first+middle) + " THEN " + lookup(c, values[:middle], first) +
			" ELSE " + lookup(c, values[middle:], first+middle) + " END"
	}
}

// values returns the values of a partition column as literals, one for each file.
func (s *fileScan) values(c engine.Column) []string {
	values := make([]string, 0, len(s.paths))
	for _, g := range s.groups {
		for range g.paths {
			values = append(values, Literal(g.values[c.Name]))
		}
	}
	return values
}

// allValues returns a SELECT that casts the partition values of all groups, "" if there are
// none. A value that is not of its column's type must fail here and not in a later statement.
func (s *fileScan) allValues() string {
	var items []string
	for _, c := range s.columns {
		if !slices.Contains(s.inFile, c) && c.Type != sqltype.Varchar {
			items = append(items, typedList(c, s.values(c)))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "SELECT " + strings.Join(items, ", ")
}

func typedList(c engine.Column, values []string) string {
	return "[" + strings.Join(values, ", ") + "]::" + c.Type.String() + "[]"
}

// Literal returns a partition value as SQL text, to be cast to its column's type. A NUL, which
// would end the statement's text, is written as chr(0).
func Literal(value *string) string {
	if value == nil {
		return "NULL"
	}
	return "(" + strings.ReplaceAll(engine.QuoteString(*value), "\x00", "' || chr(0) || '") + ")"
}

// ReadParquet returns the table function that reads files; paths are escaped, and options begin with a comma.
func ReadParquet(paths []string, options string) string {
	return "system.main.read_parquet(" + native.QuoteList(paths) + options + ")"
}
