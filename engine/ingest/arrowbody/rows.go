package arrowbody

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// decoder copies the values of batches into rows.
type decoder struct {
	*staging.Rows
	// targets are the table's columns for those of the stream, -1 for those that do not fit.
	targets []int
}

// Read stages the batches of a body.
func Read(in *staging.Meter, rows *staging.Rows) error {
	s := newStream(in, rows.Limits)
	defer s.release()
	a := &decoder{Rows: rows}
	var reader *ipc.Reader
	err := guarded(in, func() (err error) {
		if reader, err = ipc.NewReaderFromMessageReader(s); err == nil {
			err = a.columnsOf(reader.Schema())
		}
		return s.cause(err)
	})
	if errors.Is(err, io.EOF) {
		return s.syntax(malformed) // an end without schema
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

// columnsOf finds the table's columns for those of the stream.
func (a *decoder) columnsOf(schema *arrow.Schema) error {
	for _, f := range schema.Fields() {
		i, reason := a.Find([]byte(f.Name)), ""
		switch {
		case i < 0:
			reason = staging.UnknownColumn
		case !a.Heading(i):
			reason = staging.NamedTwice
		default:
			reason = staging.Castable(staging.OfArrow(f.Type), a.Cell(i).Typ)
		}
		if reason != "" {
			a.ColumnProblem(staging.ShownName([]byte(f.Name)), reason)
			i = -1
		}
		a.targets = append(a.targets, i)
	}
	return a.Headed() // also of a stream without batches
}

// checkRows is the number of rows between two checks of the context.
const checkRows = 16 << 10

func (a *decoder) batchOf(in *staging.Meter, batch arrow.RecordBatch) error {
	copies, generation := a.bindAll(batch), a.Generation()
	for row := range int(batch.NumRows()) {
		if row%checkRows == 0 {
			if err := in.Interrupted(); err != nil {
				return err
			}
		}
		a.Begin()
		for i, copyTo := range copies {
			if copyTo == nil {
				continue
			}
			a.Column(a.targets[i])
			if err := copyTo(row); err != nil {
				return err
			}
		}
		if err := a.End(); err != nil {
			return err
		}
		if a.Generation() != generation {
			copies, generation = a.bindAll(batch), a.Generation()
		}
	}
	return nil
}

func (a *decoder) bindAll(batch arrow.RecordBatch) []copier {
	copies := make([]copier, len(a.targets))
	for i, target := range a.targets {
		if target >= 0 {
			copies[i] = a.bind(a.Cell(target), batch.Column(i))
		}
	}
	return copies
}
