package dml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Rows are rows of a request, in one Parquet file.
type Rows struct {
	// File is the name of the file in the scratch directory. Row i of the request
	// is row i of the file.
	File string
	// Columns are the columns of the file that are columns of the table, with their
	// types.
	Columns []engine.Column
	// Count is the number of rows.
	Count int64
	// ShapeColumn names the column of the file that holds the index in Shapes of a
	// row's shape. Empty means that every row names every column of the file.
	ShapeColumn string
	// Shapes are the different sets of columns that rows name.
	Shapes [][]string
}

// relation is a source of rows for SQL of this package.
type relation struct {
	// from is the SQL that follows FROM.
	from    string
	sources []engine.Source
	// row names the column that identifies rows.
	row string
}

func (r relation) rules() constraint.Relation { return constraint.Relation{From: r.from, Row: r.row} }

// scratchFiles returns a relation over Parquet files in the scratch directory. Its
// row column is unique only if there is one file.
func (w *write) scratchFiles(columns []engine.Column, names ...string) relation {
	var groups []engine.FileGroup
	if len(names) > 0 {
		groups = []engine.FileGroup{{Paths: names}}
	}
	list := engine.NewFileList(columns, true, groups).WithPositions(w.positions())
	source := engine.Source{Location: w.Scratch, Identity: "staged:" + uuid.NewString(), Files: list}
	return relation{from: source.Relation(), sources: []engine.Source{source}, row: w.names.row}
}

// staged returns the relation of a request's rows with every column of the table. Rows
// that do not name a column have its default. If inserts is true, the rows can become
// new rows of the table, and a default that cannot be evaluated is a
// [delta.FeatureError].
func (w *write) staged(rows Rows, inserts bool) (relation, error) {
	columns := rows.Columns
	if rows.ShapeColumn != "" {
		columns = append(append([]engine.Column{}, columns...), engine.Column{Name: rows.ShapeColumn, Type: sqltype.Integer})
	}
	r := w.scratchFiles(columns, rows.File)
	items := make([]string, 0, len(w.Columns)+2)
	for _, c := range w.Columns {
		name := engine.QuoteIdent(c.Name)
		naming, others := rows.naming(c.Name, engine.QuoteIdent(rows.ShapeColumn))
		if inserts && others && slices.Contains(w.Rules.Unfilled(), c.Name) {
			return relation{}, &delta.FeatureError{Feature: "allowColumnDefaults", Write: true, Reason: "rows do not name column " + c.Name}
		}
		value := name
		if def := w.defaultOf(c); naming == "" {
			value = def
		} else if others && def != nullOf(c) {
			value = "CASE WHEN " + naming + " THEN " + name + " ELSE " + def + " END"
		}
		items = append(items, w.storable(c, value)+" AS "+name)
	}
	items = append(items, engine.QuoteIdent(r.row))
	if rows.ShapeColumn != "" {
		items = append(items, engine.QuoteIdent(rows.ShapeColumn))
	}
	r.from = "(SELECT " + strings.Join(items, ", ") + " FROM " + r.from + ")"
	return r, nil
}

// naming returns the SQL condition under which a row of the file names a column, or ""
// if no row does. others reports that some rows do not. shape is SQL for the shape of
// a row.
func (r Rows) naming(column, shape string) (condition string, others bool) {
	if !hasColumn(r.Columns, column) {
		return "", true
	}
	if r.ShapeColumn == "" {
		return "true", false
	}
	var shapes []string
	for i, shape := range r.Shapes {
		if slices.Contains(shape, column) {
			shapes = append(shapes, strconv.Itoa(i))
		}
	}
	switch len(shapes) {
	case 0:
		return "", true
	case len(r.Shapes):
		return "true", false
	}
	return shape + " IN (" + strings.Join(shapes, ", ") + ")", true
}

// defaultOf returns SQL for the value of a column in new rows that do not name it.
func (w *write) defaultOf(c engine.Column) string {
	if sql, ok := w.Rules.Default(c.Name); ok {
		return "CAST(" + sql + " AS " + c.Type.String() + ")"
	}
	return nullOf(c)
}

func nullOf(c engine.Column) string { return "NULL::" + c.Type.String() }

// storable returns SQL for value as the table stores it. Every engine reads an
// empty string in a partition column as NULL, so checks must see NULL too.
func (w *write) storable(c engine.Column, value string) string {
	if c.Type == sqltype.Varchar && slices.Contains(w.Snapshot.PartitionColumns(), c.Name) {
		return "nullif(" + value + ", '')"
	}
	return value
}

func hasColumn(columns []engine.Column, name string) bool {
	return slices.ContainsFunc(columns, func(c engine.Column) bool { return c.Name == name })
}
