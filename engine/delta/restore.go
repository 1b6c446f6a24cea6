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

// Restoration is what [Snapshot.Restore] plans to do.
type Restoration struct {
	// Restored and Removed count files, with their bytes.
	Restored, Removed           int64
	RestoredBytes, RemovedBytes int64
	// Files and Bytes are the table's afterwards.
	Files, Bytes int64
}

// Restore plans a transaction on s that makes the table what it was at another
// of its versions: files, schema, partitioning, properties. The protocol never
// shrinks, and what only ever grows or is about the log stays: the table's id, recorded
// transactions, column ids, in-commit timestamps. Rows that are committed
// meanwhile are a conflict. Only the user of op is used. The target can be a version of a
// table that the table of s replaced.
//
// Errors: [ErrVersionNotFound] when files of that version are gone, with their
// number; [ErrIdentityChanged] when it belongs to another log; [FeatureError] where
// row tracking was switched on or off in between; those of the bucket.
func (s *Snapshot) Restore(ctx context.Context, target *Snapshot, op Operation) (*Txn, Restoration, error) {
	return s.RestoreAs(ctx, target, target.Metadata(), op)
}

// RestoreAs is [Snapshot.Restore] with metadata that differ from the target's in
// what is no matter of its files: constraints, and what others write beside the
// columns. They are of [Alteration.Change] on the target. That the restored rows
// satisfy the constraints is for the caller to know.
func (s *Snapshot) RestoreAs(ctx context.Context, target *Snapshot, as action.Metadata, op Operation) (*Txn, Restoration, error) {
	if target.TableID() != s.TableID() {
		if err := s.PrecededBy(ctx, target); err != nil {
			return nil, Restoration{}, fmt.Errorf("restoring version %d: %w", target.version, err)
		}
	}
	if s.flag(propRowTracking) != target.flag(propRowTracking) || s.flag(propRowTracking) && s.rowColumns() != target.rowColumns() {
		return nil, Restoration{}, refuseWrite(featRowTracking, "restoring a version whose rows have other ids")
	}
	op.Name = restoreOperation
	t := s.Begin(op)
	t.restores = true
	t.ReadWholeTable()
	r := Restoration{Files: int64(target.NumFiles()), Bytes: target.TotalBytes()}
	back := filesWithout(target, s)
	if err := target.checkPresent(ctx, back); err != nil {
		return nil, Restoration{}, fmt.Errorf("restoring version %d: %w", target.version, err)
	}
	for _, f := range filesWithout(s, target) {
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

// filesWithout lists the live files of a that b has not, vectors included.
func filesWithout(a, b *Snapshot) []File {
	var list []File
	for key, add := range a.state.files.all() {
		if _, both := b.state.files.get(key); !both {
			list = append(list, File{Name: fileName(key), Add: add})
		}
	}
	return list
}

// checkPresent makes sure that nobody has deleted the files, or the vectors
// that belong to them.
func (s *Snapshot) checkPresent(ctx context.Context, files []File) error {
	names := make(map[string]struct{}, len(files))
	for _, f := range files {
		names[f.Name] = struct{}{}
		if d := f.Add.DeletionVector; d != nil && d.StorageType != "i" {
			name, err := s.state.place.vectorName(d)
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
		return fmt.Errorf("%d of its files are gone: %w", n, ErrVersionNotFound)
	}
	return nil
}

// restoreTable carries metadata and protocol of another version where they are
// not those of today.
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
	// An id that a later column had must not name another one.
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

// restoreClustering keeps the columns that a table is clustered by among those
// that it has.
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

// metrics names the figures as the reference writer does.
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
