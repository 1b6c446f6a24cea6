package s3

import (
	"sync"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxClients bounds the clients that Clients caches.
const maxClients = 1024

// Clients caches one client for each of many versioned configurations. Its zero
// value is empty. It is safe for concurrent use.
type Clients struct {
	mu   sync.Mutex
	open map[string]client
}

// client is a bucket with the version of the configuration that it belongs to.
type client struct {
	version int64
	bucket  *Bucket
	root    objstore.Bucket
}

// Open returns the root of the configuration id, cached if it belongs to this
// version or a newer one. Otherwise it calls open, which returns a bucket and the
// folder in it that is the root. The client of an older version is dropped.
func (c *Clients) Open(id string, version int64, open func() (*Bucket, string, error)) (objstore.Bucket, error) {
	c.mu.Lock()
	cached, ok := c.open[id]
	c.mu.Unlock()
	if ok && cached.version >= version {
		return cached.root, nil
	}
	bucket, dir, err := open()
	if err != nil {
		return nil, err
	}
	return c.add(id, client{version: version, bucket: bucket, root: objstore.Prefix(bucket, dir)}), nil
}

// add caches a client unless a concurrent call has added a newer one.
func (c *Clients) add(id string, fresh client) objstore.Bucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.open[id]; ok && cached.version >= fresh.version {
		return cached.root
	}
	c.drop(id)
	for other := range c.open {
		// The victim is arbitrary: a client that is needed again is made again.
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

// drop removes a client. Its running requests continue.
func (c *Clients) drop(id string) {
	if cached, ok := c.open[id]; ok {
		_ = cached.bucket.Close() // closes idle connections, and never fails
		delete(c.open, id)
	}
}

// Close drops every client.
func (c *Clients) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.open {
		c.drop(id)
	}
}
