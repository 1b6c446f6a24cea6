package maintenance

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// VacuumMode is where a vacuum looks for files.
type VacuumMode string

// The modes.
const (
	// VacuumFull lists the table's folder, and the uploads that did not end there.
	VacuumFull VacuumMode = "full"
	// VacuumLite takes the removals that the log tells of, and lists nothing:
	// files of writes that failed stay.
	VacuumLite VacuumMode = "lite"
)

// VacuumOptions says what a vacuum does. The zero value is a full vacuum with
// the table's own retention.
type VacuumOptions struct {
	Mode VacuumMode
	// Retention is for how long after its removal a file stays, and how old a
	// file without any version must be; nil means the table's own. Less than that
	// is [ErrRetention] unless Insist is set.
	Retention *time.Duration
	Insist    bool
	// KeepVersions keeps what any version needs that can still be rebuilt.
	KeepVersions bool
	DryRun       bool
	// OldestWrite is when the oldest write to the table that is under way began,
	// or the zero time. Default: there is none.
	OldestWrite func(context.Context) (time.Time, error)
	// Found hears of files that were deleted, or would be in a dry run, a batch at
	// a time. Default: nobody does.
	Found func(files []objstore.Object)
	// Looked hears of how many files were looked at so far. Default: nobody does.
	Looked func(n int64)
	// LogCommits writes what is done into the table's history.
	LogCommits bool
	UserID     string
	UserName   string
	Clock      func() time.Time
}

// clockSkew is how far the clocks of a store and of us may be apart. It matters
// for files of writes under way, whose lease and whose files are dated by
// different clocks.
const clockSkew = 5 * time.Minute

// batchFiles is how many files are judged by one version, and what a vacuum
// holds in memory of a listing.
const batchFiles = 10_000

// parallel bounds requests to the store at a time.
const parallel = 16

// Vacuum deletes files below the table's folder that no version needs, and
// counts them. It is safe beside readers and writers of the table, of any
// engine, as long as they last no longer than the retention; writes of ours may
// last longer, see [VacuumOptions.OldestWrite]. A run that ended early is simply
// run again.
//
// Errors: [ErrRetention], delta.FeatureError for a table that we may not write,
// those of delta's reading, and of the bucket.
func Vacuum(ctx context.Context, snap *delta.Snapshot, opts VacuumOptions) (files int64, err error) {
	v, err := newVacuum(snap, opts)
	if err != nil {
		return 0, err
	}
	if err := v.run(ctx); err != nil {
		return v.found, fmt.Errorf("vacuum: %w", err)
	}
	return v.found, nil
}

type vacuum struct {
	opts   VacuumOptions
	bucket objstore.Bucket
	snap   *delta.Snapshot
	folder folder
	nested nested
	// cutoff: what was written or removed from then on stays.
	cutoff time.Time
	// needed holds the names that the versions of snap need; nil before they are
	// known.
	needed map[string]struct{}
	// oldest is when the oldest write under way began, by the last question.
	oldest        time.Time
	looked, found int64
	bytes         int64
	announced     bool
}

func newVacuum(snap *delta.Snapshot, opts VacuumOptions) (*vacuum, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.OldestWrite == nil {
		opts.OldestWrite = func(context.Context) (time.Time, error) { return time.Time{}, nil }
	}
	if opts.Found == nil {
		opts.Found = func([]objstore.Object) {}
	}
	if opts.Looked == nil {
		opts.Looked = func(int64) {}
	}
	// The protocol lets nobody delete files who may not write (feature
	// vacuumProtocolCheck), and no vacuum adds rows.
	if err := delta.CheckWritable(snap, noNewRows...); err != nil {
		return nil, err
	}
	retention := snap.DeletedFileRetention()
	if opts.Retention != nil {
		if *opts.Retention < 0 || *opts.Retention < retention && !opts.Insist {
			return nil, ErrRetention
		}
		retention = *opts.Retention
	}
	return &vacuum{
		opts: opts, bucket: snap.Bucket(), snap: snap, folder: newFolder(partitionNames(snap)),
		nested: nested{bucket: snap.Bucket()}, cutoff: opts.Clock().Add(-retention),
	}, nil
}

func (v *vacuum) run(ctx context.Context) error {
	candidates := v.listed
	if v.opts.Mode == VacuumLite {
		candidates = v.removed
	}
	batch := make([]objstore.Object, 0, batchFiles)
	for object, err := range candidates(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, object); len(batch) == batchFiles {
			if err := v.judge(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := v.judge(ctx, batch); err != nil {
		return err
	}
	if v.opts.Mode != VacuumLite {
		if err := v.uploads(ctx); err != nil {
			return err
		}
	}
	return v.closeLog(ctx)
}

// judge deletes the files of a batch that nobody needs. The order matters, see
// the package.
func (v *vacuum) judge(ctx context.Context, batch []objstore.Object) (err error) {
	if len(batch) == 0 {
		return nil
	}
	if v.oldest, err = v.opts.OldestWrite(ctx); err != nil {
		return err
	}
	if err := v.look(ctx); err != nil {
		return err
	}
	var rubbish []objstore.Object
	for _, object := range batch {
		if _, needed := v.needed[object.Name]; !needed && v.old(object) {
			rubbish = append(rubbish, object)
		}
	}
	if rubbish, err = v.nested.without(ctx, rubbish); err != nil {
		return err
	}
	err = v.remove(ctx, rubbish, func(ctx context.Context, i int) (bool, error) { return true, v.bucket.Delete(ctx, rubbish[i].Name) })
	if err != nil {
		return err
	}
	v.looked += int64(len(batch))
	v.opts.Looked(v.looked)
	return nil
}

// look learns what the versions need, by the newest one.
func (v *vacuum) look(ctx context.Context) error {
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
	return nil
}

// old reports whether a file was written long enough ago.
func (v *vacuum) old(object objstore.Object) bool {
	return object.ModTime.Before(v.cutoff) && (v.oldest.IsZero() || object.ModTime.Before(v.oldest.Add(-clockSkew)))
}

// remove calls deleteOne for each of the files, several at a time, unless nothing
// is to be deleted, and counts those that are gone.
func (v *vacuum) remove(ctx context.Context, files []objstore.Object, deleteOne func(ctx context.Context, i int) (gone bool, err error)) error {
	if len(files) == 0 {
		return nil
	}
	if !v.opts.DryRun {
		if err := v.openLog(ctx); err != nil {
			return err
		}
		gone := make([]bool, len(files))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i := range files {
			g.Go(func() (err error) {
				gone[i], err = deleteOne(gctx, i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		files = among(files, gone)
	}
	for _, f := range files {
		v.bytes += f.Size
	}
	v.found += int64(len(files))
	v.opts.Found(files)
	return nil
}

// among are the files that are chosen.
func among(files []objstore.Object, chosen []bool) (out []objstore.Object) {
	for i, f := range files {
		if chosen[i] {
			out = append(out, f)
		}
	}
	return out
}
