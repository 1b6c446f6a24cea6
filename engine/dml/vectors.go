package dml

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
)

// hides reports whether the rows that go are hidden behind deletion vectors: the
// table asks for it, and the log counts the rows of every file. The files are
// written anew otherwise.
func (w *write) hides(h hit) bool {
	return len(h.files) > 0 && w.Snapshot.WritesVectors() && !slices.ContainsFunc(h.files, func(f delta.File) bool {
		stats, err := f.Stats()
		return err != nil || stats.NumRecords == nil
	})
}

// pendingRows is how many positions are held before they are packed.
const pendingRows = 1 << 20

// deletions are the rows that go, file by file.
func (w *write) deletions(ctx context.Context, h hit) ([]delta.RowDeletion, error) {
	p := packer{rows: make([]*deletion.Rows, len(h.files)), pending: make([][]int64, len(h.files))}
	atFile, atRow := engine.QuoteIdent(w.names.atFile), engine.QuoteIdent(w.names.atRow)
	st := w.statement("SELECT "+atFile+"::BIGINT, "+atRow+"::BIGINT FROM "+h.rows.from, h.rows.sources...)
	err := eachInt64s(ctx, w.Session, st, func(cells []int64) error { return p.add(cells[0], cells[1]) })
	if err == nil {
		err = p.pack()
	}
	if err != nil {
		return nil, err
	}
	byName := make(map[string]delta.File, len(h.files))
	for _, f := range h.files {
		byName[f.Name] = f
	}
	out := make([]delta.RowDeletion, len(h.files))
	for i, name := range paths(h.table.sources[0].Files) {
		out[i] = delta.RowDeletion{File: byName[name], Rows: p.rows[i]}
	}
	return out, nil
}

// packer gathers positions by file.
type packer struct {
	rows    []*deletion.Rows
	pending [][]int64
	count   int
}

func (p *packer) add(file, row int64) error {
	if file < 0 || file >= int64(len(p.pending)) {
		return ErrNotListed
	}
	p.pending[file] = append(p.pending[file], row)
	if p.count++; p.count < pendingRows {
		return nil
	}
	return p.pack()
}

func (p *packer) pack() error {
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
