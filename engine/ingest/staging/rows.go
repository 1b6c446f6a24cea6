package staging

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine"
)

// The bounds of a batch that is built in memory.
const (
	batchRows  = 16 << 10
	batchBytes = 4 << 20
)

// Rows stages rows value by value. For each row a decoder calls Begin, then Column and one
// append to the returned cells for each column that the row names, then End. It is not safe
// for concurrent use.
//
// After the first problem nothing is written; values are still appended, so that all problems
// are found.
type Rows struct {
	Columns  []engine.Column
	types    []*DataType
	Limits   Limits
	schema   *arrow.Schema
	names    Names
	shapes   *shapes
	withID   bool
	problems RowsError
	file     *stagedFile

	cells []*Cells
	ids   *array.Int32Builder
	// n counts rows, batch those not written yet, builds the calls of newBatch.
	n, batch int64
	builds   int
	// size is the cost of the current row, batchSize that of the batch.
	size, batchSize int64
}

// NewRows stages rows of columns into a new file of dir. shapeColumn names one more
// column (INTEGER), the number of the shape that a row has; empty means none.
func NewRows(columns []engine.Column, shapeColumn, dir string, limits Limits) (*Rows, error) {
	r := &Rows{Columns: columns, Limits: limits, withID: shapeColumn != "", shapes: newShapes(len(columns))}
	fields := make([]arrow.Field, len(columns), len(columns)+1)
	for i, c := range columns {
		typ := OfSQL(c.Type)
		staged := typ.ArrowType()
		if staged == nil || typ.hasNestedKey() {
			return nil, fmt.Errorf("column %q of type %s: %w", c.Name, c.Type, ErrUnsupportedType)
		}
		r.types = append(r.types, typ)
		fields[i] = arrow.Field{Name: c.Name, Type: staged, Nullable: true}
	}
	r.names = NewNames(len(columns), func(i int) string { return columns[i].Name })
	if r.withID {
		fields = append(fields, arrow.Field{Name: shapeColumn, Type: arrow.PrimitiveTypes.Int32})
	}
	r.schema = arrow.NewSchema(fields, nil)
	r.newBatch()
	file, err := newStagedFile(dir, r.schema, limits.StagedBytes)
	r.file = file
	return r, err
}

// newBatch makes empty builders.
func (r *Rows) newBatch() {
	r.cells = make([]*Cells, len(r.Columns))
	for i := range r.Columns {
		r.cells[i] = newCells(r.types[i], r.Columns[i].Name, array.NewBuilder(memory.DefaultAllocator, r.schema.Field(i).Type))
	}
	r.ids = array.NewInt32Builder(memory.DefaultAllocator)
	r.batch, r.batchSize = 0, 0
	r.builds++
}

// Generation returns a number that changes when the cells are replaced by new ones.
func (r *Rows) Generation() int { return r.builds }

// Problem reports a value of the current row.
func (r *Rows) Problem(path, message string) { r.problems.Add(r.n, path, message) }

// ColumnProblem reports a column of all rows.
func (r *Rows) ColumnProblem(column, message string) { r.problems.Add(-1, column, message) }

// ProblemCount returns the number of problems so far.
func (r *Rows) ProblemCount() int64 { return r.problems.Total }

// Find returns the number of the column that a body calls name, or -1.
func (r *Rows) Find(name []byte) int { return r.names.Find(name) }

// Heading records that the body names the column with number i for all rows. It returns false
// if i is negative or was named before.
func (r *Rows) Heading(i int) (first bool) {
	if i < 0 || r.shapes.has(i) {
		return false
	}
	r.shapes.add(i)
	return true
}

// Headed ends the list of columns that a body names for all rows.
func (r *Rows) Headed() error {
	_, err := r.shapes.id(-1)
	return err
}

// Cell returns the cells of a column without naming it.
func (r *Rows) Cell(i int) *Cells { return r.cells[i] }

// Begin starts a row.
func (r *Rows) Begin() {
	r.shapes.begin()
	r.size = 0
}

// Column returns the cells of a column that the row names, nil if the row has named it before.
func (r *Rows) Column(i int) *Cells {
	if r.shapes.has(i) {
		return nil
	}
	r.shapes.add(i)
	return r.cells[i]
}

// Grow adds a value of n bytes to the current row before it is appended. Its error ends the
// body.
func (r *Rows) Grow(n int64) error {
	if r.size += n; r.size > r.Limits.RowBytes {
		return &LimitError{What: "row bytes", Limit: r.Limits.RowBytes}
	}
	return nil
}

// End completes a row; columns that it does not name are NULL.
func (r *Rows) End() error {
	for i, c := range r.cells {
		if !r.shapes.has(i) {
			c.Null()
		}
		r.size += c.Width
	}
	if r.n++; r.n > r.Limits.Rows {
		return &LimitError{What: LimitedRows, Limit: r.Limits.Rows}
	}
	if r.withID {
		id, err := r.shapes.id(r.n - 1)
		if err != nil {
			return err
		}
		r.ids.Append(id)
	} else if _, err := r.shapes.id(r.n - 1); err != nil {
		return err
	}
	r.batch++
	if r.batchSize += r.size; r.batch >= batchRows || r.batchSize >= batchBytes {
		return r.flush()
	}
	return nil
}

// flush writes the batch, or drops it after a problem.
func (r *Rows) flush() error {
	if r.problems.Total > 0 {
		// After a problem the builders may hold values that form no array, such as a key that
		// is NULL.
		rows := int(r.batch)
		r.newBatch()
		r.reserve(rows)
		return nil
	}
	if r.batch == 0 {
		return nil
	}
	arrays := make([]arrow.Array, 0, len(r.cells)+1)
	for _, c := range r.cells {
		arrays = append(arrays, c.b.NewArray())
	}
	ids := r.ids.NewArray()
	if r.withID {
		arrays = append(arrays, ids)
	}
	err := r.file.write(array.NewRecordBatch(r.schema, arrays, r.batch), r.batchSize)
	r.reserve(int(r.batch))
	r.batch, r.batchSize = 0, 0
	return err
}

// reserve makes room for a batch of the size of the previous one.
func (r *Rows) reserve(n int) {
	for _, c := range r.cells {
		c.reserve(n)
	}
	r.ids.Reserve(n)
}

// Finish writes the remaining rows and closes the file.
func (r *Rows) Finish() (*Staged, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	if r.problems.Total > 0 {
		return nil, &r.problems
	}
	if err := r.file.close(); err != nil {
		return nil, err
	}
	return &Staged{
		File: r.file.name(), Rows: r.n,
		Shapes: r.shapes.lists(func(i int) string { return r.Columns[i].Name }), FirstRows: r.shapes.first,
	}, nil
}

// Discard removes the file unless it is complete.
func (r *Rows) Discard() { r.file.discard() }
