package result

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

// Options limits and formats what [Write] produces.
type Options struct {
	Format Format
	// Rows and Bytes limit the result; zero means no limit.
	Rows, Bytes int64
	// Cut reports that res is incomplete; the summary then is truncated.
	Cut bool
	// IntegersAsStrings writes every integer as a JSON string.
	IntegersAsStrings bool
	// Tail returns members for the end of a JSON result, for example query_id. It is
	// called once, after the last row.
	Tail func(Summary) []Member
	// FailLine renders an error as a JSON object for the last line of NDJSON.
	FailLine func(error) []byte
	// Exhausted, if not nil, is called once when no more rows will be read, before the
	// end of the result is written. It may close the rows.
	Exhausted func()
}

// Member is one JSON member; Value is JSON text.
type Member struct {
	Name  string
	Value []byte
}

// Summary describes what was written.
type Summary struct {
	Rows      int64
	Bytes     int64
	Truncated bool
}

// ErrBroken wraps an error that occurred after bytes had been sent to the client. The
// connection must then be aborted, so that the client does not take the part for the
// whole.
var ErrBroken = errors.New("result incomplete")

// flushSize is the amount of text that is gathered before it is written to the sink.
const flushSize = 64 << 10

// Write reads res to its end, or to a limit, and writes it to sink. If the error is not
// ErrBroken, nothing has been sent to the client.
func Write(ctx context.Context, sink *Sink, res engine.Result, opts Options) (Summary, error) {
	w := &writer{ctx: ctx, sink: sink, opts: opts}
	err := w.run(res)
	w.sum.Bytes = sink.written
	if err == nil {
		err = sink.commit()
	}
	if err != nil && sink.committed {
		if opts.Format == NDJSON && opts.FailLine != nil {
			_, _ = sink.Write(append(opts.FailLine(err), '\n'))
		}
		return w.sum, errors.Join(ErrBroken, err)
	}
	return w.sum, err
}

type encoder interface {
	begin(*Sink) error
	// rows writes rows of rec, beginning with the first, and returns how many fitted
	// within the byte limit.
	rows(sink *Sink, rec arrow.RecordBatch, maxBytes int64) (int64, error)
	end(*Sink, Summary) error
}

type writer struct {
	ctx  context.Context
	sink *Sink
	opts Options
	sum  Summary
}

func (w *writer) run(res engine.Result) error {
	enc := newEncoder(res, w.opts)
	if err := enc.begin(w.sink); err != nil {
		return err
	}
	for !w.sum.Truncated {
		rec, err := res.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		err = w.batch(enc, rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	if w.opts.Exhausted != nil {
		w.opts.Exhausted()
	}
	w.sum.Truncated = w.sum.Truncated || w.opts.Cut
	return enc.end(w.sink, w.sum)
}

func (w *writer) batch(enc encoder, rec arrow.RecordBatch) error {
	want := rec.NumRows()
	if limit := w.opts.Rows; limit > 0 && w.sum.Rows+want > limit {
		want = limit - w.sum.Rows
		w.sum.Truncated = true
		rec = rec.NewSlice(0, want)
		defer rec.Release()
	}
	if want == 0 {
		return nil
	}
	n, err := enc.rows(w.sink, rec, w.opts.Bytes)
	w.sum.Rows += n
	if n < want {
		w.sum.Truncated = true
	}
	return err
}

func newEncoder(res engine.Result, opts Options) encoder {
	values := newValues(res.Columns(), opts.IntegersAsStrings)
	switch opts.Format {
	case NDJSON:
		return &ndjsonEncoder{values: values, columns: res.Columns()}
	case CSV:
		return &csvEncoder{values: values, columns: res.Columns()}
	case Arrow:
		return &arrowEncoder{schema: res.Schema(), columns: res.Columns()}
	case Parquet:
		return &parquetEncoder{schema: res.Schema(), columns: res.Columns()}
	default:
		return &jsonEncoder{values: values, columns: res.Columns(), tail: opts.Tail}
	}
}
