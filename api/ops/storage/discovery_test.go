package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// logs is a bucket with generated folders. tables maps a folder to the table ids in its
// commits, by version; other folders hold no table. It counts the objects that are read.
type logs struct {
	objstore.Bucket
	written time.Time
	// empty is the number of folders without tables.
	empty int

	mu     sync.Mutex
	tables map[string][]string
	read   int
	// onList, if set, is called for every listing.
	onList func()
}

func newLogs() *logs {
	return &logs{Bucket: mem.New(), written: time.Now().Add(-time.Hour), tables: map[string][]string{}}
}

func (b *logs) commit(name string) (content []byte, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	table, file, _ := strings.Cut(name, "/_delta_log/")
	var version int
	if n, err := fmt.Sscanf(file, "%020d.json", &version); err != nil || n != 1 || version >= len(b.tables[table]) {
		return nil, false
	}
	return fmt.Appendf(nil, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":%q,"format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}",`+
		`"partitionColumns":[],"configuration":{}}}
`, b.tables[table][version]), true
}

func (b *logs) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	content, found := b.commit(name)
	if !found {
		return b.Bucket.Get(ctx, name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read++
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (b *logs) Stat(ctx context.Context, name string) (objstore.Object, error) {
	content, found := b.commit(name)
	if !found {
		return b.Bucket.Stat(ctx, name)
	}
	return objstore.Object{Name: name, Size: int64(len(content)), ModTime: b.written}, nil
}

func (b *logs) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if b.onList != nil {
			b.onList()
		}
		if err := ctx.Err(); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		for name := range b.names(prefix) {
			object := objstore.Object{Name: name}
			if content, found := b.commit(name); found {
				object.Size, object.ModTime = int64(len(content)), b.written
			}
			if name > opts.StartAfter && !yield(object, nil) {
				return
			}
		}
	}
}

// names yields what lies directly below a prefix.
func (b *logs) names(prefix string) iter.Seq[string] {
	b.mu.Lock()
	defer b.mu.Unlock()
	table, inLog := strings.CutSuffix(prefix, "/_delta_log/")
	_, isTable := b.tables[strings.TrimSuffix(prefix, "/")]
	var names []string
	switch {
	case prefix == "":
		names = slices.Sorted(maps.Keys(b.tables))
		for i := range names {
			names[i] += "/"
		}
		return func(yield func(string) bool) {
			for i := range b.empty {
				if !yield(fmt.Sprintf("%06d/", i)) {
					return
				}
			}
			for _, name := range names {
				if !yield(name) {
					return
				}
			}
		}
	case inLog:
		for version := range b.tables[table] {
			names = append(names, fmt.Sprintf("%s%020d.json", prefix, version))
		}
	case isTable:
		names = append(names, prefix+"_delta_log/")
	}
	return slices.Values(names)
}

// at returns an opener of the bucket.
func (b *logs) at() opener { return opener{b} }

type opener struct{ *logs }

func (o opener) Bucket(context.Context, catalog.StorageConfig) (objstore.Bucket, error) {
	return o.logs, nil
}

// reads returns how many objects were read since the last call.
func (b *logs) reads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.read
	b.read = 0
	return n
}

// discovering is a configuration whose bucket is made up.
type discovering struct {
	*testing.T
	ctx     context.Context
	bucket  *logs
	store   catalog.Store
	configs storage.Configs
	config  catalog.StorageConfig
}

func newDiscovering(t *testing.T) *discovering {
	d := &discovering{T: t, bucket: newLogs()}
	inner, err := sqlstore.Open(context.Background(), filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	d.store = authz.New(inner)
	system := authz.System(context.Background(), "test")
	user, err := d.store.CreateUser(system, catalog.NewUser{Email: "a@example.com"})
	require.NoError(t, err)
	org, err := d.store.CreateOrganisation(system, catalog.NewOrganisation{Name: "o", Owner: user.ID})
	require.NoError(t, err)
	d.ctx = auth.WithPrincipal(context.Background(), auth.Principal{
		OrgID: uuid.MustParse(string(org.ID)), UserID: uuid.MustParse(string(user.ID)), Role: auth.RoleAdmin,
		Granted: auth.AllScopes(), Scopes: auth.AllScopes(), Method: auth.MethodJWT,
	})
	d.config, err = d.store.CreateStorageConfig(system, catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: org.ID, Owner: user.ID, Name: "c", Kind: catalog.KindS3,
		Location: catalog.NewLocation("s3", "e", "b"),
	})
	require.NoError(t, err)
	d.configs = storage.Configs{Store: d.store, Discovery: storage.Discovery{
		Store: d.store, Lake: lake.New(d.bucket.at(), delta.Options{}), Logs: storage.NewKnownLogs(),
	}}
	return d
}

// prepared returns a discovery of the configuration.
func (d *discovering) prepared() func(context.Context, func(storage.DiscoveryProgress)) (storage.Discovered, error) {
	d.Helper()
	discover, err := d.configs.PrepareDiscovery(d.ctx, d.config.ID, false)
	require.NoError(d, err)
	return discover
}

// discover discovers the tables, whose numbers it compares. It returns how many objects it read.
func (d *discovering) discover(want storage.Discovered) int {
	d.Helper()
	d.bucket.reads()
	got, err := d.prepared()(d.ctx, nil)
	require.NoError(d, err)
	require.Equal(d, want, got)
	return d.bucket.reads()
}

