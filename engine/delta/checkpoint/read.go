package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

const (
	// batchRows is how often the context is looked at, and how many rows are
	// written at a time.
	batchRows = 4096
	// maxRows bounds what a file may claim to hold: rows of nothing but nulls
	// take no space.
	maxRows = 200_000_000
)

// Read yields the actions of one Parquet file: a classic checkpoint, a part of
// a multipart one, a V2 checkpoint or a sidecar. An error of emit ends the
// reading and is returned. Other errors: [ErrCorrupt], [action.ErrMalformed].
//
// It reads column chunks by itself instead of through Arrow: the conversion to
// Arrow decodes the members of a struct in goroutines of its own, where the
// panic with which the library answers damaged pages would end the process.
func Read(ctx context.Context, r parquet.ReaderAtSeeker, emit func(action.Action) error) (err error) {
	var emitted error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	pf, err := file.NewParquetReader(r)
	if err != nil {
		return corrupt(err)
	}
	defer func() { _ = pf.Close() }()
	if n := pf.NumRows(); n < 0 || n > maxRows {
		return fmt.Errorf("%d rows: %w", n, ErrCorrupt)
	}
	rows := int64(0)
	for g := range pf.NumRowGroups() {
		n, err := readGroup(ctx, pf, g, func(a action.Action) error {
			emitted = emit(a)
			return emitted
		})
		switch {
		case err != nil && (emitted != nil || ctx.Err() != nil):
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

// corrupt keeps the errors that say more and covers those of the library.
func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, action.ErrMalformed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// readGroup decodes one row group and returns its number of rows.
func readGroup(ctx context.Context, pf *file.Reader, g int, emit func(action.Action) error) (int64, error) {
	rg := pf.RowGroup(g)
	tree, err := openTree(pf.MetaData().Schema, rg)
	if err != nil {
		return 0, err
	}
	n := rg.NumRows()
	if n < 0 || n > maxRows {
		return 0, fmt.Errorf("%d rows: %w", n, ErrCorrupt)
	}
	for i := range n {
		if i%batchRows == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		for _, l := range tree.leaves {
			if err := l.next(); err != nil {
				return 0, err
			}
		}
		a, err := tree.action()
		if err != nil {
			return 0, err
		}
		if a == nil {
			continue
		}
		if err := emit(a); err != nil {
			return 0, err
		}
	}
	return n, nil
}
