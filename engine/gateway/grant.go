package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Location is a part of one store that a session may read.
type Location struct {
	// Bucket names the storage configuration in addresses: s3://<Bucket>/…
	Bucket string
	// Identity identifies the configuration's place in the cache: sessions with equal identities
	// share blocks. It changes whenever the configuration points to another place, but not if only
	// its credential changes.
	Identity string
	// Store is the configuration's store.
	Store objstore.Bucket
	// Prefixes are folders of the store, without a slash at either end; an empty prefix is the
	// whole store.
	Prefixes []string
}

// Grant is the key of one session. It is safe for concurrent use.
type Grant struct {
	// Endpoint is host:port; Region is the region that signatures name.
	Endpoint, Region string
	// AccessKey and SecretKey are valid until Close, and for this gateway only.
	AccessKey, SecretKey string
	// Prefixes are the locations that the key opens: s3://bucket/prefix/.
	Prefixes []string

	gateway   *Gateway
	signer    *v4.Signer // caches derived keys, so each grant has its own
	locations map[string]*Location

	mu        sync.Mutex
	closed    bool
	statement *statement
}

// Grant makes a key for the given locations. It returns ErrLocation or ErrClosed.
func (g *Gateway) Grant(locations ...Location) (*Grant, error) {
	grant := &Grant{
		Endpoint:  g.endpoint,
		Region:    Region,
		AccessKey: "LW" + rand.Text(),
		SecretKey: rand.Text() + rand.Text(),
		gateway:   g,
		signer:    newSigner(),
		locations: map[string]*Location{},
	}
	for _, location := range locations {
		if err := grant.add(location); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	g.grants[grant.AccessKey] = grant
	g.metrics.grants.Inc()
	return grant, nil
}

func (g *Grant) add(location Location) error {
	switch {
	case location.Store == nil || location.Identity == "":
		return fmt.Errorf("%w: no store or no identity", ErrLocation)
	case !validBucket(location.Bucket) || g.locations[location.Bucket] != nil:
		return fmt.Errorf("%w: bucket %q", ErrLocation, location.Bucket)
	}
	folders := make([]string, len(location.Prefixes))
	for i, prefix := range location.Prefixes {
		if prefix != "" {
			if err := objstore.ValidName(prefix); err != nil {
				return fmt.Errorf("%w: %w", ErrLocation, err)
			}
			prefix += "/"
		}
		folders[i] = prefix
		g.Prefixes = append(g.Prefixes, "s3://"+location.Bucket+"/"+prefix)
	}
	location.Prefixes = folders
	g.locations[location.Bucket] = &location
	return nil
}

// validBucket reports whether name follows the rules of S3 that matter in addresses.
func validBucket(name string) bool {
	if len(name) < 3 || len(name) > 63 {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// open returns the location of a bucket if the key opens name in it. For a listing, name is its
// prefix, which has to be an opened folder or below one.
func (g *Grant) open(bucket, name string) (*Location, bool) {
	location := g.locations[bucket]
	if location == nil {
		return nil, false
	}
	for _, folder := range location.Prefixes {
		if strings.HasPrefix(name, folder) {
			return location, true
		}
	}
	return nil, false
}

// Close revokes the key: running requests are aborted, later ones refused. It is idempotent.
func (g *Grant) Close() {
	g.gateway.mu.Lock()
	if _, live := g.gateway.grants[g.AccessKey]; live {
		delete(g.gateway.grants, g.AccessKey)
		g.gateway.metrics.grants.Dec()
	}
	g.gateway.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.statement != nil {
		g.statement.cancel()
	}
}

// statement is the owner of requests. A session runs one at a time.
type statement struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	cause error
}

// Begin admits requests for a statement that runs under ctx, until ctx ends, end is called or Begin
// is called again, whichever is first. Without a statement every request is refused. end is
// idempotent.
func (g *Grant) Begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	st := &statement{ctx: ctx, cancel: cancel}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.statement != nil {
		g.statement.cancel()
	}
	g.statement = st
	if g.closed {
		cancel()
	}
	return cancel
}

// Cause returns the first failure of a store during the running or the last statement, or nil: an
// error of objstore or ErrContent, of which the engine itself sees only a 400. Missing objects and
// ended contexts are not failures of a store.
func (g *Grant) Cause() error {
	st := g.current()
	if st == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.cause
}

func (g *Grant) current() *statement {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statement
}

// running returns the statement to which a request can belong, or nil.
func (g *Grant) running() *statement {
	st := g.current()
	if st == nil || st.ctx.Err() != nil {
		return nil
	}
	return st
}

// failed records why a request of the statement failed, if it is the first failure.
func (s *statement) failed(err error) {
	if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrInvalidName) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = err
	}
}
