package datafile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// parallelUploads is the number of files that one call uploads at once.
const parallelUploads = 4

// Upload moves files from a local folder to the table's folder, and describes them
// for the log. It leaves out files without rows. amend, if not nil, completes a
// description before the upload; it is called from several goroutines. Errors are
// those of [Describe] and of the bucket.
func Upload(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile,
	amend func(*delta.AddFile)) ([]delta.AddFile, error) {
	return upload(ctx, snap, dir, files, "part", amend)
}

// UploadChanges is [Upload] for change data files, see [delta.ChangeFile].
func UploadChanges(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile) ([]delta.ChangeFile, error) {
	adds, err := upload(ctx, snap, dir, files, "_change_data/cdc", nil)
	changes := make([]delta.ChangeFile, len(adds))
	for i, a := range adds {
		changes[i] = delta.ChangeFile{Name: a.Name, PartitionValues: a.PartitionValues, Size: a.Size}
	}
	return changes, err
}

// upload is [Upload] for files whose names begin with prefix.
func upload(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile, prefix string,
	amend func(*delta.AddFile)) ([]delta.AddFile, error) {
	adds := make([]delta.AddFile, len(files))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelUploads)
	for i, f := range files {
		if f.Rows == 0 {
			continue
		}
		group.Go(func() error {
			add, err := Describe(snap, f)
			if err != nil {
				return err
			}
			if amend != nil {
				amend(&add)
			}
			add.Name = fmt.Sprintf("%s-%05d-%s-c000.%s.parquet", prefix, i, uuid.NewString(), Codec(snap))
			// Recorded before the upload, so that a partial upload is withdrawn too.
			adds[i] = add
			from := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := send(groupCtx, snap.Bucket(), add, from); err != nil {
				return err
			}
			return os.Remove(from)
		})
	}
	err := group.Wait()
	made := adds[:0]
	for _, add := range adds {
		if add.Name != "" {
			made = append(made, add)
		}
	}
	if err != nil {
		return nil, errors.Join(err, Withdraw(ctx, snap.Bucket(), made))
	}
	return made, nil
}

// send puts a local file into the bucket.
func send(ctx context.Context, bucket objstore.Bucket, add delta.AddFile, from string) error {
	body, err := os.Open(from) //nolint:gosec // a file that the engine wrote to the scratch directory
	if err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	defer func() { _ = body.Close() }() // opened for reading only
	if err := bucket.Put(ctx, add.Name, body, add.Size); err != nil {
		return fmt.Errorf("upload data file: %w", err)
	}
	return nil
}

// Describe returns the log's description of a file, without its name. The engine's
// description uses the names that columns have in files.
func Describe(snap *delta.Snapshot, f engine.DataFile) (delta.AddFile, error) {
	columns := make([]delta.ColumnStats, len(f.Columns))
	for i, c := range f.Columns {
		columns[i] = delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: c.NullCount, HasNaN: c.HasNaN}
	}
	stats, err := snap.EncodeStats(f.Rows, columns)
	if err != nil {
		return delta.AddFile{}, err
	}
	values := make(map[string]*string, len(f.Partition))
	for i, stored := range snap.StoredFields() {
		text, ok := f.Partition[stored.Name]
		if !ok {
			continue
		}
		field := snap.Schema().Fields[i]
		if values[field.Name], err = delta.PartitionValue(field.Type, text); err != nil {
			return delta.AddFile{}, err
		}
	}
	if len(values) != len(f.Partition) {
		return delta.AddFile{}, fmt.Errorf("data file has a partition column that the table does not have: %w", delta.ErrInvalidSchema)
	}
	return delta.AddFile{PartitionValues: values, Size: f.Bytes, ModTime: time.Now(), Stats: stats}, nil
}

const (
	// withdrawTimeout bounds the deletion of uploaded files.
	withdrawTimeout = 30 * time.Second
	// parallelDeletes is the number of files that are deleted at once.
	parallelDeletes = 16
)

// Withdraw deletes uploaded files, even if ctx is cancelled. A vacuum removes those
// that it cannot delete.
func Withdraw(ctx context.Context, bucket objstore.Bucket, adds []delta.AddFile) error {
	names := make([]string, len(adds))
	for i, add := range adds {
		names[i] = add.Name
	}
	return WithdrawObjects(ctx, bucket, names)
}

// WithdrawObjects is [Withdraw] for names of files.
func WithdrawObjects(ctx context.Context, bucket objstore.Bucket, names []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(parallelDeletes)
	for _, name := range names {
		group.Go(func() error { return bucket.Delete(ctx, name) })
	}
	return group.Wait()
}
