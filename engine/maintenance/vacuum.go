package maintenance

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// VacuumMode says how a vacuum finds files.
type VacuumMode string

// The modes.
const (
	// VacuumFull lists the table's folder and its unfinished uploads.
	VacuumFull VacuumMode = "full"
	// VacuumLite checks the files that the log has removed, and lists nothing. It
	// does not find files of failed writes.
	VacuumLite VacuumMode = "lite"
)

// VacuumOptions says what a vacuum does. The zero value is a full vacuum with the
// table's own retention.
type VacuumOptions struct {
	Mode VacuumMode
	// Retention is how long a file is kept after its removal, and the minimum age
	// of a file that no version names; nil means the table's own. A shorter one is
	// [ErrRetention] unless AllowShortRetention is set.
	Retention           *time.Duration
	AllowShortRetention bool
	// KeepVersions keeps all files of every version that can still be
	// reconstructed.
	KeepVersions bool
	DryRun       bool
	// OldestWrite returns when the oldest write under way to the table began, or
	// the zero time if there is none. Nil means that there never is one.
	OldestWrite func(context.Context) (time.Time, error)
	// Kept, if not nil, is called before files are deleted, with the oldest version that
	// will certainly have all its files. The last call counts.
	Kept func(version int64)
	// Deleting, if not nil, is called before each batch of files or uploads is deleted, except in a
	// dry run. After an error nothing more is deleted.
	Deleting func(context.Context) error
	// Deleted, if not nil, is called with each batch of files that were deleted, or
	// would be in a dry run.
	Deleted func(files []objstore.Object)
	// Checked, if not nil, is called with the number of files that were checked so
	// far.
	Checked func(n int64)
	// LogCommits records the vacuum in the table's history.
	LogCommits bool
	UserID     string
	UserName   string
	Clock      func() time.Time
}

// clockSkew is the maximum difference between the clocks of a store and of the
// server. It matters for files of writes under way: the server dates their lease,
// the store dates the files.
const clockSkew = 5 * time.Minute

// batchFiles is the number of files that are checked against one version. It bounds
// the memory for a listing.
const batchFiles = 10_000

// parallelRequests bounds the concurrent requests to the store.
const parallelRequests = 16

// Vacuum deletes files below the table's folder that no version needs, and returns
// their number. It is safe while other engines read and write the table, as long as
// no read or write lasts longer than the retention. Writes of this server may last
// longer, see [VacuumOptions.OldestWrite]. A run that was interrupted can be run
// again.
//
// Errors: [ErrRetention], delta.FeatureError for a table that cannot be written,
// those of reading the log, and of the bucket.
func Vacuum(ctx context.Context, snap *delta.Snapshot, opts VacuumOptions) (files int64, err error) {
	v, err := newVacuum(snap, opts)
	if err != nil {
		return 0, err
	}
	if err := v.run(ctx); err != nil {
		return v.deletedFiles, fmt.Errorf("vacuum: %w", err)
	}
	return v.deletedFiles, nil
}

// vacuum runs a vacuum and returns the sorted names of the files it found.
type vacuum struct {
	opts        VacuumOptions
	bucket      objstore.Bucket
	snap        *delta.Snapshot
	folder      folder
	tablesBelow nestedTables
	// cutoff is the time since which files must have been written or removed to be
	// kept.
	cutoff time.Time
	// needed holds the names of the files that the versions of snap need; nil
	// before they are loaded.
	needed map[string]struct{}
	// oldestWrite is the last answer of OldestWrite.
	oldestWrite           time.Time
	checked, deletedFiles int64
	startLogged           bool
}

func newVacuum(snap *delta.Snapshot, opts VacuumOptions) (*vacuum, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.OldestWrite == nil {
		opts.OldestWrite = func(context.Context) (time.Time, error) { return time.Time{}, nil }
	}
	if opts.Deleted == nil {
		opts.Deleted = func([]objstore.Object) {}
	}
	if opts.Kept == nil {
		opts.Kept = func(int64) {}
	}
	if opts.Deleting == nil {
		opts.Deleting = func(context.Context) error { return nil }
	}
	if opts.Checked == nil {
		opts.Checked = func(int64) {}
	}
	// Only a writer that supports the table's features may delete files (feature
	// vacuumProtocolCheck). A vacuum adds no rows.
	if err := delta.CheckWritable(snap, noNewRows...); err != nil {
		return nil, err
	}
	retention := snap.DeletedFileRetention()
	if opts.Retention != nil {
		if *opts.Retention < 0 || *opts.Retention < retention && !opts.AllowShortRetention {
			return nil, ErrRetention
		}
		retention = *opts.Retention
	}
	return &vacuum{
		opts: opts, bucket: snap.Bucket(), snap: snap, folder: newFolder(partitionNames(snap)),
		tablesBelow: nestedTables{bucket: snap.Bucket()}, cutoff: opts.Clock().Add(-retention),
	}, nil
}

