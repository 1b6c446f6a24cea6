package sso

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/auth/outbound"
)

// The bounds of the cache of providers.
const (
	maxProviders = 1000
	// refreshEvery is the age at which a discovery document is read again.
	refreshEvery = time.Hour
	// keepStale is how long a document is used while the provider does not answer.
	keepStale = 24 * time.Hour
	// retryAfter is the shortest time between two reads.
	retryAfter = 15 * time.Second
)

// Options are the optional parts of [Providers].
type Options struct {
	// AllowInsecure accepts http URLs, for providers in a private network.
	AllowInsecure bool
	// Now is the clock; default [time.Now].
	Now func() time.Time
}

// Providers caches providers by issuer. It is safe for concurrent use.
//
// Invariants: at most maxProviders entries; for each issuer, one read at a time and one per
// retryAfter. A read of one issuer delays no other issuer.
type Providers struct {
	client   *http.Client
	insecure bool
	now      func() time.Time

	mu      sync.Mutex
	entries map[string]*entry
}

// entry is one issuer in the cache. The holder of turn owns the other fields, except used,
// which the mutex of the cache guards.
type entry struct {
	turn     chan struct{}
	provider *Provider
	loaded   time.Time // of provider
	tried    time.Time
	err      error // of the last read
	used     time.Time
}

// New returns an empty cache. The client decides which addresses may be reached. A copy of it
// is used, with the bounds of package outbound.
func New(client *http.Client, opts Options) *Providers {
	p := &Providers{client: outbound.Client(client), insecure: opts.AllowInsecure, now: opts.Now, entries: map[string]*entry{}}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// Check reads the discovery document and the keys of an issuer, past the cache. Errors match
// [ErrIssuer], or are that of ctx.
func (p *Providers) Check(ctx context.Context, issuer string) error {
	found, err := p.discover(ctx, issuer)
	if err != nil {
		return err
	}
	return found.loadKeys(ctx)
}

// Provider returns the provider of an issuer. Errors match [ErrUnavailable], or are that of
// ctx: the issuer was acceptable when it was configured.
func (p *Providers) Provider(ctx context.Context, issuer string) (*Provider, error) {
	e := p.entry(issuer)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := p.now()
	if e.provider != nil && now.Sub(e.loaded) < refreshEvery {
		return e.provider, nil
	}
	if now.Sub(e.tried) >= retryAfter {
		found, err := p.discover(ctx, issuer)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.tried, e.err = now, err
		if err == nil {
			if e.provider != nil && e.provider.metadata.Keys == found.metadata.Keys {
				found.keys = e.provider.keys
			}
			e.provider, e.loaded = found, now
		}
	}
	if e.provider != nil && now.Sub(e.loaded) < keepStale {
		return e.provider, nil
	}
	var cause *IssuerError
	if errors.As(e.err, &cause) { // not to be mistaken for an error of a configuration
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, cause.Reason)
	}
	return nil, ErrUnavailable
}

// entry returns the entry of an issuer. A new one replaces the one that was unused longest,
// if the cache is full.
func (p *Providers) entry(issuer string) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[issuer]
	if e == nil {
		if len(p.entries) >= maxProviders {
			p.evict()
		}
		e = &entry{turn: make(chan struct{}, 1)}
		p.entries[issuer] = e
	}
	e.used = p.now()
	return e
}

func (p *Providers) evict() {
	var oldest string
	for issuer, e := range p.entries {
		if o := p.entries[oldest]; o == nil || e.used.Before(o.used) {
			oldest = issuer
		}
	}
	delete(p.entries, oldest)
}
