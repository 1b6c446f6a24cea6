package dml

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
)

// usesVectors reports whether the affected rows are marked in deletion vectors: the
// table writes them, and the log has the number of rows of every file. Otherwise
// the files are rewritten.
func (w *write) usesVectors(a affected) bool {
	return len(a.files) > 0 && w.Snapshot.WritesVectors() && !slices.ContainsFunc(a.files, func(f delta.File) bool {
		stats, err := f.Stats()
		return err != nil || stats.NumRecords == nil
	})
}

// maxPending is the number of positions that are buffered before they are
// compressed.
const maxPending = 1 << 20

// deletions returns the affected rows of each file.
func (w *write) deletions(ctx context.Context, a affected) ([]delta.RowDeletion, error) {
	p := positionsByFile{rows: make([]*deletion.Rows, len(a.files)), pending: make([][]int64, len(a.files))}
	atFile, atRow := engine.QuoteIdent(w.names.atFile), engine.QuoteIdent(w.names.atRow)
	st := w.statement("SELECT "+atFile+"::BIGINT, "+atRow+"::BIGINT FROM "+a.rows.from, a.rows.sources...)
	err := forEachInt64Row(ctx, w.Session, st, func(cells []int64) error { return p.add(cells[0], cells[1]) })
	if err == nil {
		err = p.pack()
	}
	if err != nil {
		return nil, err
	}
	byName := make(map[string]delta.File, len(a.files))
	for _, f := range a.files {
		byName[f.Name] = f
	}
	out := make([]delta.RowDeletion, len(a.files))
	for i, name := range paths(a.table.sources[0].Files) {
		out[i] = delta.RowDeletion{File: byName[name], Rows: p.rows[i]}
	}
	return out, nil
}

// positionsByFile collects row positions by file.
type positionsByFile struct {
	rows    []*deletion.Rows
	pending [][]int64
	count   int
}

func (p *positionsByFile) add(file, row int64) error {
	if file < 0 || file >= int64(len(p.pending)) {
		return ErrNotListed
	}
	p.pending[file] = append(p.pending[file], row)
	if p.count++; p.count < maxPending {
		return nil
	}
	return p.pack()
}

func (p *positionsByFile) pack() error {
	for i, positions := range p.pending {
		rows, err := deletion.Of(slices.Values(positions))
		if err != nil {
			return err
		}
		if p.rows[i] != nil {
			rows = rows.Union(p.rows[i])
		}
		p.rows[i], p.pending[i] = rows, nil
	}
	p.count = 0
	return nil
}
