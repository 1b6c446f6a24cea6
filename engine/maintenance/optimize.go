package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// OptimizeOptions says what an optimize does, and provides the session for it.
type OptimizeOptions struct {
	// TargetBytes is the size of the files to write; zero means the table's
	// property delta.targetFileSize, or 100 MiB.
	TargetBytes int64
	// ZOrderBy are columns by whose values rows are clustered in files. If empty,
	// small files are merged into larger ones.
	ZOrderBy []string
	// Partition, if not nil, selects partitions by their values, which have the
	// form of the log, by column name. Predicate describes the same selection for
	// the table's history.
	Partition func(values map[string]*string) bool
	Predicate string
	DryRun    bool
	// KeepOrder says that rows keep their order when files are merged, see
	// dml.Table.KeepOrder. It does not apply to a Z-order.
	KeepOrder bool

	// Session reads the table and its scratch directory Scratch, an absolute path,
	// within Lease. Writer writes to that directory. A dry run needs none of them.
	Session engine.Session
	Writer  engine.Writer
	Scratch string
	Lease   engine.Lease
	// Source returns the session's source for a list of files of a version.
	Source func(*delta.Snapshot, *engine.FileList) engine.Source

	// Rewritten, if not nil, is called from several goroutines with the number of
	// files that were rewritten since the last call.
	Rewritten func(files int64)
	// Commit, if not nil, makes an attempt to commit the version.
	Commit           func(context.Context, *delta.Txn) (*delta.Snapshot, error)
	UserID, UserName string
	Clock            func() time.Time
}

// Optimized reports what an optimize did, or would do in a dry run.
type Optimized struct {
	FilesAdded, FilesRemoved int64
	BytesAdded, BytesRemoved int64
}

// maxRounds is the number of times that bins are planned because another commit
// removed their files.
const maxRounds = 10

// Optimize replaces files of a table by fewer, larger ones, or by files along a
// Z-order curve, in one commit that changes no row. It removes rows that deletion
// vectors mark. Rows that other writers add meanwhile stay unaffected; if other
// writers remove files that were rewritten, the bins of these files are planned
// again. A second run finds nothing to do and writes no version. After an error the
// files of this run are deleted, unless the outcome of the commit is unknown.
//
// Errors: [ErrZOrder], [ErrRowsDiffer], delta.FeatureError, those of
// delta.Txn.Commit, of the engine and of the bucket.
func Optimize(ctx context.Context, snap *delta.Snapshot, opts OptimizeOptions) (Optimized, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Rewritten == nil {
		opts.Rewritten = func(int64) {}
	}
	if opts.Commit == nil {
		opts.Commit = func(ctx context.Context, txn *delta.Txn) (*delta.Snapshot, error) { return txn.Commit(ctx) }
	}
	curve, err := curveColumns(snap, opts.ZOrderBy)
	if err != nil {
		return Optimized{}, fmt.Errorf("optimize: %w", err)
	}
	l := layout{targetBytes: opts.TargetBytes, zOrder: columnNames(curve)}
	if l.targetBytes <= 0 {
		l.targetBytes = datafile.TargetBytes(snap)
	}
	o := optimize{opts: opts, layout: l, bucket: snap.Bucket()}
	done, err := o.run(ctx, snap)
	if err != nil {
		return done, fmt.Errorf("optimize: %w", err)
	}
	return done, nil
}

type optimize struct {
	opts   OptimizeOptions
	layout layout
	bucket objstore.Bucket
	// done are the bins whose new files are uploaded.
	done []rewritten
}

// run returns what the optimize did. After an error it deletes the new files, unless
// they may be part of the table.
func (o *optimize) run(ctx context.Context, snap *delta.Snapshot) (_ Optimized, err error) {
	defer func() {
		if err != nil && !errors.Is(err, delta.ErrCommitUnknown) {
			o.discard(ctx, o.done)
		}
	}()
	for round := 1; ; round++ {
		r, err := newRewriter(snap, o.opts, o.layout)
		if err != nil {
			return Optimized{}, err
		}
		bins := o.plan(snap)
		if o.opts.DryRun {
			return o.estimate(bins), nil
		}
		written, err := r.rewriteAll(ctx, bins)
		o.done = append(o.done, written...)
		if err != nil || len(o.done) == 0 {
			return Optimized{}, err
		}
		if _, err = o.commit(ctx, snap); err == nil {
			return o.result(), nil
		}
		if errors.Is(err, delta.ErrCommitUnknown) || !errors.Is(err, delta.ErrConflict) || round == maxRounds {
			return Optimized{}, err
		}
		if snap, err = o.refresh(ctx, snap); err != nil {
			return Optimized{}, err
		}
	}
}

