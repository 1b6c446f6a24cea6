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

// uploads is how many files of one call go to the store at once.
const uploads = 4

// Upload puts files of a local folder into the table's folder, takes them out of
// the local one, and describes them for the log. Files without rows are left out.
// amend, where it is given, completes a description; it is called before the file
// is sent, from several goroutines. Errors are those of [Describe] and of the
// bucket.
func Upload(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile, amend func(*delta.AddFile)) ([]delta.AddFile, error) {
	return upload(ctx, snap, dir, files, "part", amend)
}

// UploadChanges is [Upload] for files of changed rows, see [delta.ChangeFile].
func UploadChanges(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile) ([]delta.ChangeFile, error) {
	adds, err := upload(ctx, snap, dir, files, "_change_data/cdc", nil)
	changes := make([]delta.ChangeFile, len(adds))
	for i, a := range adds {
		changes[i] = delta.ChangeFile{Name: a.Name, PartitionValues: a.PartitionValues, Size: a.Size}
	}
	return changes, err
}

// upload is [Upload] for files whose names begin with prefix.
func upload(ctx context.Context, snap *delta.Snapshot, dir string, files []engine.DataFile, prefix string, amend func(*delta.AddFile)) ([]delta.AddFile, error) {
	adds := make([]delta.AddFile, len(files))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
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
			// Named before it is there: what fails halfway is withdrawn too.
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
	body, err := os.Open(from) //nolint:gosec // a file of the engine in our scratch directory
	if err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	defer func() { _ = body.Close() }() // it was read only
	if err := bucket.Put(ctx, add.Name, body, add.Size); err != nil {
		return fmt.Errorf("uploading a data file: %w", err)
	}
	return nil
}

// Describe turns what the engine says of a file into what the log says of it, but
// for its name. The engine knows columns by the names that files have.
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
		return delta.AddFile{}, fmt.Errorf("a partition column that the table does not have: %w", delta.ErrInvalidSchema)
	}
	return delta.AddFile{PartitionValues: values, Size: f.Bytes, ModTime: time.Now(), Stats: stats}, nil
}

const (
	// withdrawTime bounds the removal of files that no version names.
	withdrawTime = 30 * time.Second
	// withdrawals is how many of them are removed at once.
	withdrawals = 16
)

// Withdraw takes uploaded files away again, also after the caller is gone. What
// it cannot take away, a vacuum does.
func Withdraw(ctx context.Context, bucket objstore.Bucket, adds []delta.AddFile) error {
	names := make([]string, len(adds))
	for i, add := range adds {
		names[i] = add.Name
	}
	return WithdrawObjects(ctx, bucket, names)
}

// WithdrawObjects is [Withdraw] by name.
func WithdrawObjects(ctx context.Context, bucket objstore.Bucket, names []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(withdrawals)
	for _, name := range names {
		group.Go(func() error { return bucket.Delete(ctx, name) })
	}
	return group.Wait()
}
