package maintenance

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// rewriter writes the files that take the place of bins.
type rewriter struct {
	opts     OptimizeOptions
	layout   layout
	snap     *delta.Snapshot
	columns  columns
	zColumns []engine.Column
	// ids reads what rows keep, where they must.
	ids *datafile.RowIDs
}

func newRewriter(snap *delta.Snapshot, opts OptimizeOptions, l layout) (*rewriter, error) {
	if err := delta.CheckWritable(snap, noNewRows...); err != nil {
		return nil, err
	}
	if err := delta.CheckRewritable(snap); err != nil {
		return nil, err
	}
	r := &rewriter{opts: opts, layout: l, snap: snap, ids: datafile.RowIDsOf(snap)}
	var err error
	if r.columns, err = fileColumns(snap); err != nil {
		return nil, err
	}
	r.zColumns, err = zColumns(snap, opts.ZOrderBy)
	return r, err
}

// rewritten is a bin with the files that hold its rows now. They are in place.
type rewritten struct {
	bin   bin
	files []delta.AddFile
}

// uploads is how many bins may be on their way to the store while the next one
// is being written. It bounds what lies in the scratch directory.
const uploads = 2

// rewriteAll writes bins, and returns those that are complete also after an
// error.
func (r *rewriter) rewriteAll(ctx context.Context, bins []bin) (done []rewritten, err error) {
	done = make([]rewritten, len(bins))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, b := range bins {
		done[i].bin = b
		dir := "bin-" + uuid.NewString()
		var written []engine.DataFile
		if written, err = r.write(gctx, b, dir); err != nil {
			break
		}
		g.Go(func() (err error) {
			done[i].files, err = r.upload(gctx, b, dir, written)
			if err == nil {
				r.opts.Rewritten(int64(len(b.files)))
			}
			return err
		})
	}
	// The first failure is the cause; what follows it was stopped for it.
	if uploadErr := g.Wait(); uploadErr != nil {
		err = uploadErr
	}
	return done, err
}

// input is what the rows of a bin are read from.
type input struct {
	from    string // a relation in SQL
	sources []engine.Source
	// rows is how many there are by the log, -1 when it does not say.
	rows int64
}

func (r *rewriter) input(ctx context.Context, b bin) (input, error) {
	group := engine.FileGroup{}
	in := input{}
	for _, f := range b.files {
		group.Paths = append(group.Paths, f.Name)
		if stats, err := f.Stats(); err == nil && stats.NumRecords != nil && in.rows >= 0 {
			in.rows += *stats.NumRecords
		} else {
			in.rows = -1
		}
	}
	hides := slices.ContainsFunc(b.files, func(f delta.File) bool { return f.Add.DeletionVector != nil })
	var at engine.PositionColumns
	if hides || r.ids != nil {
		own := uuid.NewString()
		at = engine.PositionColumns{File: "file " + own, Row: "row " + own}
	}
	in.from, in.sources = r.read(r.columns.of(group).WithPositions(at))
	if !hides {
		return in, nil
	}
	return r.without(ctx, b, at, in)
}

// read is a relation over files, with the ids of their rows where these must be kept.
func (r *rewriter) read(list *engine.FileList) (from string, sources []engine.Source) {
	if r.ids != nil {
		return r.ids.Relation(list, func(list *engine.FileList) engine.Source { return r.opts.Source(r.snap, list) })
	}
	source := r.opts.Source(r.snap, list)
	return source.Relation(), []engine.Source{source}
}

// items are the columns of the new files, out of such a relation.
func (r *rewriter) items() string {
	if r.ids == nil {
		return r.columns.names()
	}
	return r.columns.names() + ", " + engine.QuoteIdent(r.ids.ID) + " AS " + engine.QuoteIdent(r.ids.Stored.ID) +
		", " + engine.QuoteIdent(r.ids.CommitVersion) + " AS " + engine.QuoteIdent(r.ids.Stored.CommitVersion)
}

// write makes the files of a bin in a folder of the scratch directory.
func (r *rewriter) write(ctx context.Context, b bin, dir string) ([]engine.DataFile, error) {
	in, err := r.input(ctx, b)
	if err != nil {
		return nil, err
	}
	layout := datafile.Layout(r.snap)
	layout.FieldIDs, layout.Ordered = r.columns.fieldIDs, r.opts.KeepOrder && len(r.zColumns) == 0
	sql := "SELECT " + r.items() + " FROM " + in.from
	if len(r.zColumns) > 0 {
		layout.FileBytes, layout.RowGroupRows = r.layout.targetBytes, r.layout.rowGroup(b, in.rows)
		order, err := r.order(ctx, in, layout.RowGroupRows)
		if err != nil {
			return nil, err
		}
		// Threads take stretches of the curve in turn, and each makes row groups of
		// its own: to have them in their exact order would take one thread.
		sql += " ORDER BY " + order
	}
	files, err := r.opts.Writer.Write(ctx, engine.WriteStatement{
		Statement: engine.Statement{SQL: sql, Sources: in.sources, Lease: r.opts.Lease},
		Dir:       dir, Layout: layout,
	})
	if err != nil {
		return nil, err
	}
	var rows int64
	for _, f := range files {
		rows += f.Rows
	}
	if in.rows >= 0 && rows != in.rows {
		return nil, fmt.Errorf("%d rows instead of %d: %w", rows, in.rows, ErrRowsDiffer)
	}
	return files, nil
}

// A file ends with a row group. So that files have about the size that is asked
// for, one holds some row groups; engines read them in units of vectorRows.
const (
	groupsInFile = 4
	vectorRows   = 2048
	usualGroup   = 60 * vectorRows
)

func (l layout) rowGroup(b bin, rows int64) int64 {
	if rows <= 0 || b.bytes <= 0 {
		return usualGroup
	}
	inFile := float64(rows) * float64(l.targetBytes) / float64(b.bytes)
	vectors := int64(min(inFile/groupsInFile/vectorRows, usualGroup/vectorRows))
	return max(1, vectors) * vectorRows
}

// upload puts the files of a bin into the table's folder.
func (r *rewriter) upload(ctx context.Context, b bin, dir string, files []engine.DataFile) ([]delta.AddFile, error) {
	mark, tags := r.layout.mark(), datafile.CurveTags(r.snap)
	tags[datafile.LayoutTag] = &mark
	return datafile.Upload(ctx, r.snap, filepath.Join(r.opts.Scratch, dir), files, func(add *delta.AddFile) {
		add.PartitionValues, add.ModTime = maps.Clone(b.values), r.opts.Clock()
		add.Rearranged, add.Tags = true, tags
	})
}