// plan returns bins of the files that are not part of a rewritten bin.
func (o *optimize) plan(snap *delta.Snapshot) []bin {
	taken, parts := map[string]bool{}, map[string]bool{}
	for _, r := range o.done {
		parts[r.bin.key] = true
		for _, f := range r.bin.files {
			taken[f.Name] = true
		}
	}
	bins := o.layout.plan(snap, o.opts.Partition, func(f delta.File) bool { return taken[f.Name] })
	if len(o.opts.ZOrderBy) == 0 {
		return bins
	}
	// A partition that was rewritten takes no more files in this run.
	return slices.DeleteFunc(bins, func(b bin) bool { return parts[b.key] })
}

// refresh returns the newest version. It keeps the bins whose files are unchanged
// in it, and deletes the new files of the others.
func (o *optimize) refresh(ctx context.Context, before *delta.Snapshot) (*delta.Snapshot, error) {
	snap, err := before.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	live := map[string]string{}
	for f := range snap.Files() {
		live[f.Name] = f.Add.DeletionVector.UniqueID()
	}
	same := snap.Metadata().SchemaString == before.Metadata().SchemaString &&
		slices.Equal(snap.PartitionColumns(), before.PartitionColumns()) &&
		snap.Mapped() == before.Mapped() && rowColumns(snap) == rowColumns(before)
	var changed []rewritten
	o.done = slices.DeleteFunc(o.done, func(r rewritten) bool {
		unchanged := same && !slices.ContainsFunc(r.bin.files, func(f delta.File) bool {
			vector, ok := live[f.Name]
			return !ok || vector != f.Add.DeletionVector.UniqueID()
		})
		if !unchanged {
			changed = append(changed, r)
		}
		return !unchanged
	})
	o.discard(ctx, changed)
	return snap, nil
}

// rowColumns returns the columns that store row ids in files, if there are any.
func rowColumns(snap *delta.Snapshot) delta.RowColumns {
	columns, _ := snap.RowColumns()
	return columns
}

// commit writes the version that replaces the files of all bins.
func (o *optimize) commit(ctx context.Context, snap *delta.Snapshot) (*delta.Snapshot, error) {
	sum := o.result()
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	predicate := []string{}
	if o.opts.Predicate != "" {
		predicate = append(predicate, o.opts.Predicate)
	}
	txn := snap.Begin(delta.Operation{
		Name: "OPTIMIZE",
		Parameters: map[string]string{
			"predicate": jsonList(predicate), "zOrderBy": jsonList(o.opts.ZOrderBy), "auto": "false", "clusterBy": "[]",
			"targetSize": number(o.layout.targetBytes),
		},
		Metrics: map[string]string{
			"numRemovedFiles": number(sum.FilesRemoved), "numRemovedBytes": number(sum.BytesRemoved),
			"numAddedFiles": number(sum.FilesAdded), "numAddedBytes": number(sum.BytesAdded),
		},
		UserID: o.opts.UserID, UserName: o.opts.UserName, Duties: append(slices.Clone(noNewRows), delta.KeepsRowIDs),
	})
	for _, r := range o.done {
		if err := txn.Remove(true, r.bin.files...); err != nil {
			return nil, err
		}
		if err := txn.Add(r.files...); err != nil {
			return nil, err
		}
	}
	return o.opts.Commit(ctx, txn)
}

func jsonList(list []string) string {
	if list == nil {
		list = []string{}
	}
	text, _ := json.Marshal(list) // cannot fail for strings
	return string(text)
}

func (o *optimize) result() (sum Optimized) {
	for _, r := range o.done {
		sum.FilesAdded += int64(len(r.files))
		for _, f := range r.files {
			sum.BytesAdded += f.Size
		}
		sum.FilesRemoved += int64(len(r.bin.files))
		for _, f := range r.bin.files {
			sum.BytesRemoved += f.Add.Size
		}
	}
	return sum
}

// estimate returns the expected result for bins.
func (o *optimize) estimate(bins []bin) (sum Optimized) {
	for _, b := range bins {
		sum.FilesRemoved += int64(len(b.files))
		sum.FilesAdded++
		for _, f := range b.files {
			sum.BytesRemoved += f.Add.Size
		}
		if len(o.opts.ZOrderBy) > 0 {
			sum.FilesAdded += max(0, (b.bytes-1)/o.layout.targetBytes)
		}
	}
	return sum
}

// discard deletes files that no version names. A vacuum finds those that it cannot
// delete.
func (o *optimize) discard(ctx context.Context, list []rewritten) {
	var adds []delta.AddFile
	for _, r := range list {
		adds = append(adds, r.files...)
	}
	_ = datafile.Withdraw(ctx, o.bucket, adds) // a vacuum finds them
}
