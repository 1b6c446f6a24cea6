package dml

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"

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

// rest is what a file keeps of which some neighbouring rows go: the file without them,
// and without others around them, which are written anew.
type rest struct {
	of     delta.File
	source *parquetcut.File
	gap    parquetcut.Rows
	// gapFile has the rows of the gap; it lies in the scratch directory.
	gapFile  string
	gapBytes int64
	// file is described as the engine describes those that it writes; it lies in the
	// folder dir of the scratch directory.
	dir  string
	file engine.DataFile
}

// rests tells which of the files that are hit are cut, where that spares work: element n
// is about file n of the list of h, and nil for a file that is written anew as a whole.
// The gaps are there afterwards, the rests after [write.outputBeside]. Nothing is cut in a
// table of which some callers see only some rows: where a file is cut follows from the
// rows around it.
func (w *write) rests(ctx context.Context, h hit) ([]*rest, error) {
	list := h.table.sources[0].Files
	out := make([]*rest, len(h.files))
	if w.KeepOrder || w.ids != nil || slices.ContainsFunc(w.Columns, func(c engine.Column) bool { return nested(w.Snapshot, c.Name) }) {
		return out, nil
	}
	byName := make(map[string]delta.File, len(h.files))
	for _, f := range h.files {
		byName[f.Name] = f
	}
	for i, name := range paths(list) {
		f := byName[name]
		if f.Add.Size < cutBytes || f.Add.DeletionVector != nil {
			continue
		}
		r, err := w.rest(ctx, f, h.spans[i])
		if err != nil && !errors.Is(err, parquetcut.ErrNotCut) {
			return nil, err
		}
		if err == nil {
			out[i] = r
		}
	}
	return out, nil
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

// rest makes the gap of one file around the rows that go; nil says that it is not worth
// it.
func (w *write) rest(ctx context.Context, f delta.File, gone parquetcut.Rows) (*rest, error) {
	source, err := parquetcut.Open(ctx, w.Snapshot.Bucket(), f.Name, f.Add.Size)
	if err != nil {
		return nil, err
	}
	// How large the least gap is is left to chance, see [write.pieces].
	least := source.Rows() / cutShare
	gap, err := source.Gap(gone, least+rand.N(least+1))
	if err != nil || gap.Count() > source.Rows()/2 {
		return nil, err
	}
	dir := w.dir()
	if err := os.Mkdir(filepath.Join(w.Scratch, dir), 0o700); err != nil {
		return nil, fmt.Errorf("cutting a data file: %w", err)
	}
	r := &rest{of: f, source: source, gap: gap, gapFile: dir + "/gap.parquet", dir: dir, file: engine.DataFile{Name: "rest.parquet", Rows: source.Rows() - gap.Count()}}
	err = withFile(filepath.Join(w.Scratch, r.gapFile), func(to *os.File) error {
		r.gapBytes, err = source.Only(ctx, gap, to)
		return err
	})
	return r, err
}

// make writes the file.
func (r *rest) make(ctx context.Context, scratch string) error {
	path := filepath.Join(scratch, r.dir, r.file.Name)
	return withFile(path, func(to *os.File) error {
		return withFile(path+".later", func(later *os.File) (err error) {
			r.file.Bytes, err = r.source.Without(ctx, r.gap, to, later)
			return err
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

// standIn is a file in the scratch directory that is read as one of a list is.
func (w *write) standIn(list *engine.FileList, number int, path string) engine.Source {
	other := *list
	other.Groups = make([]engine.FileGroup, len(list.Groups))
	at := 0
	for i, g := range list.Groups {
		other.Groups[i] = engine.FileGroup{Partition: g.Partition, Paths: slices.Clone(g.Paths)}
		if number >= at && number < at+len(g.Paths) {
			other.Groups[i].Paths[number-at] = path
		}
		at += len(g.Paths)
	}
	alone := restrict(&other, func(n int, _ string) bool { return n == number })
	return engine.Source{Location: w.Scratch, Incarnation: "staged:" + uuid.NewString(), Files: alone}
}

// outputBeside is output while rests are cut and uploaded. The error is
// [parquetcut.ErrNotCut] where a file turned out not to be cut; nothing is left then.
func (w *write) outputBeside(ctx context.Context, o outcome, h hit, rests []*rest) (adds []delta.AddFile, err error) {
	var kept []delta.AddFile
	var failed error
	var cutting sync.WaitGroup
	cutCtx, stop := context.WithCancel(ctx)
	defer stop()
	cutting.Go(func() { kept, failed = w.uploadRests(cutCtx, rests) })
	if adds, err = w.output(ctx, o); err != nil {
		stop()
	}
	cutting.Wait()
	if err = errors.Join(err, failed); err == nil {
		err = w.describeRests(ctx, h, rests, kept)
	}
	adds = append(adds, kept...)
	if err != nil {
		return nil, errors.Join(err, datafile.Withdraw(ctx, w.Snapshot.Bucket(), adds))
	}
	return adds, nil
}

// uploadRests cuts files and brings what is left of them into the table's folder, without
// statistics. It is the only part of a write that runs beside the session's.
func (w *write) uploadRests(ctx context.Context, rests []*rest) (adds []delta.AddFile, err error) {
	for _, r := range rests {
		if r == nil {
			continue
		}
		err = r.make(ctx, w.Scratch)
		if err == nil && !w.DryRun {
			var one []delta.AddFile
			one, err = r.upload(ctx, w.Snapshot, w.Scratch)
			adds = append(adds, one...)
		}
		if err != nil {
			return nil, errors.Join(err, datafile.Withdraw(ctx, w.Snapshot.Bucket(), adds))
		}
	}
	return adds, nil
}

// upload uploads the file, which stays in the scratch directory too.
func (r *rest) upload(ctx context.Context, snap *delta.Snapshot, scratch string) ([]delta.AddFile, error) {
	dir, sent := filepath.Join(scratch, r.dir), r.file
	sent.Name = "sent.parquet"
	if err := os.Link(filepath.Join(dir, r.file.Name), filepath.Join(dir, sent.Name)); err != nil {
		return nil, fmt.Errorf("cutting a data file: %w", err)
	}
	return datafile.Upload(ctx, snap, dir, []engine.DataFile{sent}, func(a *delta.AddFile) { a.PartitionValues = r.of.Add.PartitionValues })
}
