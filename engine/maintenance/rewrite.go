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
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// rewriter writes the files that replace those of bins.
type rewriter struct {
	opts     OptimizeOptions
	layout   layout
	snap     *delta.Snapshot
	columns  columns
	zColumns []engine.Column
	// ids reads the ids that rows keep; nil if the table does not track rows.
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
	r.zColumns, err = curveColumns(snap, opts.ZOrderBy)
	return r, err
}

// rewritten is a bin with the uploaded files that contain its rows.
type rewritten struct {
	bin   bin
	files []delta.AddFile
}

// parallelBins is the number of bins that are uploaded while the next one is
// written. It bounds the size of the scratch directory.
const parallelBins = 2

// rewriteAll rewrites bins. It returns those that are complete even after an error.
func (r *rewriter) rewriteAll(ctx context.Context, bins []bin) (done []rewritten, err error) {
	done = make([]rewritten, len(bins))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBins)
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
	// The group's error is the cause; an error of write may follow from its cancellation.
	if uploadErr := g.Wait(); uploadErr != nil {
		err = uploadErr
	}
	return done, err
}

// input is the relation that the rows of a bin are read from.
type input struct {
	from    string // a relation in SQL
	sources []engine.Source
	// rows is the number of rows according to the log, or -1 if unknown.
	rows int64
}

func (r *rewriter) input(ctx context.Context, b bin) (input, error) {
	group := engine.FileGroup{}
	in := input{}
	for _, f := range b.files {
		group.Add(f.Name, pruning.StampOf(f))
		if stats, err := f.Stats(); err == nil && stats.NumRecords != nil && in.rows >= 0 {
			in.rows += *stats.NumRecords
		} else {
			in.rows = -1
		}
	}
	hasDeleted := slices.ContainsFunc(b.files, func(f delta.File) bool { return f.Add.DeletionVector != nil })
	var at engine.PositionColumns
	if hasDeleted || r.ids != nil {
		suffix := uuid.NewString()
		at = engine.PositionColumns{File: "file " + suffix, Row: "row " + suffix}
	}
	in.from, in.sources = r.readWithIDs(r.columns.listOf(group).WithPositions(at))
	if !hasDeleted {
		return in, nil
	}
	return r.withoutDeleted(ctx, b, at, in)
}

// readWithIDs returns a relation over files, with the ids of their rows if the
// table tracks rows.
func (r *rewriter) readWithIDs(list *engine.FileList) (from string, sources []engine.Source) {
	if r.ids != nil {
		return r.ids.Relation(list, func(list *engine.FileList) engine.Source { return r.opts.Source(r.snap, list) })
	}
	source := r.opts.Source(r.snap, list)
	return source.Relation(), []engine.Source{source}
}

// selectList returns the columns of the new files, in terms of that relation.
func (r *rewriter) selectList() string {
	if r.ids == nil {
		return r.columns.sqlList()
	}
	return r.columns.sqlList() + ", " + engine.QuoteIdent(r.ids.ID) + " AS " + engine.QuoteIdent(r.ids.Stored.ID) +
		", " + engine.QuoteIdent(r.ids.CommitVersion) + " AS " + engine.QuoteIdent(r.ids.Stored.CommitVersion)
}

// write writes the new files of a bin to a folder of the scratch directory.
func (r *rewriter) write(ctx context.Context, b bin, dir string) ([]engine.DataFile, error) {
	in, err := r.input(ctx, b)
	if err != nil {
		return nil, err
	}
	layout := datafile.Layout(r.snap)
	layout.FieldIDs, layout.Ordered = r.columns.fieldIDs, r.opts.KeepOrder && len(r.zColumns) == 0
	sql := "SELECT " + r.selectList() + " FROM " + in.from
	if len(r.zColumns) > 0 {
		layout.FileBytes, layout.RowGroupRows = r.layout.targetBytes, r.layout.rowGroup(b, in.rows)
		order, err := r.orderBy(ctx, in, layout.RowGroupRows)
		if err != nil {
			return nil, err
		}
		// Threads take sections of the curve in turn, and each writes its own row groups.
		// The exact order of row groups would require a single thread.
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
	// Files end at the end of a row group. To have about the target size, a file
	// must have several row groups. Engines read row groups in units of vectorRows.
	minRowGroups    = 4
	vectorRows      = 2048
	defaultRowGroup = 60 * vectorRows
)

func (l layout) rowGroup(b bin, rows int64) int64 {
	if rows <= 0 || b.bytes <= 0 {
		return defaultRowGroup
	}
	inFile := float64(rows) * float64(l.targetBytes) / float64(b.bytes)
	vectors := int64(min(inFile/minRowGroups/vectorRows, defaultRowGroup/vectorRows))
	return max(1, vectors) * vectorRows
}

// upload uploads the new files of a bin.
func (r *rewriter) upload(ctx context.Context, b bin, dir string, files []engine.DataFile) ([]delta.AddFile, error) {
	mark, tags := r.layout.tag(), datafile.CurveTags(r.snap)
	tags[datafile.LayoutTag] = &mark
	return datafile.Upload(ctx, r.snap, filepath.Join(r.opts.Scratch, dir), files, func(add *delta.AddFile) {
		add.PartitionValues, add.ModTime = maps.Clone(b.values), r.opts.Clock()
		add.Rearranged, add.Tags = true, tags
	})
}
