package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Region is the only region of the endpoint and part of its signatures.
const Region = "lakewarden"

// Options are the optional parts of a Gateway; zero values are usable.
type Options struct {
	// MemoryBytes and DiskBytes limit the two tiers of the block cache. Blocks in transit (one for
	// each read from a store, and up to 32 for the disk) are not counted. Zero is 256 MiB and 4
	// GiB.
	MemoryBytes, DiskBytes int64
	// Dir is the directory for blocks on disk. It belongs to this process alone, and is emptied when
	// the process starts. Empty means no disk tier.
	Dir string
	// BlockBytes is the size of a block, the unit of the cache and of reads from stores; zero is 1
	// MiB.
	BlockBytes int64
	// ReadAhead is how many blocks are read beyond a request that continues cached blocks; zero is
	// 2, negative none.
	ReadAhead int
	// Recheck is how long the description of a write-once object is used without asking the store;
	// zero is five minutes. Listings update descriptions earlier.
	Recheck time.Duration
	// Registerer receives the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives connection errors, at debug level; nil discards them.
	Logger *slog.Logger
	// Now is the clock for signatures and for Recheck; nil is time.Now.
	Now func() time.Time
}

const (
	defaultMemory    = 256 << 20
	defaultDisk      = 4 << 30
	defaultBlock     = 1 << 20
	defaultReadAhead = 2
	defaultRecheck   = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	orElse(&o.MemoryBytes, defaultMemory)
	orElse(&o.DiskBytes, defaultDisk)
	orElse(&o.BlockBytes, defaultBlock)
	orElse(&o.ReadAhead, defaultReadAhead)
	orElse(&o.Recheck, defaultRecheck)
	o.ReadAhead = max(o.ReadAhead, 0)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orElse[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Gateway is the endpoint with its cache. It is safe for concurrent use.
type Gateway struct {
	cache    *cache
	metrics  *metrics
	now      func() time.Time
	endpoint string
	server   *http.Server
	serving  chan struct{} // closed when the listener has stopped

	mu     sync.RWMutex
	closed bool
	grants map[string]*Grant // by access key

	requests sync.WaitGroup
}

// New listens on a free port of 127.0.0.1 and serves until Close. It returns ErrCacheDir, or an
// error if it cannot listen.
func New(opts Options) (*Gateway, error) {
	opts = opts.withDefaults()
	metrics := newMetrics(opts.Registerer)
	cache, err := newCache(opts, metrics)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on loopback: %w", err), cache.close())
	}
	g := &Gateway{
		cache:    cache,
		metrics:  metrics,
		now:      opts.Now,
		endpoint: listener.Addr().String(),
		serving:  make(chan struct{}),
		grants:   map[string]*Grant{},
	}
	g.server = &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 10 * time.Second,
		// This is longer than sessions stay open between statements, so that the first request of
		// the next statement does not meet a closed connection.
		IdleTimeout:    time.Hour,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(g.serving)
		_ = g.server.Serve(listener) // always an error: Close ends it
	}()
	return g, nil
}

// Forget drops everything cached, in memory and on disk, of the objects for whose
// [Location.Identity] and name match is true. Reads of them that are under way are not cached.
func (g *Gateway) Forget(match func(identity, name string) bool) { g.cache.forget(match) }

// Expire drops the blocks of objects that their store was not asked about for [maxUnconfirmed].
func (g *Gateway) Expire() { g.cache.expire() }

// Endpoint returns host:port. The connection does not use TLS.
func (g *Gateway) Endpoint() string { return g.endpoint }

// Close revokes every key, aborts running requests and waits for them and for the cache. It is
// idempotent.
func (g *Gateway) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		<-g.serving
		return nil
	}
	g.closed = true
	var grants []*Grant
	for _, grant := range g.grants {
		grants = append(grants, grant)
	}
	g.mu.Unlock()
	for _, grant := range grants {
		grant.Close()
	}
	err := g.server.Close()
	<-g.serving
	g.requests.Wait()
	return errors.Join(err, g.cache.close())
}
