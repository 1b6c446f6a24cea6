package access

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/sessions"
)

// visibleConfigs lists the configurations that users see.
type visibleConfigs struct {
	of    map[catalog.UserID][]catalog.StorageConfig
	reads int
	err   error
}

func (s *visibleConfigs) ListStorageConfigs(
	_ context.Context, v catalog.Viewer, _ catalog.Page,
) (catalog.List[catalog.StorageConfig], error) {
	s.reads++
	if v.Everything {
		return catalog.List[catalog.StorageConfig]{Items: s.of["everything"]}, s.err
	}
	return catalog.List[catalog.StorageConfig]{Items: s.of[v.User]}, s.err
}

func (s *visibleConfigs) StorageConfig(
	_ context.Context, _ catalog.Viewer, config catalog.ConfigID,
) (catalog.StorageConfig, error) {
	for _, c := range s.of["everything"] {
		if c.ID == config {
			return c, s.err
		}
	}
	return catalog.StorageConfig{}, cmp.Or(s.err, catalog.ErrNotFound)
}

// idlePool is a pool of idle sessions.
type idlePool struct {
	keys []sessions.Key
	// emptied matches the roots that were emptied last.
	emptied func(root string) bool
}

func (p *idlePool) Empty(match func(root string) bool) { p.emptied = match }

func (p *idlePool) Idle() []sessions.Key { return slices.Clone(p.keys) }

func (p *idlePool) Drop(match func(sessions.Key) bool) int {
	before := len(p.keys)
	p.keys = slices.DeleteFunc(p.keys, match)
	return before - len(p.keys)
}

func TestSessionGuard(t *testing.T) {
	local := func(path string) catalog.StorageConfig {
		return catalog.StorageConfig{Kind: catalog.KindLocal, Location: catalog.Location("file://" + path)}
	}
	a, b := local("/a/"), local("/b/")
	store := &visibleConfigs{of: map[catalog.UserID][]catalog.StorageConfig{"ada": {a, b}, "bob": {a}, "everything": {a, b}}}
	key := func(user string, configs ...catalog.StorageConfig) sessions.Key {
		k := sessions.Key{Org: "o", User: user}
		for _, c := range configs {
			k.Roots = append(k.Roots, lake.SessionRoot(c))
		}
		return k
	}
	service := key("bob", a)
	service.ServiceRoots = []string{lake.SessionRoot(b)}
	all := []sessions.Key{key("ada", a, b), key("ada", a), key("bob", a), service, key("", b), key("carl")}
	pool := &idlePool{keys: slices.Clone(all)}
	epoch, stale := uint64(1), error(nil)
	g := NewSessionGuard(store, pool, func() (uint64, error) { return epoch, stale }, slog.New(slog.DiscardHandler))

	require.NoError(t, g.check(t.Context()))
	require.Equal(t, all, pool.keys, "everybody sees the roots")
	require.Equal(t, 4, store.reads)
	require.NoError(t, g.check(t.Context()))
	require.Equal(t, 4, store.reads, "nothing has changed")

	// Ada loses b. A statement that was planned before leaves another session behind.
	store.of["ada"] = []catalog.StorageConfig{a}
	require.NoError(t, g.check(t.Context()))
	require.Equal(t, all, pool.keys, "the change is not known yet")
	epoch, stale = 2, errors.New("not confirmed")
	require.NoError(t, g.check(t.Context()))
	require.Equal(t, all, pool.keys)
	stale = nil
	for range 2 {
		require.NoError(t, g.check(t.Context()))
		require.Equal(t, all[1:], pool.keys)
		pool.keys = slices.Clone(all)
	}

	// The configuration is deleted: the server's own session ends too.
	store.of["everything"], epoch = []catalog.StorageConfig{a}, 3
	store.err = errors.New("no connection")
	require.ErrorIs(t, g.check(t.Context()), store.err)
	require.Equal(t, all, pool.keys)
	store.err = nil
	require.NoError(t, g.check(t.Context()))
	require.Equal(t, []sessions.Key{all[1], all[2], all[3], all[5]}, pool.keys)

	pool.keys, epoch, store.reads = nil, 4, 0
	require.NoError(t, g.check(t.Context()))
	require.Zero(t, store.reads, "without idle sessions the catalog is not read")
}

// TestSessionsThatReadDeletedFilesClose: those that can read the configuration of the files.
func TestSessionsThatReadDeletedFilesClose(t *testing.T) {
	local := catalog.StorageConfig{ID: "l", Kind: catalog.KindLocal, Location: "file:///a"}
	remote := catalog.StorageConfig{ID: "r", Kind: "s3", Location: "s3://b/"}
	store, pool := &visibleConfigs{of: map[catalog.UserID][]catalog.StorageConfig{"everything": {local, remote}}}, &idlePool{}
	g := NewSessionGuard(store, pool, nil, slog.New(slog.DiscardHandler))
	files := func(configs ...catalog.ConfigID) (dropped deletion.Dropped) {
		for _, c := range configs {
			dropped.Files = append(dropped.Files, catalog.FileDeletion{Place: catalog.Place{Config: c, Path: "t"}})
		}
		return dropped
	}
	emptied := func() [2]bool {
		return [2]bool{pool.emptied(lake.SessionRoot(local)), pool.emptied(lake.SessionRoot(remote))}
	}
	require.NoError(t, g.DropFiles(t.Context(), files("l")))
	require.Equal(t, [2]bool{true, false}, emptied())
	require.NoError(t, g.DropFiles(t.Context(), files("r", "deleted")))
	require.Equal(t, [2]bool{false, true}, emptied())
	require.NoError(t, g.DropFiles(t.Context(), deletion.Dropped{All: true}))
	require.Equal(t, [2]bool{true, true}, emptied())
	store.err = errors.New("no connection")
	require.ErrorIs(t, g.DropFiles(t.Context(), files("l")), store.err)
}
