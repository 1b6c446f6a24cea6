package lake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// Opener opens the bucket at the root of a storage configuration.
type Opener interface {
	Bucket(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error)
}

// Lake opens tables and keeps their newest snapshots for all callers. Who may
// see a table is not its question: callers hand in tables that the catalog has
// resolved for somebody.
type Lake struct {
	opener Opener
	opts   delta.Options
	kept   keptTables
	// Announce, if set, tells other replicas of a commit.
	Announce func(ctx context.Context, table catalog.CommittedTable) error
	// OnForeign, if set, is called for commits of other writers, with the entry
	// locked.
	OnForeign func(config catalog.StorageConfig, path string, snap *delta.Snapshot)
}

// place is where a table lies. The location is part of it, so that a
// configuration that points elsewhere never meets an old snapshot; the version,
// because a snapshot keeps the bucket that it was read from, and with it the
// credential.
type place struct {
	config   catalog.ConfigID
	version  int64
	location catalog.Location
	path     string
}

// New returns a lake without snapshots.
func New(opener Opener, opts delta.Options) *Lake {
	return &Lake{opener: opener, opts: opts, kept: keptTables{most: maxKeptBytes, places: map[place]*keptTable{}}}
}

// RemoteAge is how old what is known of a remote table may be, unless a
// statement asks for less or allows more: a look costs a request.
const RemoteAge = time.Second

// Snapshot returns the newest version of a table. It refreshes a local log in every
// call, so it sees each commit of any engine that was acknowledged before the call, and
// a remote log once a second. Callers that read rows must also call CheckRows. Errors:
// [ErrTableVanished], [ErrTableIdentity], those of delta.Load and delta.CheckReadable.
func (l *Lake) Snapshot(ctx context.Context, t catalog.LocatedTable) (*delta.Snapshot, error) {
	return l.Recent(ctx, t, nil)
}

// Recent is Snapshot with another bound on the age of what is known of a remote log; nil
// means [RemoteAge].
func (l *Lake) Recent(ctx context.Context, t catalog.LocatedTable, age *time.Duration) (*delta.Snapshot, error) {
	if _, local := LocalRoot(t.StorageConfig); local {
		return l.SnapshotWithin(ctx, t, 0)
	}
	if age == nil {
		return l.SnapshotWithin(ctx, t, RemoteAge)
	}
	return l.SnapshotWithin(ctx, t, *age)
}

// SnapshotWithin is Snapshot with another bound on how long ago the log was
// looked at.
func (l *Lake) SnapshotWithin(ctx context.Context, t catalog.LocatedTable, age time.Duration) (*delta.Snapshot, error) {
	snap, err := l.within(ctx, t.StorageConfig, t.Path, age)
	if errors.Is(err, delta.ErrTableNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrTableVanished, err)
	}
	if err != nil {
		return nil, err
	}
	if t.State == catalog.TableIdentityChanged || snap.TableID() != string(t.DeltaID) {
		return snap, ErrTableIdentity
	}
	return snap, delta.CheckReadable(snap)
}

// Any returns the newest version of whatever table lies at a path.
func (l *Lake) Any(ctx context.Context, config catalog.StorageConfig, path string) (*delta.Snapshot, error) {
	return l.within(ctx, config, path, 0)
}

func (l *Lake) within(ctx context.Context, config catalog.StorageConfig, path string, age time.Duration) (*delta.Snapshot, error) {
	where := place{config.ID, config.Version, config.Location, path}
	kept := l.kept.at(where)
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	begun := time.Now()
	// Taken back before the look: what is announced during it may have come late.
	behind := kept.behind.Swap(false)
	if kept.snap != nil && !behind && age > 0 && begun.Sub(kept.seen) < age {
		return kept.snap, nil
	}
	snap, err := l.look(ctx, config, path, where, kept, begun)
	if err != nil && behind {
		kept.behind.Store(true)
	}
	return snap, err
}

