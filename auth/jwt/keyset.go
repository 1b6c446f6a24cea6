package jwt

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/lakewarden/lakewarden/auth"
)

// The intervals of key set updates.
const (
	// refreshEvery is the interval after which a key set is read again even if all
	// requested keys are known, so that keys withdrawn by the issuer stop working.
	refreshEvery = 5 * time.Minute
	// retryAfter is the shortest time between two reads, so that tokens with made-up
	// key ids cannot cause many requests to the issuer.
	retryAfter = 15 * time.Second
	// keepStale is how long known keys are used while the issuer is unreachable.
	keepStale = time.Hour
)

// Loader reads a JSON Web Key Set document.
type Loader func(ctx context.Context) ([]byte, error)

// KeySet is a cached JSON Web Key Set. It reads the document on first use, then every
// few minutes, and when a token names an unknown key.
//
// Invariants: at most one read at a time and one per retryAfter. Only public signature
// keys with a key id are stored. The set is replaced as a whole, and only by a document
// that parsed. It is safe for concurrent use.
type KeySet struct {
	load Loader
	now  func() time.Time
	turn chan struct{} // held by the one caller that reads

	mu        sync.Mutex
	keys      map[string]jose.JSONWebKey
	loaded    time.Time // time of the last successful read, or zero
	attempted time.Time
	lastErr   error
}

var _ KeySource = (*KeySet)(nil)

// NewKeySet returns a key set that reads with load. now is the clock; nil means
// [time.Now].
func NewKeySet(load Loader, now func() time.Time) *KeySet {
	if now == nil {
		now = time.Now
	}
	return &KeySet{load: load, now: now, turn: make(chan struct{}, 1)}
}

// Key implements [KeySource].
func (s *KeySet) Key(ctx context.Context, kid string) (jose.JSONWebKey, error) {
	if key, err, done := s.lookup(kid); done {
		return key, err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return jose.JSONWebKey{}, fmt.Errorf("%w: read key set: %w", auth.ErrUnavailable, ctx.Err())
	}
	// The previous holder of the turn may have read the key.
	if key, err, done := s.lookup(kid); done {
		return key, err
	}
	s.refresh(ctx)
	key, err, done := s.lookup(kid)
	if !done { // the caller's own context ended the read
		return jose.JSONWebKey{}, fmt.Errorf("%w: read key set: %w", auth.ErrUnavailable, ctx.Err())
	}
	return key, err
}

// lookup returns the key from memory. done is false if the document must be read first.
func (s *KeySet) lookup(kid string) (_ jose.JSONWebKey, _ error, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	key, known := s.keys[kid]
	tried := now.Sub(s.attempted) < retryAfter
	switch age := now.Sub(s.loaded); {
	case known && age < refreshEvery:
		return key, nil, true
	case !tried:
		return key, nil, false
	case s.lastErr != nil && known && age < keepStale:
		return key, nil, true
	case s.lastErr != nil:
		return key, fmt.Errorf("%w: read key set: %w", auth.ErrUnavailable, s.lastErr), true
	}
	if known {
		return key, nil, true
	}
	return key, refuse("unknown key"), true
}

// refresh reads the document once. A read that was ended by the caller's context does
// not count as an attempt, so that one impatient client does not affect others.
func (s *KeySet) refresh(ctx context.Context) {
	document, err := s.load(ctx)
	var keys map[string]jose.JSONWebKey
	if err == nil {
		keys, err = parseKeySet(document)
	}
	if err != nil && ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempted, s.lastErr = s.now(), err
	if err == nil {
		s.keys, s.loaded = keys, s.attempted
	}
}

// parseKeySet returns the public signature keys of a document. Unusable keys are
// omitted. A document that is not a key set is an error.
func parseKeySet(document []byte) (map[string]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil || set.Keys == nil {
		return nil, fmt.Errorf("not a JSON web key set")
	}
	keys := make(map[string]jose.JSONWebKey, len(set.Keys))
	twice := map[string]bool{}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil || key.KeyID == "" || !key.Valid() || !key.IsPublic() {
			continue
		}
		if _, dup := keys[key.KeyID]; dup {
			twice[key.KeyID] = true
		}
		keys[key.KeyID] = key
	}
	for kid := range twice { // it is unknown which of the two was meant
		delete(keys, kid)
	}
	return keys, nil
}
