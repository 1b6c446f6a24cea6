package lake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// Opener opens the bucket at the root of a storage configuration.
type Opener interface {
	Bucket(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error)
}

// Lake opens tables and caches their newest snapshots for all callers. It does not check
// who may see a table: callers pass tables that the catalog has resolved for somebody.
type Lake struct {
	opener Opener
	opts   delta.Options
	cache  cachedTables
	// Announce, if set, tells other replicas of a commit.
	Announce func(ctx context.Context, table catalog.CommittedTable) error
	// OnForeign, if set, is called for commits of other writers, possibly with the entry
	// locked.
	OnForeign func(config catalog.StorageConfig, path string, snap *delta.Snapshot)
}

// place identifies the folder of a table. The location is part of it, so that a
// configuration that points elsewhere never has an old snapshot; the version, because a
// snapshot holds the bucket that it was read from, and with it the credential.
type place struct {
	config   catalog.ConfigID
	version  int64
	location catalog.Location
	path     string
}

func placeOf(t catalog.LocatedTable) place {
	return place{t.StorageConfig.ID, t.StorageConfig.Version, t.StorageConfig.Location, t.Path}
}

// New returns a lake without snapshots.
func New(opener Opener, opts delta.Options) *Lake {
	return &Lake{opener: opener, opts: opts, cache: cachedTables{most: maxCachedBytes, places: map[place]*cachedTable{}}}
}

// RemoteAge is the age up to which a snapshot of a remote table is not refreshed, unless a
// statement sets another bound: a refresh costs a request.
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

// SnapshotWithin is Snapshot with another bound on the age of the snapshot.
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

// Peek is Any for a table that nobody has requested: a snapshot that it loads is not cached, so
// that a discovery of many tables does not evict those in use. Commits of other writers to a table
// that it loads are reported only if the table is registered: a new one is checked when it is used.
func (l *Lake) Peek(ctx context.Context, config catalog.StorageConfig, path string, registered bool) (*delta.Snapshot, error) {
	if l.cache.has(place{config.ID, config.Version, config.Location, path}) {
		return l.Any(ctx, config, path)
	}
	snap, err := l.load(ctx, config, path)
	if err == nil && registered {
		l.compare(config, path, nil, snap)
	}
	return snap, err
}

// Advanced reports whether the log at a path has the commit that follows a version.
func (l *Lake) Advanced(ctx context.Context, config catalog.StorageConfig, path string, version int64) (bool, error) {
	bucket, err := l.Folder(ctx, config, path)
	if err != nil {
		return false, err
	}
	_, err = bucket.Stat(ctx, logpath.CommitName(version+1))
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (l *Lake) within(ctx context.Context, config catalog.StorageConfig, path string, age time.Duration) (*delta.Snapshot, error) {
	where := place{config.ID, config.Version, config.Location, path}
	cached := l.cache.at(where)
	select {
	case cached.turn <- struct{}{}:
		defer func() { <-cached.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	begun := time.Now()
	// Cleared before the refresh, which may miss a commit that is announced during it.
	behind := cached.behind.Swap(false)
	if cached.snap != nil && !behind && age > 0 && begun.Sub(cached.seen) < age {
		return cached.snap, nil
	}
	snap, err := l.refresh(ctx, config, path, where, cached, begun)
	if err != nil && behind {
		cached.behind.Store(true)
	}
	return snap, err
}

// refresh refreshes the entry of a table, or loads the table. The caller has the entry's
// turn.
func (l *Lake) refresh(
	ctx context.Context, config catalog.StorageConfig, path string, where place, cached *cachedTable, begun time.Time,
) (*delta.Snapshot, error) {
	if cached.snap != nil {
		snap, err := cached.snap.Refresh(ctx)
		if err == nil {
			l.cache.count(cached.snap, snap)
			l.compare(config, path, cached.snap, snap)
			cached.snap, cached.seen = snap, begun
			l.cache.weigh(where, cached)
			return snap, nil
		}
		if !errors.Is(err, delta.ErrIdentityChanged) && !errors.Is(err, delta.ErrLogBroken) && !errors.Is(err, delta.ErrTableNotFound) {
			return nil, err
		}
		cached.snap = nil
		l.cache.weigh(where, cached)
		// Another writer replaced the table or cleaned its log up: the table is loaded
		// again.
	}
	snap, err := l.load(ctx, config, path)
	if err != nil {
		return nil, err
	}
	l.compare(config, path, nil, snap)
	cached.snap, cached.seen = snap, begun
	l.cache.weigh(where, cached)
	return snap, nil
}

// load loads the newest version of the table at a path.
func (l *Lake) load(ctx context.Context, config catalog.StorageConfig, path string) (*delta.Snapshot, error) {
	bucket, err := l.Folder(ctx, config, path)
	if err != nil {
		return nil, err
	}
	snap, err := delta.Load(ctx, bucket, l.opts)
	if err != nil {
		return nil, err
	}
	l.cache.count(nil, snap)
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
// replaced table can be read: see package access. Callers that read rows must
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

// Columns returns the columns of a version as the engine names their types.
func Columns(snap *delta.Snapshot) []engine.Column {
	fields := snap.Schema().Fields
	columns := make([]engine.Column, len(fields))
	for i, f := range fields {
		columns[i] = engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: f.Nullable}
	}
	return columns
}
