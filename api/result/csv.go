package result

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

// csvEncoder writes RFC 4180 with a header line. NULL is an empty field and an empty
// string is "", so that they can be distinguished. Nested values are JSON text.
type csvEncoder struct {
	values  values
	columns []engine.Column
}

func (e *csvEncoder) begin(sink *Sink) error {
	var buf []byte
	for i, c := range e.columns {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendField(buf, []byte(c.Name))
	}
	_, err := sink.Write(append(buf, "\r\n"...))
	return err
}

func (e *csvEncoder) rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error) {
	cols := e.values.bindText(rec)
	var field []byte
	return textRows(sink, rec, maxBytes, func(dst []byte, row int) []byte {
		for i, c := range cols {
			if i > 0 {
				dst = append(dst, ',')
			}
			if rec.Column(i).IsNull(row) {
				continue
			}
			field = c(field[:0], row)
			dst = appendField(dst, field)
		}
		return append(dst, "\r\n"...)
	})
}

func (e *csvEncoder) end(*Sink, Summary) error { return nil }

func appendField(dst, field []byte) []byte {
	if len(field) > 0 && !bytes.ContainsAny(field, "\",\r\n") && field[0] != ' ' && field[len(field)-1] != ' ' {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for _, b := range field {
		if b == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, b)
	}
	return append(dst, '"')
}
