package delta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Restoration describes the plan of [Snapshot.Restore].
type Restoration struct {
	// Restored and Removed count files; the others are their bytes.
	Restored, Removed           int64
	RestoredBytes, RemovedBytes int64
	// Files and Bytes describe the table after the restore.
	Files, Bytes int64
}

// Restore plans a transaction on s that restores the files, schema, partitioning and
// properties of the version target. The protocol is never downgraded. The table's id,
// recorded transactions, used column ids and in-commit timestamps are unchanged. Rows
// that are committed concurrently are a conflict. Only the user of op is used. target
// can be a version of a table that the table of s replaced.
//
// Errors: [ErrVersionNotFound] if files of the version no longer exist;
// [ErrIdentityChanged] if target belongs to another log; [FeatureError] if row tracking
// was enabled or disabled in between; those of the bucket.
func (s *Snapshot) Restore(ctx context.Context, target *Snapshot, op Operation) (*Txn, Restoration, error) {
	return s.RestoreAs(ctx, target, target.Metadata(), op)
}

// RestoreAs is like [Snapshot.Restore] but sets the given metadata. It comes from an
// [Alteration.Change] of target and may differ from target's metadata in constraints
// and in annotations of other writers only. The caller must have checked that the
// restored rows satisfy the constraints.
func (s *Snapshot) RestoreAs(ctx context.Context, target *Snapshot, as action.Metadata, op Operation) (*Txn, Restoration, error) {
	if target.TableID() != s.TableID() {
		if err := s.PrecededBy(ctx, target); err != nil {
			return nil, Restoration{}, fmt.Errorf("restoring version %d: %w", target.version, err)
		}
	}
	if s.flag(propRowTracking) != target.flag(propRowTracking) || s.flag(propRowTracking) && s.rowColumns() != target.rowColumns() {
		return nil, Restoration{}, refuseWrite(featRowTracking, "the restored rows would have different ids")
	}
	op.Name = restoreOperation
	t := s.Begin(op)
	t.restores = true
	t.ReadWholeTable()
	r := Restoration{Files: int64(target.NumFiles()), Bytes: target.TotalBytes()}
	back := filesNotIn(target, s)
	if err := target.checkPresent(ctx, back); err != nil {
		return nil, Restoration{}, fmt.Errorf("restoring version %d: %w", target.version, err)
	}
	for _, f := range filesNotIn(s, target) {
		if err := t.Remove(false, f); err != nil {
			return nil, Restoration{}, err
		}
		r.Removed++
		r.RemovedBytes += f.Add.Size
	}
	for _, f := range back {
		add := *f.Add
		add.DataChange = true
		t.addOld(&add)
		r.Restored++
		r.RestoredBytes += f.Add.Size
	}
	t.restoreTable(target, as)
	t.restoreClustering(target)
	t.op.Parameters = map[string]string{"version": strconv.FormatInt(target.version, 10)}
	t.op.Metrics = r.metrics()
	return t, r, nil
}

// filesNotIn returns the live files of a that are not live in b with the same deletion
// vector.
func filesNotIn(a, b *Snapshot) []File {
	var list []File
	for key, add := range a.state.files.all() {
		if _, both := b.state.files.get(key); !both {
			list = append(list, File{Name: fileName(key), Add: add})
		}
	}
	return list
}

// checkPresent makes sure that the files and their deletion vector files exist.
func (s *Snapshot) checkPresent(ctx context.Context, files []File) error {
	names := make(map[string]struct{}, len(files))
	for _, f := range files {
		names[f.Name] = struct{}{}
		if d := f.Add.DeletionVector; d != nil && d.StorageType != storedInline {
			name, err := s.state.folder.vectorName(d)
			if err != nil {
				return err
			}
			names[name] = struct{}{}
		}
	}
	var gone atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRequests)
	for name := range names {
		g.Go(func() error {
			_, err := s.bucket.Stat(ctx, name)
			if errors.Is(err, objstore.ErrNotFound) {
				gone.Add(1)
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if n := gone.Load(); n > 0 {
		return fmt.Errorf("%d of its files no longer exist: %w", n, ErrVersionNotFound)
	}
	return nil
}

// restoreTable sets the metadata and protocol of target if they differ from the current
// ones.
func (t *Txn) restoreTable(target *Snapshot, m action.Metadata) {
	now := t.base
	m.ID, m.CreatedTime = now.state.metadata.ID, now.state.metadata.CreatedTime
	m.Configuration = maps.Clone(m.Configuration)
	if m.Configuration == nil {
		m.Configuration = make(map[string]string)
	}
	for _, name := range []string{propICT, propICTVersion, propICTTimestamp} {
		if value, ok := now.Properties()[name]; ok {
			m.Configuration[name] = value
		} else {
			delete(m.Configuration, name)
		}
	}
	// An id that a newer column used must never be reused.
	if used, ok := now.Properties()[propMaxColumnID]; ok && mapped(m.Configuration) {
		numbers := newColumnNumbers(target.schema, m.Configuration, nil)
		if n, err := strconv.Atoi(used); err == nil {
			m.Configuration[propMaxColumnID] = strconv.Itoa(max(n, numbers.last))
		}
	}
	if !equalMetadata(m, now.Metadata()) {
		t.SetMetadata(m)
	}
	p := mergeProtocols(now.Protocol(), target.Protocol())
	if !equalProtocol(p, now.Protocol()) {
		t.SetProtocol(p)
	}
}

// restoreClustering restores the clustering columns.
func (t *Txn) restoreClustering(target *Snapshot) {
	now, then := t.base.state.domains[clusteringDomain], target.state.domains[clusteringDomain]
	switch {
	case then != nil && (now == nil || now.Configuration != then.Configuration):
		t.SetDomain(clusteringDomain, then.Configuration, false)
	case then == nil && now != nil:
		t.SetDomain(clusteringDomain, now.Configuration, true)
	}
}

func equalMetadata(a, b action.Metadata) bool {
	return a.SchemaString == b.SchemaString && slices.Equal(a.PartitionColumns, b.PartitionColumns) &&
		maps.Equal(a.Configuration, b.Configuration) && equalTexts(a.Name, b.Name) && equalTexts(a.Description, b.Description)
}

func equalTexts(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalProtocol(a, b action.Protocol) bool {
	return a.MinReaderVersion == b.MinReaderVersion && a.MinWriterVersion == b.MinWriterVersion &&
		slices.Equal(a.ReaderFeatures, b.ReaderFeatures) && slices.Equal(a.WriterFeatures, b.WriterFeatures)
}

// metrics returns the metrics under the names that the reference writer uses.
func (r Restoration) metrics() map[string]string {
	out := make(map[string]string)
	for name, n := range map[string]int64{
		"numRestoredFiles": r.Restored, "restoredFilesSize": r.RestoredBytes,
		"numRemovedFiles": r.Removed, "removedFilesSize": r.RemovedBytes,
		"numOfFilesAfterRestore": r.Files, "tableSizeAfterRestore": r.Bytes,
	} {
		out[name] = strconv.FormatInt(n, 10)
	}
	return out
}
