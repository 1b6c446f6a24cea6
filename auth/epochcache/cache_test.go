package epochcache_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/epochcache"
)

func hash(name string) epochcache.Hash { return sha256.Sum256([]byte(name)) }

func requireValue(t *testing.T, c *epochcache.Cache[int], name string, epoch uint64, want int) {
	t.Helper()
	got, ok := c.Get(hash(name), epoch)
	require.True(t, ok, "%s is cached at epoch %d", name, epoch)
	require.Equal(t, want, got)
}

func requireNone(t *testing.T, c *epochcache.Cache[int], name string, epoch uint64) {
	t.Helper()
	_, ok := c.Get(hash(name), epoch)
	require.False(t, ok, "%s is not cached at epoch %d", name, epoch)
}

func TestANewEpochEmptiesTheCache(t *testing.T) {
	c := epochcache.New[int](10)
	requireNone(t, c, "a", 0)
	c.Put(hash("a"), 5, 1)
	c.Put(hash("b"), 5, 2)
	requireValue(t, c, "a", 5, 1)
	requireNone(t, c, "a", 4)
	requireNone(t, c, "a", 6)
	requireValue(t, c, "a", 5, 1) // a look-up alone changes nothing

	c.Put(hash("a"), 6, 3)
	requireValue(t, c, "a", 6, 3)
	requireNone(t, c, "b", 6)
	requireNone(t, c, "a", 5)
}

// A slow reader that began before the change must not store what it read.
func TestAnOlderEpochWritesNothing(t *testing.T) {
	c := epochcache.New[int](10)
	c.Put(hash("a"), 6, 3)
	c.Put(hash("a"), 5, 1)
	c.Put(hash("b"), 5, 1)
	requireValue(t, c, "a", 6, 3)
	requireNone(t, c, "b", 6)
}

func TestTheLeastRecentlyUsedIsEvicted(t *testing.T) {
	c := epochcache.New[int](3)
	for i, name := range []string{"a", "b", "c"} {
		c.Put(hash(name), 1, i)
	}
	requireValue(t, c, "a", 1, 0)
	c.Put(hash("b"), 1, 7) // again: nothing is evicted
	c.Put(hash("d"), 1, 3)
	requireNone(t, c, "c", 1)
	requireValue(t, c, "a", 1, 0)
	requireValue(t, c, "b", 1, 7)
	requireValue(t, c, "d", 1, 3)
}
