package result

import (
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakewarden/lakewarden/engine"
)

// The bounds of a row group. A group is held in memory until it is complete, so a Parquet
// result needs memory for the bytes of one group, however long it is.
const (
	maxGroupBytes = 16 << 20
	maxGroupRows  = 1 << 20
)

// parquetEncoder writes a Parquet file. Readers need the footer, which is written last,
// so they reject an incomplete file. A byte limit applies between batches.
type parquetEncoder struct {
	schema  *arrow.Schema
	columns []engine.Column
	gate    *gate
	w       *pqarrow.FileWriter
	// groupBytes and groupRows are the size of the open row group.
	groupBytes, groupRows int64
}

func (e *parquetEncoder) begin(sink *Sink) error {
	for i, f := range e.schema.Fields() {
		if !parquetSupports(f.Type) {
			return &ColumnError{Format: Parquet, Column: e.columns[i]}
		}
	}
	e.gate = &gate{dst: sink}
	return e.gate.whileOpen(func() (err error) {
		e.w, err = pqarrow.NewFileWriter(e.schema, e.gate, parquetProperties(e.schema), pqarrow.DefaultWriterProps())
		return err
	})
}

func parquetProperties(schema *arrow.Schema) *parquet.WriterProperties {
	options := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(math.MaxInt64), // the encoder counts rows and bytes itself
		// The library's minimum and maximum of strings refer to batches that are released
		// before the group is written.
		parquet.WithStats(false),
		parquet.WithCreatedBy("Lakewarden"),
		// Dictionary lookups of numbers take as long as everything else; mostly strings
		// repeat.
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
	if err := checkValues(rec, e.columns, Parquet); err != nil {
		return 0, err
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
	return e.gate.whileOpen(func() error {
		e.w.NewBufferedRowGroup() // writes the previous group; the gate records its error
		return nil
	})
}

// end writes the last row group and the footer.
func (e *parquetEncoder) end(*Sink, Summary) error { return e.gate.whileOpen(e.w.Close) }

// gate passes bytes on only while it is open, and records the first failure. If a column
// fails, the library closes the file with its footer, and it ignores errors of a row
// group that it closes implicitly: neither may look like a complete file.
type gate struct {
	dst  io.Writer
	open bool
	err  error
}

var errIncomplete = errors.New("parquet file is not complete")

// whileOpen opens the gate for the duration of step.
func (g *gate) whileOpen(step func() error) error {
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

// parquetSupports reports whether Parquet can represent every value of a type.
func parquetSupports(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			if !parquetSupports(f.Type) {
				return false
			}
		}
		return t.NumFields() > 0
	case arrow.ListLikeType: // includes maps
		return parquetSupports(t.Elem())
	case *arrow.DictionaryType:
		return parquetSupports(t.ValueType)
	}
	switch t.ID() {
	case arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.BINARY, arrow.FIXED_SIZE_BINARY, arrow.DECIMAL128, arrow.DECIMAL256,
		arrow.DATE32, arrow.TIMESTAMP, arrow.TIME32, arrow.TIME64:
		return true
	}
	return false
}
