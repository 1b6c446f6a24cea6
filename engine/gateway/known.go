package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// object identifies one content of one name. It is part of the key of blocks.
type object struct {
	identity string // Location.Identity
	name     string
	size     int64
	stamp    int64 // time of the last change, in nanoseconds
}

func describe(location *Location, found objstore.Object) object {
	return object{identity: location.Identity, name: found.Name, size: found.Size, stamp: found.ModTime.UnixNano()}
}

// same reports whether two descriptions can be of one content. Some stores round the time of last
// change to a second in some responses only.
func (o object) same(other object) bool {
	const second = int64(time.Second)
	a, b := o.stamp, other.stamp
	if a%second == 0 || b%second == 0 {
		a, b = a/second, b/second
	}
	return o.size == other.size && a == b
}

// maxKnown bounds the number of cached descriptions.
const maxKnown = 100_000

// known caches descriptions of write-once objects. It is safe for concurrent use.
type known struct {
	recheck time.Duration
	now     func() time.Time

	mu      sync.Mutex
	objects *lru[place, sighting]
}

type place struct{ identity, name string }

type sighting struct {
	object object
	at     time.Time
}

func newKnown(recheck time.Duration, now func() time.Time) *known {
	return &known{recheck: recheck, now: now, objects: newLRU[place, sighting](maxKnown)}
}

// get returns a description if it is known and recent enough.
func (k *known) get(identity, name string) (object, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen, ok := k.objects.get(place{identity, name})
	return seen.object, ok && k.now().Sub(seen.at) < k.recheck
}

// last returns the last description of a name, however old it is.
func (k *known) last(identity, name string) (object, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen, ok := k.objects.peek(place{identity, name})
	return seen.object, ok
}

// learn records a store's current description and returns the one to use: the one under which
// blocks are cached, if the content is the same.
func (k *known) learn(seen object) object {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := place{seen.identity, seen.name}
	if old, ok := k.objects.get(at); ok && old.object.same(seen) {
		seen = old.object
	}
	k.objects.put(at, sighting{seen, k.now()}, 1)
	return seen
}

// forget drops a wrong description.
func (k *known) forget(wrong object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := place{wrong.identity, wrong.name}
	if seen, ok := k.objects.get(at); ok && seen.object == wrong {
		k.objects.remove(at)
	}
}

// forgetWhere drops the descriptions of places for which match is true.
func (k *known) forgetWhere(match func(identity, name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.objects.removeWhere(func(at place) bool { return match(at.identity, at.name) })
}

// confirmed returns a function that reports whether the store had an object within the given time.
func (k *known) confirmed(within time.Duration) func(object) bool {
	since := k.now().Add(-within)
	return func(o object) bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		seen, ok := k.objects.peek(place{o.identity, o.name})
		return ok && seen.object == o && seen.at.After(since)
	}
}

// stat describes an object, from the cached descriptions if the object is write-once.
func (c *cache) stat(ctx context.Context, location *Location, name string) (object, error) {
	if known, ok := c.known.get(location.Identity, name); ok {
		return known, nil
	}
	found, err := location.Store.Stat(ctx, name)
	if errors.Is(err, objstore.ErrNotFound) {
		c.lacks(location.Identity, name)
	}
	if err != nil {
		return object{}, err
	}
	found.Name = name
	return c.learn(location, found), nil
}

// learn records one entry of a listing.
func (c *cache) learn(location *Location, found objstore.Object) object {
	seen := describe(location, found)
	if !writeOnce(found.Name) {
		return seen
	}
	return c.known.learn(seen)
}
