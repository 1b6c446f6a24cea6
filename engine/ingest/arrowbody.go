package ingest

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowRows copies the values of batches into rows.
type arrowRows struct {
	*rows
	// targets are the columns of the stream's, -1 for those that do not fit.
	targets []int
}

// readArrow stages the batches of a stream.
func readArrow(in *meter, req Request, rows *rows) error {
	s := &arrowStream{in: in, limits: req.Limits, sizes: map[int64]int64{}}
	defer s.release()
	a := &arrowRows{rows: rows}
	var reader *ipc.Reader
	err := guarded(in, func() (err error) {
		if reader, err = ipc.NewReaderFromMessageReader(s); err == nil {
			err = a.columnsOf(reader.Schema())
		}
		return s.cause(err)
	})
	if errors.Is(err, io.EOF) {
		return s.syntax(errMessage) // an end without schema
	}
	if err != nil {
		return err
	}
	for {
		var batch arrow.RecordBatch
		err := guarded(in, func() (err error) {
			if batch, err = reader.Read(); err != nil {
				return s.cause(err)
			}
			return a.batchOf(in, batch)
		})
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		if err != nil {
			return err
		}
	}
}

// columnsOf finds the columns that the stream's become.
func (a *arrowRows) columnsOf(schema *arrow.Schema) error {
	for _, f := range schema.Fields() {
		i, reason := a.names.find([]byte(f.Name)), ""
		switch {
		case i < 0:
			reason = unknownColumn
		case a.shapes.has(i):
			reason = namedTwice
		default:
			a.shapes.add(i)
			reason = castable(ofArrow(f.Type), a.types[i])
		}
		if reason != "" {
			a.problems.add(-1, shownName([]byte(f.Name)), reason)
			i = -1
		}
		a.targets = append(a.targets, i)
	}
	_, err := a.shapes.id(-1) // also of a stream without batches
	return err
}

func (a *arrowRows) batchOf(in *meter, batch arrow.RecordBatch) error {
	copies := a.bindAll(batch)
	for row := range int(batch.NumRows()) {
		if row%batchRows == 0 {
			if err := in.ctx.Err(); err != nil {
				return err
			}
		}
		a.begin()
		for i, copyTo := range copies {
			if copyTo == nil {
				continue
			}
			a.column(a.targets[i])
			if err := copyTo(row); err != nil {
				return err
			}
		}
		before := a.batch
		if err := a.end(); err != nil {
			return err
		}
		if a.batch <= before {
			copies = a.bindAll(batch) // the builders may be new ones
		}
	}
	return nil
}

func (a *arrowRows) bindAll(batch arrow.RecordBatch) []copier {
	copies := make([]copier, len(a.targets))
	for i, target := range a.targets {
		if target >= 0 {
			copies[i] = a.bind(a.cells[target], batch.Column(i))
		}
	}
	return copies
}