// look looks at a table's log. The caller has the entry's turn.
func (l *Lake) look(ctx context.Context, config catalog.StorageConfig, path string, where place, kept *keptTable, begun time.Time) (*delta.Snapshot, error) {
	if kept.snap != nil {
		snap, err := kept.snap.Refresh(ctx)
		if err == nil {
			l.kept.count(kept.snap, snap)
			l.compare(config, path, kept.snap, snap)
			kept.snap, kept.seen = snap, begun
			l.kept.weigh(where, kept)
			return snap, nil
		}
		if !errors.Is(err, delta.ErrIdentityChanged) && !errors.Is(err, delta.ErrLogBroken) && !errors.Is(err, delta.ErrTableNotFound) {
			return nil, err
		}
		kept.snap = nil
		l.kept.weigh(where, kept)
		// Someone replaced the table, or cleaned its log up below us: what is
		// there now is read afresh.
	}
	bucket, err := l.Folder(ctx, config, path)
	if err != nil {
		return nil, err
	}
	snap, err := delta.Load(ctx, bucket, l.opts)
	if err != nil {
		return nil, err
	}
	l.kept.count(nil, snap)
	l.compare(config, path, nil, snap)
	kept.snap, kept.seen = snap, begun
	l.kept.weigh(where, kept)
	return snap, nil
}

// compare reports commits of other writers that after has and before lacks. before is
// nil if the table was not loaded yet; commits that a checkpoint covers then count as
// known, so that a starting server does not check every table.
func (l *Lake) compare(config catalog.StorageConfig, path string, before, after *delta.Snapshot) {
	since := after.BaseVersion()
	if before != nil {
		since = before.Version()
	}
	if l.OnForeign != nil && before != after && after.ForeignSince(since) {
		l.OnForeign(config, path, after)
	}
}

// At returns an older version of a table. It does not check whether a version of a
// replaced table can be read: see [Tables.openReplaced]. Callers that read rows must
// also call CheckRows.
func (l *Lake) At(ctx context.Context, t catalog.LocatedTable, at delta.At) (*delta.Snapshot, error) {
	bucket, err := l.Folder(ctx, t.StorageConfig, t.Path)
	if err != nil {
		return nil, err
	}
	opts := l.opts
	opts.At = at
	snap, err := delta.Load(ctx, bucket, opts)
	if err != nil {
		return nil, err
	}
	if snap.TableID() != string(t.DeltaID) {
		return snap, nil
	}
	return snap, delta.CheckReadable(snap)
}

// CheckRows refuses a version whose rows cannot be read. It reads the deletion vectors,
// which history and descriptions do not need.
func CheckRows(ctx context.Context, snap *delta.Snapshot) error {
	if err := delta.CheckReadable(snap); err != nil {
		return err
	}
	if err := pruning.Load(ctx, snap); err != nil {
		return err
	}
	return pruning.Check(snap)
}

// Root opens the bucket at the root of a configuration.
func (l *Lake) Root(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	return l.opener.Bucket(ctx, config)
}

// Options returns the options with which the lake's tables are opened.
func (l *Lake) Options() delta.Options { return l.opts }

// Folder opens a folder below the root of a configuration.
func (l *Lake) Folder(ctx context.Context, config catalog.StorageConfig, path string) (objstore.Bucket, error) {
	bucket, err := l.Root(ctx, config)
	if err != nil || path == "" {
		return bucket, err
	}
	return objstore.Prefix(bucket, path), nil
}

// Columns returns the columns of a table's newest version.
func (l *Lake) Columns(ctx context.Context, t catalog.LocatedTable) ([]engine.Column, error) {
	snap, err := l.Snapshot(ctx, t)
	if err != nil {
		return nil, err
	}
	return Columns(snap), nil
}

func Columns(snap *delta.Snapshot) []engine.Column {
	fields := snap.Schema().Fields
	columns := make([]engine.Column, len(fields))
	for i, f := range fields {
		columns[i] = engine.Column{Name: f.Name, Type: delta.DuckDBType(f.Type), Nullable: f.Nullable}
	}
	return columns
}