func (d *discovering) registered() int {
	d.Helper()
	n := 0
	system := authz.System(d.ctx, "test")
	require.NoError(d, catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return d.store.ListTables(system, catalog.SystemViewer(d.config.Org), catalog.TableFilter{Config: d.config.ID}, page)
	}, func(catalog.LocatedTable) error {
		n++
		return nil
	}))
	return n
}

// TestDiscoveryReadsChangedLogsOnly checks that a discovery reads the logs that are new or have
// changed, and that it sees every change of them.
func TestDiscoveryReadsChangedLogsOnly(t *testing.T) {
	d := newDiscovering(t)
	const all = 600 // which are registered in several parts
	name := func(i int) string { return fmt.Sprintf("t%03d", i) }
	for i := range all {
		d.bucket.tables[name(i)] = []string{uuid.NewString()}
	}
	require.GreaterOrEqual(t, d.discover(storage.Discovered{Found: all, Added: all}), all)
	require.Zero(t, d.discover(storage.Discovered{Found: all}))

	d.bucket.tables[name(7)] = append(d.bucket.tables[name(7)], d.bucket.tables[name(7)][0])
	d.bucket.tables[name(8)] = append(d.bucket.tables[name(8)], uuid.NewString())
	delete(d.bucket.tables, name(9))
	d.bucket.tables["new"] = []string{uuid.NewString()}
	n := d.discover(storage.Discovered{Found: all, Added: 1, Changed: 1, Missing: 1})
	require.NotZero(t, n)
	require.Less(t, n, 20)
	d.discover(storage.Discovered{Found: all, Vanished: 1})
	require.Zero(t, d.discover(storage.Discovered{Found: all}))

	d.bucket.tables[name(9)] = []string{uuid.NewString()}
	require.NotZero(t, d.discover(storage.Discovered{Found: all + 1, Returned: 1, Changed: 1}))

	// Another table in the same place has a log of another time.
	d.bucket.written = d.bucket.written.Add(time.Minute)
	d.bucket.tables[name(10)] = []string{uuid.NewString()}
	require.NotZero(t, d.discover(storage.Discovered{Found: all + 1, Changed: 1}))
	require.Zero(t, d.discover(storage.Discovered{Found: all + 1}))

	// A log that was written just now can be replaced by another of the same time.
	d.bucket.written = time.Now()
	require.NotZero(t, d.discover(storage.Discovered{Found: all + 1}))
	d.bucket.tables[name(11)] = []string{uuid.NewString()}
	require.NotZero(t, d.discover(storage.Discovered{Found: all + 1, Changed: 1}))
}

// TestDiscoveryThatEndsKeepsItsParts cancels a discovery in its middle. The next one adds the
// rest.
func TestDiscoveryThatEndsKeepsItsParts(t *testing.T) {
	d := newDiscovering(t)
	const all = 1000
	for i := range all {
		d.bucket.tables[fmt.Sprintf("t%03d", i)] = []string{uuid.NewString()}
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	folders := 0
	_, err := d.prepared()(ctx, func(p storage.DiscoveryProgress) {
		require.GreaterOrEqual(t, p.Folders, folders)
		if folders = p.Folders; folders > 600 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	kept := d.registered()
	require.Equal(t, 512, kept, "two parts were complete")
	config, err := d.store.StorageConfig(authz.System(d.ctx, "test"), catalog.SystemViewer(d.config.Org), d.config.ID)
	require.NoError(t, err)
	require.True(t, config.DiscoveredAt.IsZero())
	d.discover(storage.Discovered{Found: all, Added: all - kept})
	require.Equal(t, all, d.registered())
}

// TestDiscoveryBoundsItsProblems checks that unreadable logs neither end a discovery nor make its
// result large.
func TestDiscoveryBoundsItsProblems(t *testing.T) {
	d := newDiscovering(t)
	for i := range 150 {
		d.bucket.tables[fmt.Sprintf("t%03d", i)] = []string{""}
	}
	d.bucket.tables["well"] = []string{uuid.NewString()}
	got, err := d.prepared()(d.ctx, nil)
	require.NoError(t, err)
	require.Len(t, got.Problems, 100)
	require.Equal(t, 1, got.Added)
	require.False(t, got.Truncated)
}

// TestDiscoveryOfManyPrefixes measures the heap of a discovery of 100,000 prefixes, some of which
// are tables.
func TestDiscoveryOfManyPrefixes(t *testing.T) {
	d := newDiscovering(t)
	const all, tables = 100_000, 3000
	d.bucket.empty = all - tables
	for i := range tables {
		d.bucket.tables[fmt.Sprintf("t%06d", i)] = []string{uuid.NewString()}
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	listings, peak := 0, uint64(0)
	var mu sync.Mutex
	d.bucket.onList = func() {
		mu.Lock()
		defer mu.Unlock()
		if listings++; listings%1000 == 0 {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse-min(before.HeapInuse, now.HeapInuse))
		}
	}
	begun := time.Now()
	d.discover(storage.Discovered{Found: tables, Added: tables})
	first := time.Since(begun)
	begun = time.Now()
	require.Zero(t, d.discover(storage.Discovered{Found: tables}))
	t.Logf("first %v, second %v; the heap grew by %d MiB, garbage included", first, time.Since(begun), peak>>20)
	require.Less(t, peak, uint64(128<<20))
}
