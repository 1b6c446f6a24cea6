package kind

import (
	"io"
	"sync"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxClients bounds the roots that Clients caches.
const maxClients = 1024

// Clients caches the open root of each of many versioned configurations. Its zero value is
// empty. It is safe for concurrent use.
type Clients struct {
	mu   sync.Mutex
	open map[string]client
}

// client is an open root with the version of the configuration that it belongs to.
type client struct {
	version int64
	root    objstore.Bucket
	closer  io.Closer
}

// Open returns the root of the configuration id. A cached root is returned if it belongs
// to this version or a newer one; otherwise access returns what to open. A rotation raises
// the version, so that the old credential is not used again. The root of an older version
// is dropped.
func (c *Clients) Open(id string, version int64, access func() (Access, error)) (objstore.Bucket, error) {
	c.mu.Lock()
	cached, ok := c.open[id]
	c.mu.Unlock()
	if ok && cached.version >= version {
		return cached.root, nil
	}
	a, err := access()
	if err != nil {
		return nil, err
	}
	root, closer, err := a.Open()
	if err != nil {
		return nil, err
	}
	return c.add(id, client{version: version, root: root, closer: closer}), nil
}

// add caches a root unless a concurrent call has added a newer one.
func (c *Clients) add(id string, fresh client) objstore.Bucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.open[id]; ok && cached.version >= fresh.version {
		_ = fresh.closer.Close() // see drop
		return cached.root
	}
	c.drop(id)
	for other := range c.open {
		// The victim is arbitrary: a root that is needed again is opened again.
		if len(c.open) < maxClients {
			break
		}
		c.drop(other)
	}
	if c.open == nil {
		c.open = map[string]client{}
	}
	c.open[id] = fresh
	return fresh.root
}

// drop removes a root. Its running requests continue.
func (c *Clients) drop(id string) {
	if cached, ok := c.open[id]; ok {
		_ = cached.closer.Close() // the closer releases idle connections, and its failure changes nothing
		delete(c.open, id)
	}
}

// Close drops every root.
func (c *Clients) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.open {
		c.drop(id)
	}
}
