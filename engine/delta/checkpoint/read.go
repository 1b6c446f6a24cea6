package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

const (
	// batchRows is the number of rows that are read or written at a time. The context
	// is checked in between.
	batchRows = 8192
	// maxRows bounds the rows that a file can claim to hold: rows of nulls only take no
	// space.
	maxRows = 200_000_000
	// maxWorkers bounds the goroutines that decode one file.
	maxWorkers = 4
)

// Read decodes one Parquet file and passes its actions to emit in batches. The file is
// a classic checkpoint, a part of a multipart checkpoint, a V2 checkpoint or a sidecar.
// emit must not retain the slice. If emit returns an error, Read stops and returns it.
// Other errors: [ErrCorrupt], [action.ErrMalformed].
//
// Read does not use the conversion to Arrow, which decodes the members of a struct in
// its own goroutines: the library panics on damaged pages, and a panic there would end
// the process.
func Read(ctx context.Context, r parquet.ReaderAtSeeker, emit func([]action.Action) error) (err error) {
	defer recovered(&err)
	pf, err := file.NewParquetReader(r)
	if err != nil {
		return corrupt(err)
	}
	defer func() { _ = pf.Close() }()
	if n := pf.NumRows(); n < 0 || n > maxRows {
		return fmt.Errorf("%d rows: %w", n, ErrCorrupt)
	}
	rd := &reader{emit: emit, workers: make([]worker, min(maxWorkers, runtime.GOMAXPROCS(0)))}
	rows := int64(0)
	for g := range pf.NumRowGroups() {
		n, err := rd.group(ctx, pf, g)
		switch {
		case err != nil && (rd.emitted != nil || ctx.Err() != nil):
			return err
		case err != nil:
			return corrupt(err)
		}
		if rows += n; rows > maxRows {
			return fmt.Errorf("%d rows: %w", rows, ErrCorrupt)
		}
	}
	if rows != pf.NumRows() {
		return fmt.Errorf("%d of %d rows: %w", rows, pf.NumRows(), ErrCorrupt)
	}
	return nil
}

// recovered converts a panic of the library to an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// corrupt adds [ErrCorrupt] to errors of the library and returns more specific ones
// unchanged.
func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, action.ErrMalformed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// reader is the state of one Read.
type reader struct {
	emit    func([]action.Action) error
	emitted error // what emit returned
	workers []worker
	batch   []action.Action
}

// group decodes one row group and returns its number of rows.
func (rd *reader) group(ctx context.Context, pf *file.Reader, g int) (int64, error) {
	rg := pf.RowGroup(g)
	t, err := openTree(pf.MetaData().Schema, rg)
	if err != nil {
		return 0, err
	}
	n := rg.NumRows()
	if n < 0 || n > maxRows {
		return 0, fmt.Errorf("%d rows: %w", n, ErrCorrupt)
	}
	for done := int64(0); done < n; {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		rows := int(min(n-done, batchRows))
		if err := rd.fill(t, rows); err != nil {
			return 0, err
		}
		if err := rd.decode(t, rows); err != nil {
			return 0, err
		}
		if rd.emitted = rd.emit(rd.batch); rd.emitted != nil {
			return 0, rd.emitted
		}
		done += int64(rows)
	}
	return n, nil
}

// fill loads the next rows of every column.
func (rd *reader) fill(t *tree, rows int) error {
	var next atomic.Int64
	return rd.parallel(func(*worker, int) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(t.leaves) {
				return nil
			}
			if err := t.leaves[i].fill(rows); err != nil {
				return err
			}
		}
	})
}

// decode decodes the actions of the loaded rows.
func (rd *reader) decode(t *tree, rows int) error {
	all := make([]action.Action, rows)
	share := (rows + len(rd.workers) - 1) / len(rd.workers)
	err := rd.parallel(func(w *worker, n int) error {
		for i := n * share; i < min(rows, (n+1)*share); i++ {
			a, err := t.action(i, w)
			if err != nil {
				return err
			}
			all[i] = a
		}
		return nil
	})
	rd.batch = rd.batch[:0]
	for _, a := range all {
		if a != nil {
			rd.batch = append(rd.batch, a)
		}
	}
	return err
}

// parallel runs do for every worker.
func (rd *reader) parallel(do func(w *worker, n int) error) error {
	var g errgroup.Group
	for n := range rd.workers {
		g.Go(func() (err error) {
			defer recovered(&err)
			return do(&rd.workers[n], n)
		})
	}
	return g.Wait()
}

// worker is the state of one goroutine.
type worker struct {
	// maps caches maps by their content, because files of one partition have equal
	// maps. id is a buffer for the content.
	maps map[string]map[string]*string
	id   []byte
	// adds are preallocated.
	adds []action.Add
}

// cacheMap caches the map whose content is in id.
func (w *worker) cacheMap(m map[string]*string) {
	const most = 10_000
	if w.maps == nil || len(w.maps) == most {
		w.maps = make(map[string]map[string]*string)
	}
	w.maps[string(w.id)] = m
}

// add allocates an action together with others, because they have the same lifetime.
func (w *worker) add() *action.Add {
	if len(w.adds) == 0 {
		w.adds = make([]action.Add, 128)
	}
	a := &w.adds[0]
	w.adds = w.adds[1:]
	return a
}
