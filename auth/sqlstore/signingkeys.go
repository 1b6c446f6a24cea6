package sqlstore

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// The times of signing keys.
const (
	// PublishBefore is how long a new key is published before it signs, so that verifiers
	// that cache the key set know it by then.
	PublishBefore = 10 * time.Minute
	// PublishAfter is how long a key is published after its successor signs. It is longer
	// than the life of an access token and the age of a replica's copy together.
	PublishAfter = 20 * time.Minute
	// RotateEvery is the age at which a key gets a successor.
	RotateEvery = 90 * 24 * time.Hour

	// untilReplaced is the life of a key without a successor.
	untilReplaced = 10 * 365 * 24 * time.Hour
	// copyAge is the age up to which a replica signs with its copy of the keys, and
	// publishes it: a rotation reaches every replica within a second.
	copyAge = 500 * time.Millisecond
	// trustFor is the age up to which a copy verifies tokens. A key that was withdrawn
	// earlier than planned stops verifying after it at the latest.
	trustFor = time.Minute
	// retryUnknown is the shortest time between two reads because of an unknown key id,
	// so that made-up ids cannot cause many reads.
	retryUnknown = time.Second
)

// Sealer encrypts private keys. id is the id of the key that a text belongs to.
type Sealer interface {
	Seal(id string, plain []byte) ([]byte, error)
	Open(id string, sealed []byte) ([]byte, error)
}

// SigningKeys holds the keys that sign access tokens. All replicas on one database use
// the same keys. It is safe for concurrent use and implements jwt.KeySource.
//
// A replica knows a new key after copyAge at the latest, or at once when it meets the
// key's id in a token.
type SigningKeys struct {
	db     *sqldb.DB
	sealer Sealer

	reading sync.Mutex // held by the caller that reads the keys
	mu      sync.Mutex
	keys    []signingKey
	read    time.Time
}

// signingKey is a row of signing_keys. private is nil if the row cannot be opened, and
// openErr says why.
type signingKey struct {
	openErr           error
	public            jose.JSONWebKey
	sealed            []byte
	private           crypto.Signer
	created           time.Time
	signsAt, endsAt   time.Time
	publicText, keyID string
}

// NewSigningKeys returns the keys in the database of a catalog.
func NewSigningKeys(db *sqldb.DB, sealer Sealer) *SigningKeys {
	return &SigningKeys{db: db, sealer: sealer}
}

// Ensure creates a key that signs at once unless one exists that this replica can open.
// Of several replicas that do so at the same time, one creates the key.
func (k *SigningKeys) Ensure(ctx context.Context) error {
	keys, err := k.published(ctx, copyAge)
	if err != nil || newest(keys, k.db.Clock()) != nil {
		return err
	}
	_, err = k.add(ctx, func(keys []signingKey, now time.Time) (signsAt time.Time, wanted bool) {
		return now, newest(keys, now) == nil
	})
	return err
}

// Rotate creates a key, which signs from the returned time on. The other keys stay
// published until the last token that they signed has expired.
func (k *SigningKeys) Rotate(ctx context.Context) (time.Time, error) {
	return k.add(ctx, func(keys []signingKey, now time.Time) (time.Time, bool) {
		if newest(keys, now) == nil {
			return now, true
		}
		return now.Add(PublishBefore), true
	})
}

// RotateOld creates a key if the newest one is older than [RotateEvery]. Of several
// replicas that do so at the same time, one creates the key.
func (k *SigningKeys) RotateOld(ctx context.Context) error {
	_, err := k.add(ctx, func(keys []signingKey, now time.Time) (time.Time, bool) {
		return now.Add(PublishBefore), len(keys) > 0 && now.Sub(keys[0].created) >= RotateEvery
	})
	return err
}

