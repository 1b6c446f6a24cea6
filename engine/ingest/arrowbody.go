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
func readArrow(in *meter, rows *rows) error {
	s := &arrowStream{in: in, limits: rows.limits, sizes: map[int64]int64{}}
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
		i, reason := a.find([]byte(f.Name)), ""
		switch {
		case i < 0:
			reason = unknownColumn
		case !a.heading(i):
			reason = namedTwice
		default:
			reason = castable(ofArrow(f.Type), a.cell(i).typ)
		}
		if reason != "" {
			a.columnProblem(shownName([]byte(f.Name)), reason)
			i = -1
		}
		a.targets = append(a.targets, i)
	}
	return a.headed() // also of a stream without batches
}

// checkRows is after how many rows the context is checked.
const checkRows = 16 << 10

func (a *arrowRows) batchOf(in *meter, batch arrow.RecordBatch) error {
	copies, generation := a.bindAll(batch), a.generation()
	for row := range int(batch.NumRows()) {
		if row%checkRows == 0 {
			if err := in.interrupted(); err != nil {
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
		if err := a.end(); err != nil {
			return err
		}
		if a.generation() != generation {
			copies, generation = a.bindAll(batch), a.generation()
		}
	}
	return nil
}

func (a *arrowRows) bindAll(batch arrow.RecordBatch) []copier {
	copies := make([]copier, len(a.targets))
	for i, target := range a.targets {
		if target >= 0 {
			copies[i] = a.bind(a.cell(target), batch.Column(i))
		}
	}
	return copies
}
