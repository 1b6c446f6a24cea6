package apikey

import (
	"context"
	"errors"
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
	Hash        []byte     // SHA-256 of the key
	Scopes      []string   // granular scopes, as stored at creation
	WorkspaceID *uuid.UUID // the workspace the key reaches besides the default one
	// AllWorkspaces reports that the key reaches every workspace of its user.
	AllWorkspaces bool
	ExpiresAt     time.Time
	Revoked       bool
	LastUsedAt    time.Time // zero when never used
}

// Owner is the catalog's current record of a key's user.
type Owner struct {
	Email string
	Role  auth.Role // in the organisation; "" for a former member
}

// Store is what the Authenticator needs of the catalog. Implementations are
// safe for concurrent use.
type Store interface {
	// KeyByPrefix returns the key with that visible prefix, also a revoked or
	// expired one. The bool is false when there is none.
	KeyByPrefix(ctx context.Context, prefix string) (Record, bool, error)
	// Owner returns the member of an organisation, or the zero Owner when the
	// user is none. It is asked about keys whose secret was right only.
	Owner(ctx context.Context, org, user uuid.UUID) (Owner, error)
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
	used  *usage
	// Accepted and refused keys have separate caches, so that a flood of wrong keys
	// cannot evict valid ones.
	accepted *cache[holder]
	refused  *cache[*auth.Refusal]
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
		used:  newUsage(store, opts.Logger),

		accepted: newCache[holder](opts.CacheTTL),
		refused:  newCache[*auth.Refusal](opts.CacheTTL),
	}
}

// Close stops recording uses after those already seen are written. Keys are
// still verified afterwards.
func (a *Authenticator) Close() { a.used.close() }

// Authenticate implements [auth.Authenticator]. A refusal is an [*auth.Refusal].
//
// A wrong key is cheap to refuse, because every key is verified before a caller is
// turned away. A malformed key needs no call of the store. Any other wrong key needs
// the epoch and a look-up by prefix, and the same key again within one epoch needs the
// epoch only.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (auth.Principal, error) {
	key, err := Parse(bearer)
	if err != nil {
		return auth.Principal{}, &auth.Refusal{Prefix: claimedPrefix(bearer), Cause: err}
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
	known, cached := a.accepted.get(hash, epoch, now)
	if !cached {
		if refusal, ok := a.refused.get(hash, epoch, now); ok {
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
			a.refused.put(hash, epoch, now, refusal)
		}
		return auth.Principal{}, refusal
	case err != nil:
		return auth.Principal{}, err
	case !cached && a.epoch != nil:
		a.accepted.put(hash, epoch, now, known)
	}
	a.used.note(known.ID, known.LastUsedAt, now)
	return principal(known), nil
}

// holder is a verified key with its owner.
type holder struct {
	Record
	Owner
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
	return holder{record, owner}, nil
}

// refuse wraps cause in a refusal of an existing key. It returns nil for a nil cause.
func refuse(key Key, r Record, cause error) error {
	if cause == nil {
		return nil
	}
	return &auth.Refusal{Prefix: key.Prefix(), Account: r.UserID.String(), Cause: cause}
}

// check refuses a key whose secret was right but which is not valid now.
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

func principal(k holder) auth.Principal {
	id := k.ID
	p := auth.Principal{
		OrgID:  k.OrgID,
		UserID: k.UserID,
		KeyID:  &id,

		KeyExpiresAt:  k.ExpiresAt,
		AllWorkspaces: k.AllWorkspaces,

		Email:   k.Email,
		Role:    k.Role,
		Granted: auth.StoredScopes(k.Scopes),
		Method:  auth.MethodAPIKey,
	}
	p.Scopes = p.Granted.Intersect(k.Role.Scopes())
	if k.WorkspaceID != nil {
		workspace := *k.WorkspaceID
		p.WorkspaceID = &workspace
	}
	return p
}
