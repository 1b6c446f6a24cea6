package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// bindFiles inspects the files and completes the scan's options.
//
// If the files hold the table's columns unchanged, DuckDB takes the columns of the first file
// and casts those of the others, by name. Otherwise it is given the columns, and casts each
// file's to them; a column that a file lacks is NULL.
func (v *Views) bindFiles(s *fileScan) error {
	first, err := v.inspectFiles(s)
	if err == nil {
		err = s.unite()
	}
	if err != nil {
		return err
	}
	hidden := hides(first.Has) || hides(func(name string) bool { return hasColumn(s.inFile, name) })
	s.renamed = s.renamed || s.needsIndex() && hidden
	if (s.uniform || len(s.paths) == 1) && !s.renamed && first.Holds(s.inFile) {
		return nil
	}
	if err := s.setValues(); err != nil {
		return err
	}
	// Without the number of rows of a file DuckDB would guess the cardinality.
	rows, err := v.inst.Int64s("SELECT num_rows::BIGINT FROM system.main.parquet_file_metadata(" + native.QuoteList(s.paths[:1]) + ")")
	if err != nil {
		return err
	}
	if len(s.inFile) > 0 || s.renamed {
		s.options += ", schema=" + s.schema()
	}
	if len(rows) == 1 {
		s.options += ", explicit_cardinality=" + strconv.FormatInt(rows[0]*int64(len(s.paths)), 10)
	}
	return nil
}

// inspectFiles checks the types of the files, and describes the first.
func (v *Views) inspectFiles(s *fileScan) (first *native.Description, err error) {
	if first, err = v.inst.Describe("SELECT * FROM " + ReadParquet(s.paths[:1], s.options)); err != nil {
		return nil, err
	}
	if err := v.inspect(s); err != nil {
		return nil, err
	}
	return first, v.checkFiles(s, first)
}

// fileIndex and fileRow are DuckDB's names for the number of a row's file and of the row in
// it, unless a column that it reads has the name.
const (
	fileIndex = "file_index"
	fileRow   = "file_row_number"
)

func hides(has func(name string) bool) bool { return has(fileIndex) || has(fileRow) }

// setValues sets the SQL by which the table's columns follow from those in files.
func (s *fileScan) setValues() error {
	if !s.renamed {
		return nil
	}
	s.value = make([]string, len(s.inFile))
	for i := range s.inFile {
		if p := s.partOf(i); p != nil {
			s.value[i] = p.value("f."+columnName(i), 0)
			continue
		}
		value, ok := rename("f."+columnName(i), s.stored[i].Type, s.inFile[i].Type, 0)
		if !ok {
			return columnTypeError(s.inFile[i].Name, s.stored[i].Type, "files", s.inFile[i].Type)
		}
		s.value[i] = value
	}
	return nil
}

// checkTypes checks that the cast to the types in files would change no column of a file, and
// returns the columns that it casts.
func (v *Views) checkTypes(s *fileScan, path string, file *native.Description) (widened []string, err error) {
	names, err := v.storedNames(s, path)
	if err != nil {
		return nil, err
	}
	for i, c := range s.stored {
		if s.partOf(i) != nil { // inspect has checked every file
			continue
		}
		for j, name := range file.Names {
			if !strings.EqualFold(name, names[i]) || sqltype.Equal(file.Types[j], c.Type) {
				continue
			}
			if !castable(file.Types[j], c.Type) {
				return nil, columnTypeError(s.inFile[i].Name, file.Types[j], "a file", c.Type)
			}
			widened = append(widened, s.inFile[i].Name)
		}
	}
	return widened, v.checkUnits(s, names, path, file)
}

// checkUnits checks that a file has no timestamps with a zone in nanoseconds. DuckDB's reader gives
// them the same type as those in microseconds, and cuts digits off.
func (v *Views) checkUnits(s *fileScan, names []string, path string, file *native.Description) error {
	zoned := func(t sqltype.Type) bool {
		return sqltype.Contains(t, func(t sqltype.Type) bool { return t == sqltype.TimestampTZ })
	}
	if !slices.ContainsFunc(file.Types, zoned) {
		return nil
	}
	root, err := v.schemaOf(path, file)
	if err != nil {
		return err
	}
	for j, name := range file.Names {
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		if i >= 0 && s.partOf(i) == nil && root.children[j].hasNanos() {
			return columnTypeError(s.inFile[i].Name, sqltype.TimestampNS, "a file", s.stored[i].Type)
		}
	}
	return nil
}

// storedNames returns the names of the columns in a file, "" for a column that it lacks.
func (v *Views) storedNames(s *fileScan, path string) ([]string, error) {
	names := make([]string, len(s.stored))
	if s.ids == nil {
		for i, c := range s.stored {
			names[i] = c.Name
		}
		return names, nil
	}
	sql := "SELECT field_id::BIGINT, name FROM system.main.parquet_schema(" + native.QuoteList([]string{path}) +
		") WHERE field_id IS NOT NULL"
	err := v.inst.Each(sql, engine.Args{}, func(r engine.Row) error {
		if i := slices.Index(s.ids, int(r.Int64(0))); i >= 0 {
			names[i] = r.Text(1)
		}
		return nil
	})
	return names, err
}

// schema returns the columns as an option of read_parquet.
func (s *fileScan) schema() string {
	items := make([]string, 0, len(s.stored)+1)
	for i, c := range s.stored {
		name := c.Name
		if s.renamed {
			name = columnName(i)
		}
		inFile := engine.QuoteString(c.Name)
		if s.ids != nil {
			inFile = strconv.Itoa(s.ids[i])
		}
		items = append(items, schemaItem(inFile, name, c.Type.String()))
	}
	if len(items) == 0 { // no files without columns
		items = append(items, schemaItem(engine.QuoteString("none"), columnName(0), "BOOLEAN"))
	}
	return "MAP {" + strings.Join(items, ", ") + "}"
}

func schemaItem(inFile, name, typ string) string {
	return inFile + ": {'name': " + engine.QuoteString(name) + ", 'type': " + engine.QuoteString(typ) + ", 'default_value': NULL}"
}

// holdsBytes reports whether values of the column are bytes, or variants, or have some.
func holdsBytes(c engine.Column) bool {
	return sqltype.Contains(c.Type, func(t sqltype.Type) bool { return t == sqltype.Blob || t == sqltype.Variant })
}

func hasColumn(columns []engine.Column, name string) bool {
	for _, c := range columns {
		if strings.EqualFold(c.Name, name) {
			return true
		}
	}
	return false
}