func (v *vacuum) run(ctx context.Context) error {
	candidates := v.listFolder
	if v.opts.Mode == VacuumLite {
		candidates = v.listRemoved
	}
	batch := make([]objstore.Object, 0, batchFiles)
	for object, err := range candidates(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, object); len(batch) == batchFiles {
			if err := v.deleteUnneeded(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := v.deleteUnneeded(ctx, batch); err != nil {
		return err
	}
	if v.opts.Mode != VacuumLite {
		if err := v.uploads(ctx); err != nil {
			return err
		}
	}
	return v.logEnd(ctx)
}

// deleteUnneeded deletes the files of a batch that nothing needs. The order of its
// steps matters, see the package's invariants.
func (v *vacuum) deleteUnneeded(ctx context.Context, batch []objstore.Object) (err error) {
	if len(batch) == 0 {
		return nil
	}
	if v.oldestWrite, err = v.opts.OldestWrite(ctx); err != nil {
		return err
	}
	if err := v.refresh(ctx); err != nil {
		return err
	}
	var unneeded []objstore.Object
	for _, object := range batch {
		if _, needed := v.needed[object.Name]; !needed && v.old(object) {
			unneeded = append(unneeded, object)
		}
	}
	if unneeded, err = v.tablesBelow.exclude(ctx, unneeded); err != nil {
		return err
	}
	err = v.remove(ctx, unneeded, func(ctx context.Context, i int) (bool, error) { return true, v.bucket.Delete(ctx, unneeded[i].Name) })
	if err != nil {
		return err
	}
	v.checked += int64(len(batch))
	v.opts.Checked(v.checked)
	return nil
}

// refresh loads the newest version and the files that versions need.
func (v *vacuum) refresh(ctx context.Context) error {
	snap, err := v.snap.Refresh(ctx)
	if err != nil {
		return err
	}
	if v.needed != nil && snap.Version() == v.snap.Version() {
		return nil
	}
	since := v.cutoff
	if v.opts.KeepVersions {
		since = time.Time{}
	}
	needed := make(map[string]struct{}, snap.NumFiles())
	if err := snap.EachReferenced(ctx, since, func(name string) { needed[name] = struct{}{} }); err != nil {
		return err
	}
	v.snap, v.needed = snap, needed
	return v.reportKept(ctx)
}

// reportKept reports the oldest version whose files are needed. Times of commits and of
// removals can be those of different clocks.
func (v *vacuum) reportKept(ctx context.Context) error {
	if v.opts.DryRun || v.opts.KeepVersions {
		return nil
	}
	version, err := v.snap.NewestAt(ctx, v.cutoff.Add(clockSkew))
	if err == nil {
		v.opts.Kept(version)
	}
	return err
}

// old reports whether a file is older than the retention and than every write under
// way.
func (v *vacuum) old(object objstore.Object) bool {
	return object.ModTime.Before(v.cutoff) && (v.oldestWrite.IsZero() || object.ModTime.Before(v.oldestWrite.Add(-clockSkew)))
}

// remove calls deleteOne for each file, several at a time, unless the run is dry,
// and counts the deleted files.
func (v *vacuum) remove(ctx context.Context, files []objstore.Object,
	deleteOne func(ctx context.Context, i int) (deleted bool, err error)) error {
	if len(files) == 0 {
		return nil
	}
	if !v.opts.DryRun {
		if err := v.opts.Deleting(ctx); err != nil {
			return err
		}
		if err := v.logStart(ctx); err != nil {
			return err
		}
		deleted := make([]bool, len(files))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallelRequests)
		for i := range files {
			g.Go(func() (err error) {
				deleted[i], err = deleteOne(gctx, i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		files = selectFiles(files, deleted)
	}
	v.deletedFiles += int64(len(files))
	v.opts.Deleted(files)
	return nil
}

// selectFiles returns the selected files.
func selectFiles(files []objstore.Object, chosen []bool) (out []objstore.Object) {
	for i, f := range files {
		if chosen[i] {
			out = append(out, f)
		}
	}
	return out
}
