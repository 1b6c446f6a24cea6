package duckdb

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// fileQuery is the SELECT that reads a list of files as the table that they
// are. It opens the first file.
func (in *instance) fileQuery(l *engine.FileList, location string) (string, error) {
	scan, err := newFileScan(l, location)
	if err != nil {
		return "", err
	}
	if len(scan.paths) == 0 {
		return emptyQuery(l.Columns), nil
	}
	if err := in.bindFiles(scan); err != nil {
		return "", err
	}
	if values := scan.allValues(); values != "" {
		if err := in.execOne(values); err != nil {
			return "", err
		}
	}
	return scan.query(), nil
}

// emptyQuery has the columns and no row.
func emptyQuery(columns []engine.Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "NULL::" + c.Type + " AS " + engine.QuoteIdent(c.Name)
	}
	return "SELECT " + strings.Join(items, ", ") + " WHERE false"
}

// fileScan is a list of files on its way to a query.
type fileScan struct {
	columns []engine.Column
	uniform bool
	groups  []fileGroup
	// paths are those of all groups, in order.
	paths []string
	// inFile are the columns that files hold, the others are constants of
	// their group.
	inFile []engine.Column
	// options are the named arguments of read_parquet.
	options string
	// noIndex says that a column hides the number of the file.
	noIndex bool
}

type fileGroup struct {
	values map[string]*string
	paths  []string
}

func newFileScan(l *engine.FileList, location string) (*fileScan, error) {
	s := &fileScan{columns: l.Columns, uniform: l.Uniform, options: ", hive_partitioning=false"}
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
		}
		for name := range g.Partition {
			constant[name] = true
		}
		s.groups = append(s.groups, group)
		s.paths = append(s.paths, group.paths...)
	}
	for _, c := range l.Columns {
		if !constant[c.Name] {
			s.inFile = append(s.inFile, c)
		}
	}
	return s, s.check(len(constant))
}

// check refuses groups that do not all have values for the same columns.
func (s *fileScan) check(constants int) error {
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

// The shapes of a scan of several groups were measured with 2 to 365 files of one
// group each: a lookup reads up to some dozens of files fastest, a join any more.
// Branches take five times as long from 30 groups on.
const (
	// lookupFiles is how many files may find their partition values in a
	// constant list, which every access copies.
	lookupFiles = 32
	// branchGroups is how many groups may be branches of their own.
	branchGroups = 4
)

// query picks the shape that reads the scan fastest.
func (s *fileScan) query() string {
	switch {
	case len(s.groups) == 1 || len(s.columns) == len(s.inFile):
		return s.branch(s.groups[0].values, s.paths)
	case !s.noIndex && len(s.paths) <= lookupFiles:
		return s.selects(s.paths, func(c engine.Column) string {
			return "(" + s.values(c) + ")[f.file_index::BIGINT + 1]"
		})
	case s.noIndex || len(s.groups) <= branchGroups:
		branches := make([]string, len(s.groups))
		for i, g := range s.groups {
			branches[i] = s.branch(g.values, g.paths)
		}
		return strings.Join(branches, " UNION ALL ")
	}
	return s.joined()
}

// branch reads files that share their partition values.
func (s *fileScan) branch(values map[string]*string, paths []string) string {
	return s.selects(paths, func(c engine.Column) string { return constant(c, values[c.Name]) })
}

// joined reads all files at once, next to a table of their partition values.
func (s *fileScan) joined() string {
	var values []string
	query := s.selects(s.paths, func(c engine.Column) string {
		name := "c" + strconv.Itoa(len(values))
		values = append(values, "unnest("+s.values(c)+") AS "+name)
		return "p." + name
	})
	return query + " JOIN (SELECT " + strings.Join(values, ", ") +
		", unnest(range(" + strconv.Itoa(len(s.paths)) + "))::UBIGINT AS i) AS p ON p.i = f.file_index"
}

// selects reads paths, with outside giving the columns that are not in them.
func (s *fileScan) selects(paths []string, outside func(engine.Column) string) string {
	items := make([]string, len(s.columns))
	for i, c := range s.columns {
		name := engine.QuoteIdent(c.Name)
		if slices.Contains(s.inFile, c) {
			items[i] = "f." + name
		} else {
			items[i] = outside(c) + " AS " + name
		}
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + readParquet(paths, s.options) + " AS f"
}

// values are those of a partition column, one for each file.
func (s *fileScan) values(c engine.Column) string {
	var items []string
	for _, g := range s.groups {
		item := "NULL"
		if v := g.values[c.Name]; v != nil {
			item = engine.QuoteString(*v)
		}
		for range g.paths {
			items = append(items, item)
		}
	}
	return "[" + strings.Join(items, ", ") + "]::" + c.Type + "[]"
}

// allValues casts the values of every group: one that is none of its type must
// not become an error of whichever statement looks at it. Without any it is "".
func (s *fileScan) allValues() string {
	var items []string
	for _, c := range s.columns {
		if !slices.Contains(s.inFile, c) && c.Type != "VARCHAR" {
			items = append(items, s.values(c))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "SELECT " + strings.Join(items, ", ")
}

// constant is the value of a partition column.
func constant(c engine.Column, value *string) string {
	if value == nil {
		return "NULL::" + c.Type
	}
	return engine.QuoteString(*value) + "::" + c.Type
}

func readParquet(paths []string, options string) string {
	return "system.main.read_parquet(" + quoteList(paths) + options + ")"
}
