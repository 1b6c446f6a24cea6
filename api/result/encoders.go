package result

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakewarden/lakewarden/engine"
)

// textRows renders rows one by one, so that a byte limit applies between rows.
func textRows(sink *Sink, rec arrow.RecordBatch, maxBytes int64, row func(dst []byte, i int) []byte) (int64, error) {
	buf := make([]byte, 0, flushSize+4096)
	n := int64(0)
	for ; n < rec.NumRows(); n++ {
		before := len(buf)
		buf = row(buf, int(n))
		if maxBytes > 0 && sink.written+int64(len(buf)) > maxBytes {
			buf = buf[:before]
			break
		}
		if len(buf) >= flushSize {
			if _, err := sink.Write(buf); err != nil {
				return n, err
			}
			buf = buf[:0]
		}
	}
	_, err := sink.Write(buf)
	return n, err
}

type jsonEncoder struct {
	values  values
	columns []engine.Column
	tail    func(Summary) []Member
	started bool
}

func (e *jsonEncoder) begin(sink *Sink) error {
	buf := []byte(`{"columns":[`)
	for i, c := range e.columns {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, `{"name":`...)
		buf = appendString(buf, c.Name)
		buf = append(buf, `,"type":`...)
		buf = appendString(buf, c.Type.String())
		buf = append(buf, '}')
	}
	_, err := sink.Write(append(buf, `],"rows":[`...))
	return err
}

func (e *jsonEncoder) rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error) {
	cols := e.values.bind(rec)
	return textRows(sink, rec, maxBytes, func(dst []byte, row int) []byte {
		if e.started {
			dst = append(dst, ',')
		}
		e.started = true
		dst = append(dst, '[')
		for i, c := range cols {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c(dst, row)
		}
		return append(dst, ']')
	})
}

func (e *jsonEncoder) end(sink *Sink, sum Summary) error {
	buf := append([]byte(`],"row_count":`), strconv.FormatInt(sum.Rows, 10)...)
	buf = append(buf, `,"truncated":`...)
	buf = strconv.AppendBool(buf, sum.Truncated)
	if e.tail != nil {
		for _, m := range e.tail(sum) {
			buf = append(append(appendString(append(buf, ','), m.Name), ':'), m.Value...)
		}
	}
	_, err := sink.Write(append(buf, "}\n"...))
	return err
}

type ndjsonEncoder struct {
	values  values
	columns []engine.Column
}

func (e *ndjsonEncoder) begin(*Sink) error { return nil }

func (e *ndjsonEncoder) rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error) {
	cols := e.values.bind(rec)
	keys := make([][]byte, len(cols))
	for i, name := range distinctNames(e.columns) {
		keys[i] = append(appendString(nil, name), ':')
	}
	return textRows(sink, rec, maxBytes, func(dst []byte, row int) []byte {
		dst = append(dst, '{')
		for i, c := range cols {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c(append(dst, keys[i]...), row)
		}
		return append(dst, "}\n"...)
	})
}

// distinctNames returns the names of columns as keys of one object: a name that occurs again gets
// a number that makes it unlike every other.
func distinctNames(columns []engine.Column) []string {
	names, taken := make([]string, len(columns)), make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[c.Name] = true
	}
	used := make(map[string]bool, len(columns))
	next := map[string]int{}
	for i, c := range columns {
		name := c.Name
		for used[name] || name != c.Name && taken[name] {
			next[c.Name]++
			name = c.Name + "_" + strconv.Itoa(next[c.Name])
		}
		used[name], names[i] = true, name
	}
	return names
}

func (e *ndjsonEncoder) end(*Sink, Summary) error { return nil }

// arrowEncoder writes the Arrow IPC streaming format. A byte limit applies between
// batches.
type arrowEncoder struct {
	schema  *arrow.Schema
	columns []engine.Column
	w       *ipc.Writer
}

func (e *arrowEncoder) begin(sink *Sink) error {
	e.w = ipc.NewWriter(sink, ipc.WithSchema(e.schema))
	return nil
}

func (e *arrowEncoder) rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error) {
	if maxBytes > 0 && sink.written >= maxBytes {
		return 0, nil
	}
	if err := checkValues(rec, e.columns, Arrow); err != nil {
		return 0, err
	}
	if err := e.w.Write(rec); err != nil {
		return 0, err
	}
	return rec.NumRows(), nil
}

// end writes the end-of-stream mark, which an incomplete stream lacks.
func (e *arrowEncoder) end(*Sink, Summary) error { return e.w.Close() }
