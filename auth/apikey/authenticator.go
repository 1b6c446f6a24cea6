package apikey

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// Record is what the catalog knows about a key now.
type Record struct {
	ID          uuid.UUID
	OrgID       uuid.UUID
	UserID      uuid.UUID
	Email       string
	Hash        []byte     // SHA-256 of the key
	Scopes      []string   // granular scopes, as stored at creation
	Role        auth.Role  // the owner's organisation role now; "" when no member any more
	WorkspaceID *uuid.UUID // the workspace the key reaches besides the default one
	ExpiresAt   time.Time
	Revoked     bool
	LastUsedAt  time.Time // zero when never used
}

// Store is what the Authenticator needs of the catalog. Implementations are
// safe for concurrent use.
type Store interface {
	// KeyByPrefix returns the key with that visible prefix, also a revoked or
	// expired one. The bool is false when there is none.
	KeyByPrefix(ctx context.Context, prefix string) (Record, bool, error)
	// TouchKey records that the key was used. It must not move the catalog's
	// epoch, or every use would empty every cache.
	TouchKey(ctx context.Context, id uuid.UUID, at time.Time) error
}

// Options are the optional parts of an [Authenticator]; the zero value works.
type Options struct {
	// Epoch returns a number that changes with every change in the catalog that
	// can alter an answer: a key, a role, a membership. An error means it could
	// not be confirmed and no key is accepted meanwhile. Without Epoch nothing
	// is cached.
	Epoch func(context.Context) (uint64, error)
	// CacheTTL bounds the age of a cached answer within one epoch; default 30 s.
	CacheTTL time.Duration
	// Now is the clock; default [time.Now].
	Now func() time.Time
	// Logger gets failures to record a use; default discards.
	Logger *slog.Logger
}

// Authenticator verifies API keys against a [Store]. It is safe for concurrent
// use and owns one goroutine, which [Authenticator.Close] ends.
type Authenticator struct {
	store Store
	epoch func(context.Context) (uint64, error)
	now   func() time.Time
	cache *cache
	used  *usage
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New returns an Authenticator over store.
func New(store Store, opts Options) *Authenticator {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.CacheTTL <= 0 {
		opts.CacheTTL = 30 * time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Authenticator{
		store: store,
		epoch: opts.Epoch,
		now:   opts.Now,
		cache: newCache(opts.CacheTTL),
		used:  newUsage(store, opts.Logger),
	}
}

// Close stops recording uses after those already seen are written. Keys are
// still verified afterwards.
func (a *Authenticator) Close() { a.used.close() }

// Authenticate implements [auth.Authenticator].
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (auth.Principal, error) {
	key, err := Parse(bearer)
	if err != nil {
		return auth.Principal{}, err
	}
	hash := key.Hash()
	// The epoch is read before the record, so that a change between the two
	// makes the cached answer too old rather than too new.
	var epoch uint64
	if a.epoch != nil {
		if epoch, err = a.epoch(ctx); err != nil {
			return auth.Principal{}, fmt.Errorf("%w: confirm catalog epoch: %w", auth.ErrUnavailable, err)
		}
	}
	now := a.now()
	record, cached := a.cache.get(hash, epoch, now)
	if !cached {
		var found bool
		record, found, err = a.store.KeyByPrefix(ctx, key.Prefix())
		if err != nil {
			return auth.Principal{}, fmt.Errorf("%w: look up api key %s: %w", auth.ErrUnavailable, key.Prefix(), err)
		}
		if !found || !hash.Matches(record.Hash) {
			return auth.Principal{}, auth.ErrUnauthenticated
		}
	}
	if err := check(record, now); err != nil {
		return auth.Principal{}, err
	}
	if !cached && a.epoch != nil {
		a.cache.put(hash, epoch, now, record)
	}
	a.used.note(record.ID, record.LastUsedAt, now)
	return principal(record), nil
}

// check refuses a key whose secret was right but which is not valid now.
func check(r Record, now time.Time) error {
	switch {
	case r.Revoked:
		return auth.ErrRevoked
	case !now.Before(r.ExpiresAt):
		return auth.ErrExpired
	case !r.Role.Valid():
		return auth.ErrNoMember
	}
	return nil
}

func principal(r Record) auth.Principal {
	id := r.ID
	p := auth.Principal{
		OrgID:   r.OrgID,
		UserID:  r.UserID,
		KeyID:   &id,
		Email:   r.Email,
		Role:    r.Role,
		Granted: auth.StoredScopes(r.Scopes),
		Method:  auth.MethodAPIKey,
	}
	p.Scopes = p.Granted.Intersect(r.Role.Scopes())
	if r.WorkspaceID != nil {
		workspace := *r.WorkspaceID
		p.WorkspaceID = &workspace
	}
	return p
}
