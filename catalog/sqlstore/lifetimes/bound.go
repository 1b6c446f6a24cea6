package lifetimes

import (
	"context"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Kind is the kind of a bound credential.
type Kind string

// The kinds. A client's secret has the id of the client.
const (
	Key          Kind = "api_key"
	Client       Kind = "client"
	ClientSecret Kind = "client_secret"
	Session      Kind = "session"
	Invitation   Kind = "invitation"
)

// Bound holds the keys that a credential is bound to. The zero value is bound to none.
type Bound struct {
	keys []catalog.KeyID
	// ends is the earliest end of the keys, or zero.
	ends time.Time
}

// Cut returns the earlier of a time and the end of the keys.
func (b Bound) Cut(expires time.Time) time.Time {
	if !b.ends.IsZero() && b.ends.Before(expires) {
		return b.ends
	}
	return expires
}

// Check returns [catalog.ErrRevoked] if one of the keys has ended.
func (b Bound) Check(now time.Time) error {
	if !b.ends.IsZero() && !now.Before(b.ends) {
		return catalog.ErrRevoked
	}
	return nil
}

// Free reports whether b has no keys and no end.
func (b Bound) Free() bool { return len(b.keys) == 0 && b.ends.IsZero() }

// And returns what is bound to the keys of both.
func (b Bound) And(other Bound) Bound {
	out := Bound{keys: slices.Concat(b.keys, other.keys), ends: b.ends}
	if b.ends.IsZero() || !other.ends.IsZero() && other.ends.Before(b.ends) {
		out.ends = other.ends
	}
	slices.Sort(out.keys)
	out.keys = slices.Compact(out.keys)
	return out
}

// Covers reports whether b is bound to every key that other is bound to.
func (b Bound) Covers(other Bound) bool {
	return !slices.ContainsFunc(other.keys, func(k catalog.KeyID) bool { return !slices.Contains(b.keys, k) })
}

// Without returns b without one key. The end stays.
func (b Bound) Without(key catalog.KeyID) Bound {
	b.keys = slices.DeleteFunc(slices.Clone(b.keys), func(k catalog.KeyID) bool { return k == key })
	return b
}

// holder is what is read of a key.
type holder struct {
	id, successor catalog.KeyID
	ends          time.Time
	commandLine   bool
}

const selectHolder = `SELECT k.id, k.successor_id, k.expires_at, k.revoked_at, k.command_line FROM api_keys k`

func scanHolder(r sqldb.Row) (h holder, err error) {
	var revoked time.Time
	err = r.Scan(&h.id, &h.successor, sqldb.Time(&h.ends), sqldb.Time(&revoked), &h.commandLine)
	if !revoked.IsZero() && revoked.Before(h.ends) {
		h.ends = revoked
	}
	return h, err
}

// Of returns what a credential is bound to that a maker makes now. It returns
// [catalog.ErrRevoked] if the maker has ended. What a key makes after its rotation belongs to
// the successor.
func Of(ctx context.Context, tx sqldb.Session, now time.Time, maker catalog.Maker) (Bound, error) {
	if maker.Key == "" {
		if maker.Session == "" {
			return Bound{}, nil
		}
		b, err := Find(ctx, tx, Session, maker.Session)
		if err == nil {
			err = b.Check(now)
		}
		return b, err
	}
	k, err := sqldb.One(ctx, tx, scanHolder, selectHolder+" WHERE k.id = ?"+tx.ShareClause(), maker.Key)
	switch {
	case err != nil:
		return Bound{}, err
	case !now.Before(k.ends):
		return Bound{}, catalog.ErrRevoked
	case k.commandLine:
		return Bound{}, nil
	}
	b := Bound{ends: k.ends}
	for k.successor != "" {
		next, err := sqldb.One(ctx, tx, scanHolder, selectHolder+" WHERE k.id = ?"+tx.ShareClause(), k.successor)
		if err != nil {
			return Bound{}, err
		}
		if !now.Before(next.ends) {
			break
		}
		k = next
	}
	found, err := Find(ctx, tx, Key, string(k.id))
	b = b.And(found).And(Bound{keys: []catalog.KeyID{k.id}, ends: k.ends})
	if err == nil {
		err = b.Check(now)
	}
	return b, err
}

// Find returns what a credential is bound to. It locks the keys until the transaction ends, so
// that their revocation finds what the transaction binds to them.
func Find(ctx context.Context, tx sqldb.Session, kind Kind, id string) (Bound, error) {
	keys, err := sqldb.List(ctx, tx, scanHolder, selectHolder+` WHERE k.id IN
		(SELECT b.key_id FROM credential_bindings b WHERE b.kind = ? AND b.id = ?) ORDER BY k.id`+tx.ShareClause(), string(kind), id)
	var b Bound
	for _, k := range keys {
		b = b.And(Bound{keys: []catalog.KeyID{k.id}, ends: k.ends})
	}
	return b, err
}

// FindClient returns what the tokens of a client are bound to: what the client and its secret
// are bound to.
func FindClient(ctx context.Context, tx sqldb.Session, id string) (Bound, error) {
	client, err := Find(ctx, tx, Client, id)
	if err != nil {
		return Bound{}, err
	}
	secret, err := Find(ctx, tx, ClientSecret, id)
	return client.And(secret), err
}

// FindAccount returns what the service account of a user is bound to. A person is bound to
// nothing.
func FindAccount(ctx context.Context, tx sqldb.Session, org catalog.OrgID, user catalog.UserID) (b Bound, err error) {
	clients, err := sqldb.List(ctx, tx, sqldb.Value[string], "SELECT c.id FROM oauth_clients c WHERE c.org_id = ? AND c.user_id = ?",
		org, user)
	for _, id := range clients { // at most one
		if b, err = Find(ctx, tx, Client, id); err != nil {
			return b, err
		}
	}
	return b, err
}

// Bind binds a credential to the keys of b, in addition to those that it is bound to.
func Bind(ctx context.Context, tx sqldb.Session, kind Kind, id string, b Bound) error {
	for _, key := range b.keys {
		if _, err := tx.Exec(ctx, "INSERT INTO credential_bindings (kind, id, key_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			string(kind), id, key); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes the bindings of credentials that were deleted or replaced.
func Forget(ctx context.Context, tx sqldb.Session, id string, kinds ...Kind) error {
	for _, kind := range kinds {
		if _, err := tx.Exec(ctx, "DELETE FROM credential_bindings WHERE kind = ? AND id = ?", string(kind), id); err != nil {
			return err
		}
	}
	return nil
}

// EndsColumn returns the SQL of the earliest end of the keys that a credential is bound to, or
// NULL.
func EndsColumn(kind Kind, id string) string {
	return `(SELECT MIN(CASE WHEN ek.revoked_at < ek.expires_at THEN ek.revoked_at ELSE ek.expires_at END) FROM credential_bindings eb
		JOIN api_keys ek ON ek.id = eb.key_id WHERE eb.kind = '` + string(kind) + "' AND eb.id = " + id + ")"
}
