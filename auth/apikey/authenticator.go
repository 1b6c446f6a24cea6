package apikey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/epochcache"
)

// Record is the catalog's current record of a key.
type Record struct {
	ID          uuid.UUID
	OrgID       uuid.UUID
	UserID      uuid.UUID
	Hash        []byte     // SHA-256 of the key
	Scopes      []string   // granular scopes, as stored at creation
	WorkspaceID *uuid.UUID // the workspace reached in addition to the default one
	// AllWorkspaces reports that the key reaches every workspace of its user.
	AllWorkspaces bool
	ExpiresAt     time.Time
	Revoked       bool
	LastUsedAt    time.Time // zero if never used
}

// Owner is the catalog's current record of a key's user.
type Owner struct {
	Email string
	Role  auth.Role // in the organisation; "" for a former member
}

// Store is the part of the catalog that the Authenticator uses. Implementations are
// safe for concurrent use.
type Store interface {
	// KeyByPrefix returns the key with that visible prefix, even if it is revoked or
	// expired. The bool is false if there is none.
	KeyByPrefix(ctx context.Context, prefix string) (Record, bool, error)
	// Owner returns the member of an organisation, or the zero Owner if the user is not
	// a member. It is called only for keys with the right secret.
	Owner(ctx context.Context, org, user uuid.UUID) (Owner, error)
	// TouchKeys records a use of each key. It must not raise the catalog's epoch, which
	// would empty every cache.
	TouchKeys(ctx context.Context, at time.Time, ids []uuid.UUID) error
}

// Options are the optional parts of an [Authenticator]; the zero value works.
type Options struct {
	// Epoch returns a number that changes with every change in the catalog that can
	// affect a result: of a key, a role, a membership. If it returns an error, the
	// epoch could not be confirmed and no key is accepted. It is called for every key and
	// must be fast. Without Epoch nothing is cached.
	Epoch func() (uint64, error)
	// Now is the clock; default [time.Now].
	Now func() time.Time
	// Logger receives failures to record a use; nil discards them.
	Logger *slog.Logger
}

// Authenticator verifies API keys against a [Store]. It is safe for concurrent
// use and owns one goroutine, which [Authenticator.Close] ends.
type Authenticator struct {
	store Store
	epoch func() (uint64, error)
	now   func() time.Time
	used  *usage
	// Accepted and refused keys have separate caches, so that a flood of wrong keys
	// cannot evict valid ones.
	accepted *epochcache.Cache[holder]
	refused  *epochcache.Cache[*auth.Refusal]
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New returns an Authenticator over store.
func New(store Store, opts Options) *Authenticator {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Authenticator{
		store: store,
		epoch: opts.Epoch,
		now:   opts.Now,
		used:  newUsage(store, opts.Logger),

		accepted: epochcache.New[holder](epochcache.Limit),
		refused:  epochcache.New[*auth.Refusal](epochcache.Limit),
	}
}

// Close stops recording uses after it has written the queued ones. Keys are still
// verified afterwards.
func (a *Authenticator) Close() { a.used.close() }

// Authenticate implements [auth.Authenticator]. A refusal is an [*auth.Refusal].
//
// Every key is verified, even of a caller with many refusals, so refusing a wrong key
// must be cheap. A malformed key needs no call of the store. Any other wrong key needs a
// look-up by prefix. The same key again within one epoch, right or wrong, needs no call.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (auth.Principal, error) {
	key, err := Parse(bearer)
	if err != nil {
		return auth.Principal{}, &auth.Refusal{Prefix: claimedPrefix(bearer), Cause: err}
	}
	hash := key.Hash()
	// The epoch is known before the record is read. If a change happens in between, the
	// cached result is assigned to an old epoch and not used.
	var epoch uint64
	if a.epoch != nil {
		if epoch, err = a.epoch(); err != nil {
			return auth.Principal{}, fmt.Errorf("%w: confirm catalog epoch: %w", auth.ErrUnavailable, err)
		}
	}
	now, cacheHash := a.now(), epochcache.Hash(hash)
	known, cached := a.accepted.Get(cacheHash, epoch)
	if !cached {
		if refusal, ok := a.refused.Get(cacheHash, epoch); ok {
			return auth.Principal{}, refusal
		}
		known, err = a.verify(ctx, key, hash)
	}
	if err == nil {
		err = refuse(key, known.Record, check(known, now))
	}
	var refusal *auth.Refusal
	switch {
	case errors.As(err, &refusal):
		if a.epoch != nil {
			a.refused.Put(cacheHash, epoch, refusal)
		}
		return auth.Principal{}, refusal
	case err != nil:
		return auth.Principal{}, err
	case !cached && a.epoch != nil:
		a.accepted.Put(cacheHash, epoch, known)
	}
	a.used.note(known.ID, known.LastUsedAt, now)
	return known.principal, nil
}

// holder is a key whose secret is right, with its owner.
type holder struct {
	Record
	Owner
	principal auth.Principal
}

// verify looks up a key in the catalog. It looks up the owner only if the secret is
// right.
func (a *Authenticator) verify(ctx context.Context, key Key, hash Hash) (holder, error) {
	record, found, err := a.store.KeyByPrefix(ctx, key.Prefix())
	if err != nil {
		return holder{}, fmt.Errorf("%w: look up api key %s: %w", auth.ErrUnavailable, key.Prefix(), err)
	}
	if !found {
		return holder{}, &auth.Refusal{Prefix: key.Prefix(), Cause: auth.ErrUnauthenticated}
	}
	if !hash.Matches(record.Hash) {
		return holder{}, refuse(key, record, auth.ErrUnauthenticated)
	}
	owner, err := a.store.Owner(ctx, record.OrgID, record.UserID)
	if err != nil {
		return holder{}, fmt.Errorf("%w: look up owner of api key %s: %w", auth.ErrUnavailable, key.Prefix(), err)
	}
	return holder{record, owner, principal(record, owner)}, nil
}

// refuse wraps cause in a refusal of an existing key. It returns nil for a nil cause.
func refuse(key Key, r Record, cause error) error {
	if cause == nil {
		return nil
	}
	return &auth.Refusal{Prefix: key.Prefix(), Account: r.UserID.String(), Cause: cause}
}

// check refuses a key with the right secret that is not valid now.
func check(k holder, now time.Time) error {
	switch {
	case k.Revoked:
		return auth.ErrRevoked
	case !now.Before(k.ExpiresAt):
		return auth.ErrExpired
	case !k.Role.Valid():
		return auth.ErrNoMember
	}
	return nil
}

// principal returns the caller that a key stands for while it is valid.
func principal(k Record, owner Owner) auth.Principal {
	p := auth.Principal{
		OrgID:  k.OrgID,
		UserID: k.UserID,
		KeyID:  &k.ID,

		AllWorkspaces: k.AllWorkspaces,

		Email:   owner.Email,
		Role:    owner.Role,
		Granted: auth.StoredScopes(k.Scopes),
		Method:  auth.MethodAPIKey,

		WorkspaceID: k.WorkspaceID,
	}
	p.Scopes = p.Granted.Intersect(owner.Role.Scopes())
	return p
}
