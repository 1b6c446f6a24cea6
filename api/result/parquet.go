package result

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The bounds of a row group. A group is kept in memory until it is whole, so its
// bytes are what a Parquet result costs, however long it is.
const (
	maxGroupBytes = 16 << 20
	maxGroupRows  = 1 << 20
)

// ColumnError is a column whose type a format cannot hold. Nothing has been
// written. Cast the column, or ask for another format: 422.
type ColumnError struct {
	Format Format
	Column engine.Column
}

// Error implements error.
func (e *ColumnError) Error() string {
	return fmt.Sprintf("column %q of type %s has no form in %s: cast it, or leave it out", e.Column.Name, e.Column.Type, e.Format)
}

// ProblemCode names the line in the table of errors.
func (e *ColumnError) ProblemCode() string { return "type_not_supported" }

// FieldProblems names the column.
func (e *ColumnError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("sql", e.Error()) }
}

// parquetEncoder writes a Parquet file. What a reader needs first, the footer,
// comes last: a file that broke off is no file. The byte limit cuts between
// batches.
type parquetEncoder struct {
	schema  *arrow.Schema
	columns []engine.Column
	gate    *gate
	w       *pqarrow.FileWriter
	// groupBytes and groupRows are those of the open row group.
	groupBytes, groupRows int64
}

func (e *parquetEncoder) begin(sink *Sink) error {
	for i, f := range e.schema.Fields() {
		if !parquetHolds(f.Type) || sqltype.Contains(e.columns[i].Type, lossy) {
			return &ColumnError{Format: Parquet, Column: e.columns[i]}
		}
	}
	e.gate = &gate{dst: sink}
	return e.gate.through(func() (err error) {
		e.w, err = pqarrow.NewFileWriter(e.schema, e.gate, parquetProperties(e.schema), pqarrow.DefaultWriterProps())
		return err
	})
}

func parquetProperties(schema *arrow.Schema) *parquet.WriterProperties {
	options := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(math.MaxInt64), // groups end by our count
		// The library's smallest and largest texts point into batches that are
		// gone when the group is written.
		parquet.WithStats(false),
		parquet.WithCreatedBy("Lakewarden"),
		// Looking numbers up in a dictionary takes as long as all the rest;
		// texts are what repeats.
		parquet.WithDictionaryDefault(false),
	}
	for _, f := range schema.Fields() {
		if f.Type.ID() == arrow.STRING {
			options = append(options, parquet.WithDictionaryFor(f.Name, true))
		}
	}
	return parquet.NewWriterProperties(options...)
}

func (e *parquetEncoder) rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error) {
	if maxBytes > 0 && sink.written+e.groupBytes >= maxBytes {
		return 0, nil
	}
	for _, column := range rec.Columns() {
		if err := inPrecision(column); err != nil {
			return 0, err
		}
	}
	if e.groupBytes >= maxGroupBytes || e.groupRows >= maxGroupRows {
		if err := e.nextGroup(); err != nil {
			return 0, err
		}
	}
	if err := e.w.WriteBuffered(rec); err != nil {
		return 0, err
	}
	e.groupRows += rec.NumRows()
	for _, column := range rec.Columns() {
		e.groupBytes += int64(column.Data().SizeInBytes())
	}
	return rec.NumRows(), nil
}

func (e *parquetEncoder) nextGroup() error {
	e.groupBytes, e.groupRows = 0, 0
	return e.gate.through(func() error {
		e.w.NewBufferedRowGroup() // writes the group before; the gate knows whether it could
		return nil
	})
}

// end writes the last row group and the footer.
func (e *parquetEncoder) end(*Sink, Summary) error { return e.gate.through(e.w.Close) }

// gate lets bytes pass only while it is open, and remembers the first failure.
// The library closes the file, footer and all, when a column fails, and drops
// errors of a row group that it closes on the way: neither may look like an end.
type gate struct {
	dst  io.Writer
	open bool
	err  error
}

var errIncomplete = errors.New("parquet file is not complete")

// through opens the gate for one step.
func (g *gate) through(step func() error) error {
	g.open = true
	err := step()
	g.open = false
	return errors.Join(g.err, err)
}

// Write implements io.Writer.
func (g *gate) Write(p []byte) (int, error) {
	if g.err == nil && !g.open {
		g.err = errIncomplete
	}
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.dst.Write(p)
	g.err = err
	return n, err
}

// parquetHolds reports whether a type has a form in Parquet that keeps every
// value.
func parquetHolds(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			if !parquetHolds(f.Type) {
				return false
			}
		}
		return t.NumFields() > 0
	case arrow.ListLikeType: // maps too
		return parquetHolds(t.Elem())
	case *arrow.DictionaryType:
		return parquetHolds(t.ValueType)
	}
	switch t.ID() {
	case arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.BINARY, arrow.FIXED_SIZE_BINARY, arrow.DECIMAL128, arrow.DECIMAL256,
		arrow.DATE32, arrow.TIMESTAMP, arrow.TIME32, arrow.TIME64:
		return true
	}
	return false
}

// lossy reports SQL types whose Arrow form drops something: the sign bit of an
// unsigned number, the zone of a time, the length of a bit string.
func lossy(t sqltype.Type) bool {
	return t == sqltype.UHugeInt || t == sqltype.Bit || t == sqltype.BigNum || t == sqltype.TimeTZ
}

// inPrecision refuses a HUGEINT of 39 digits: Parquet has decimals of 38.
func inPrecision(column arrow.Array) error {
	switch c := column.(type) {
	case *array.Decimal128:
		t := c.DataType().(*arrow.Decimal128Type)
		for row := 0; t.Precision == 38 && row < c.Len(); row++ {
			if c.IsValid(row) && !c.Value(row).FitsInPrecision(t.Precision) {
				return &engine.Error{Kind: engine.KindRuntime, Class: "out_of_range", Position: -1}
			}
		}
	case *array.Struct:
		for i := range c.NumField() {
			if err := inPrecision(c.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike: // maps too
		return inPrecision(c.ListValues())
	}
	return nil
}