// add creates a key if wanted says so, and ends the life of the others. The transaction
// holds the row of the epoch, so replicas take turns.
func (k *SigningKeys) add(
	ctx context.Context, wanted func(keys []signingKey, now time.Time) (time.Time, bool),
) (signsAt time.Time, err error) {
	err = k.db.Change(ctx, func(tx sqldb.Session) error {
		now := k.db.Clock()
		keys, err := k.list(ctx, tx, now)
		if err != nil {
			return err
		}
		var add bool
		if signsAt, add = wanted(keys, now); !add {
			return sqldb.ErrUnchanged
		}
		n, err := k.generate()
		if err != nil {
			return err
		}
		// If this replica opens none of the keys, others that have another key file may sign
		// with them.
		if newest(keys, now) != nil {
			end := sqldb.Micros(signsAt.Add(PublishAfter))
			if _, err := tx.Exec(ctx, "UPDATE signing_keys SET expires_at = ? WHERE expires_at > ?", end, end); err != nil {
				return err
			}
		}
		return tx.Insert(ctx, "id", `INSERT INTO signing_keys (id, algorithm, public_key, sealed_key, created_at, signs_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, n.keyID, string(jose.ES256), n.publicText, n.sealed, sqldb.Micros(now), sqldb.Micros(signsAt),
			sqldb.Micros(signsAt.Add(untilReplaced)))
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("add a signing key: %w", err)
	}
	k.forget()
	return signsAt, nil
}

// generate returns a new key.
func (k *SigningKeys) generate() (signingKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signingKey{}, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return signingKey{}, err
	}
	n := signingKey{keyID: uuid.NewString()}
	text, err := jose.JSONWebKey{Key: private.Public(), KeyID: n.keyID, Algorithm: string(jose.ES256), Use: "sig"}.MarshalJSON()
	if err != nil {
		return signingKey{}, err
	}
	n.publicText = string(text)
	n.sealed, err = k.sealer.Seal(n.keyID, encoded)
	return n, err
}

// list reads the published keys, newest first.
func (k *SigningKeys) list(ctx context.Context, db sqldb.Session, now time.Time) ([]signingKey, error) {
	return sqldb.List(ctx, db, k.scan, `SELECT id, public_key, sealed_key, created_at, signs_at, expires_at FROM signing_keys
		WHERE expires_at > ? ORDER BY signs_at DESC, id`, sqldb.Micros(now))
}

func (k *SigningKeys) scan(r sqldb.Row) (key signingKey, err error) {
	err = r.Scan(&key.keyID, &key.publicText, &key.sealed, sqldb.Time(&key.created), sqldb.Time(&key.signsAt), sqldb.Time(&key.endsAt))
	if err == nil {
		err = key.public.UnmarshalJSON([]byte(key.publicText))
	}
	if err != nil {
		return key, err
	}
	encoded, err := k.sealer.Open(key.keyID, key.sealed)
	if err != nil {
		key.openErr = err
		return key, nil
	}
	if private, err := x509.ParsePKCS8PrivateKey(encoded); err == nil {
		key.private, _ = private.(crypto.Signer)
	}
	return key, nil
}

// newest returns the newest key that signs now and that this replica can open, or nil.
func newest(keys []signingKey, now time.Time) *signingKey {
	for i, key := range keys { // newest first
		if key.private != nil && !now.Before(key.signsAt) && now.Before(key.endsAt) {
			return &keys[i]
		}
	}
	return nil
}

// published returns the keys of a copy that is not older than age.
func (k *SigningKeys) published(ctx context.Context, age time.Duration) ([]signingKey, error) {
	if keys, fresh := k.copied(age); fresh {
		return keys, nil
	}
	k.reading.Lock()
	defer k.reading.Unlock()
	if keys, fresh := k.copied(age); fresh { // another caller has read them
		return keys, nil
	}
	now := k.db.Clock()
	keys, err := k.list(ctx, k.db.Read(), now)
	if err != nil {
		return nil, fmt.Errorf("%w: read signing keys: %w", auth.ErrUnavailable, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.read = keys, now
	return keys, nil
}

func (k *SigningKeys) copied(age time.Duration) (keys []signingKey, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys, k.keys != nil && k.db.Clock().Sub(k.read) < age
}

func (k *SigningKeys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = nil
}

// Key returns the public key with an id. Errors wrap [auth.ErrUnauthenticated] for an
// unknown key and [auth.ErrUnavailable] if the keys could not be read.
func (k *SigningKeys) Key(ctx context.Context, kid string) (jose.JSONWebKey, error) {
	for _, age := range []time.Duration{trustFor, retryUnknown} {
		keys, err := k.published(ctx, age)
		if err != nil {
			return jose.JSONWebKey{}, err
		}
		for _, key := range keys {
			if key.keyID == kid && k.db.Clock().Before(key.endsAt) {
				return key.public, nil
			}
		}
	}
	return jose.JSONWebKey{}, fmt.Errorf("%w: token: unknown key", auth.ErrUnauthenticated)
}

// PublicKeys returns all published keys, newest first.
func (k *SigningKeys) PublicKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	keys, err := k.published(ctx, copyAge)
	if err != nil {
		return nil, err
	}
	public := make([]jose.JSONWebKey, len(keys))
	for i, key := range keys {
		public[i] = key.public
	}
	return public, nil
}

// errNoKey is returned if the key file opens no signing key.
var errNoKey = errors.New("the key file opens no signing key: restore it, or rotate the signing keys")

// Sign returns a signer with the newest key that signs now.
func (k *SigningKeys) Sign(ctx context.Context, options *jose.SignerOptions) (jose.Signer, error) {
	keys, err := k.published(ctx, copyAge)
	if err != nil {
		return nil, err
	}
	key := newest(keys, k.db.Clock())
	if key == nil {
		err := errNoKey
		for _, closed := range keys {
			err = errors.Join(err, closed.openErr)
		}
		return nil, err
	}
	return jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key.private, KeyID: key.keyID}}, options)
}
