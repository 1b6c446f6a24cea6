package dml

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

const (
	// cutBytes is the size of a file, in bytes, from which on cutting it costs less than
	// writing it anew.
	cutBytes = 4 << 20
	// cutShare is the part of a file that goes to the new rows at least, one in so many.
	// Every change makes two files of one, none of which is to be a crumb.
	cutShare = 16
)

// gapName is the file of a gap in its folder.
const gapName = "gap.parquet"

// rest is what a file keeps of which some neighbouring rows go: the file without them,
// and without others around them, which are written anew.
type rest struct {
	of     delta.File
	source *parquetcut.File
	gap    parquetcut.Rows
	// dir is a folder below the scratch directory, "" before there is one. There lie the rows of the gap, of so
	// many bytes, and file, which is described as the engine describes those that it
	// writes.
	dir      string
	gapBytes int64
	file     engine.DataFile
	// bounds are those of columns of file that were found on the way, columns all of its
	// statistics.
	bounds  []parquetcut.Bounds
	columns []engine.ColumnStats
}

// rests tells which of the files that are hit are cut, where that spares work: element n
// is about file n of the list of h, and nil for a file that is written anew as a whole.
// The gaps are there afterwards, the rests after [write.outputBeside]. Nothing is cut in a
// table of which some callers see only some rows: where a file is cut follows from the
// rows around it.
func (w *write) rests(ctx context.Context, h hit) ([]*rest, error) {
	out := make([]*rest, len(h.files))
	if len(h.files) == 0 || !w.cuts(h.table.sources[0].Files) {
		return out, nil
	}
	byName := make(map[string]delta.File, len(h.files))
	for _, f := range h.files {
		byName[f.Name] = f
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(max(w.Lease.Threads, 1))
	for i, name := range paths(h.table.sources[0].Files) {
		r := &rest{of: byName[name]}
		if !worthCutting(r.of, h.spans[i]) {
			continue
		}
		group.Go(func() error {
			made, err := r.begin(groupCtx, w, h.spans[i])
			if made {
				out[i] = r
				return nil
			}
			r.discard(w.Scratch)
			if err != nil && notForCutting(err) {
				return nil
			}
			return err
		})
	}
	return out, group.Wait()
}

// discard gives back what the rest takes in the scratch directory. What is left there goes
// with the directory.
func (r *rest) discard(scratch string) {
	if r.dir != "" {
		_ = os.RemoveAll(filepath.Join(scratch, r.dir))
	}
}

// anyCut reports whether there is a rest of any file.
func anyCut(rests []*rest) bool {
	return slices.ContainsFunc(rests, func(r *rest) bool { return r != nil })
}

// worthCutting judges by what the log says of a file.
func worthCutting(f delta.File, gone parquetcut.Rows) bool {
	stats, err := f.Stats()
	return err == nil && stats.NumRecords != nil && gone.Count() <= *stats.NumRecords/2 && f.Add.Size >= cutBytes && f.Add.DeletionVector == nil
}

// cuts reports whether files of the table can be cut at all. Columns of other types than
// those of the files, and columns that are found by field id, are left to the engine.
func (w *write) cuts(list *engine.FileList) bool {
	return !w.KeepOrder && w.ids == nil && list.ColumnIDs == nil && !w.Snapshot.Widened() &&
		!slices.ContainsFunc(w.Columns, func(c engine.Column) bool { return nested(w.Snapshot, c.Name) })
}

// lacks reports whether a file has not all columns of the table: files that are added
// must have them, see [delta.AddFile].
func (w *write) lacks(has []string) bool {
	for i, f := range w.Snapshot.Schema().Fields {
		if !w.partitions(f.Name) && !slices.Contains(has, w.Snapshot.StoredFields()[i].Name) {
			return true
		}
	}
	return false
}

// nested reports whether a column has other columns in it.
func nested(snap *delta.Snapshot, name string) bool {
	f, _ := snap.Schema().Field(name)
	switch f.Type.(type) {
	case delta.Struct, delta.Array, delta.Map:
		return true
	}
	return false
}

// begin makes the gap around the rows that go; false says that it is not worth it.
func (r *rest) begin(ctx context.Context, w *write, gone parquetcut.Rows) (made bool, err error) {
	if r.source, err = parquetcut.Open(ctx, w.Snapshot.Bucket(), r.of.Name, r.of.Add.Size); err != nil || w.lacks(r.source.Columns()) {
		return false, err
	}
	// Where the gap begins and ends is left to chance, see [write.pieces].
	rows := r.source.Rows()
	around := parquetcut.Rows{From: max(gone.From-rand.N(rows/cutShare/4+1), 0), To: min(gone.To+rand.N(rows/cutShare/4+1), rows)}
	if r.gap, err = r.source.Gap(around, rows/cutShare); err != nil || r.gap.Count() > rows/2 {
		return false, err
	}
	// A plan before this one may have cut the file too, in the same scratch directory.
	dir, err := os.MkdirTemp(w.Scratch, "rest-")
	if err != nil {
		return false, fmt.Errorf("cutting a data file: %w", err)
	}
	r.dir = filepath.Base(dir)
	r.file = engine.DataFile{Name: "rest.parquet", Rows: rows - r.gap.Count()}
	err = withFile(filepath.Join(w.Scratch, r.dir, gapName), func(to *os.File) (err error) {
		r.gapBytes, err = r.source.Only(ctx, r.gap, to)
		return err
	})
	return err == nil, err
}

// make writes the file.
func (r *rest) make(ctx context.Context, scratch string) error {
	path := filepath.Join(scratch, r.dir, r.file.Name)
	return withFile(path, func(to *os.File) error {
		return withFile(path+".later", func(later *os.File) (err error) {
			r.file.Bytes, r.bounds, err = r.source.Without(ctx, r.gap, to, later)
			return errors.Join(err, os.Remove(later.Name()))
		})
	})
}

// withFile makes a new file and closes it after use.
func withFile(path string, use func(*os.File) error) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // in our scratch directory
	if err != nil {
		return fmt.Errorf("cutting a data file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return use(f)
}

// standIns are files in the scratch directory that are read as those of the list of h
// are which are cut, in their order.
func (w *write) standIns(h hit, rests []*rest, name func(*rest) string) engine.Source {
	list := *h.table.sources[0].Files
	groups := make([]engine.FileGroup, len(list.Groups))
	at := 0
	for i, g := range list.Groups {
		groups[i] = engine.FileGroup{Partition: g.Partition, Paths: slices.Clone(g.Paths)}
		for n := range g.Paths {
			if r := rests[at]; r != nil {
				groups[i].Paths[n] = name(r)
			}
			at++
		}
	}
	list.Groups = groups
	alone := restrict(&list, func(n int, _ string) bool { return rests[n] != nil })
	return engine.Source{Location: w.Scratch, Incarnation: "staged:" + uuid.NewString(), Files: alone}
}

// outputBeside is output while rests are cut and uploaded. After an error, which is
// [parquetcut.ErrNotCut] where a file turned out not to be cut, nothing is left.
func (w *write) outputBeside(ctx context.Context, o outcome, h hit, rests []*rest) ([]delta.AddFile, error) {
	if !anyCut(rests) {
		return w.output(ctx, o)
	}
	var adds, kept []delta.AddFile
	var dir string
	made := make(chan struct{})
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { // what the session does
		var files []engine.DataFile
		var err error
		if dir, files, err = w.outputFiles(ctx, o); err != nil {
			return err
		}
		all.Go(func() (err error) {
			adds, err = w.upload(ctx, dir, files)
			return err
		})
		select {
		case <-made:
			return w.measureRests(ctx, h, rests)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	all.Go(func() (err error) {
		kept, err = w.uploadRests(ctx, rests, made)
		return err
	})
	err := all.Wait()
	if err == nil {
		err = w.describeRests(rests, kept)
	}
	adds = append(adds, kept...)
	if err != nil {
		_ = os.RemoveAll(dir) // or it goes with the scratch directory
		return nil, errors.Join(err, datafile.Withdraw(ctx, w.Snapshot.Bucket(), adds))
	}
	return adds, nil
}

// uploadRests cuts files, closes made once all are cut, and brings what is left of them
// into the table's folder, without statistics.
func (w *write) uploadRests(ctx context.Context, rests []*rest, made chan<- struct{}) ([]delta.AddFile, error) {
	rests = slices.DeleteFunc(slices.Clone(rests), func(r *rest) bool { return r == nil })
	adds := make([][]delta.AddFile, len(rests))
	var unmade atomic.Int64
	unmade.Store(int64(len(rests)))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(max(w.Lease.Threads, 1))
	for i, r := range rests {
		group.Go(func() (err error) {
			if err = r.make(groupCtx, w.Scratch); err != nil {
				return err
			}
			if unmade.Add(-1) == 0 {
				close(made)
			}
			if !w.DryRun {
				adds[i], err = r.upload(groupCtx, w.Snapshot, w.Scratch)
			}
			return err
		})
	}
	err := group.Wait()
	if err != nil {
		return nil, errors.Join(err, datafile.Withdraw(ctx, w.Snapshot.Bucket(), slices.Concat(adds...)))
	}
	return slices.Concat(adds...), nil
}

// upload uploads the file, which stays in the scratch directory too.
func (r *rest) upload(ctx context.Context, snap *delta.Snapshot, scratch string) ([]delta.AddFile, error) {
	values := snap.PartitionValues(r.of)
	return datafile.UploadCopies(ctx, snap, filepath.Join(scratch, r.dir), []engine.DataFile{r.file}, func(a *delta.AddFile) { a.PartitionValues = values })
}
