package jwt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// cached is a world with an own issuer whose authenticator caches.
type cached struct {
	*world
	sessions *sessions
	session  uuid.UUID
	keys     keys
	epoch    uint64
	unknown  error // of the epoch
	now      time.Time
	token    string
}

// keys is a key source that can be changed.
type keys map[string]any

func (k keys) Key(_ context.Context, kid string) (jose.JSONWebKey, error) {
	key, ok := k[kid]
	if !ok {
		return jose.JSONWebKey{}, auth.ErrUnauthenticated
	}
	return jose.JSONWebKey{Key: key, KeyID: kid}, nil
}

func newCached(t *testing.T) *cached {
	w := newWorld(t)
	c := &cached{world: w, session: uuid.New(), keys: keys{"rsa": w.rsa.Public()}, epoch: 7, now: now}
	c.sessions = &sessions{live: map[uuid.UUID]time.Time{c.session: now.Add(10 * time.Minute)}}
	var err error
	c.Authenticator, err = jwt.New(w.members, []jwt.Issuer{{
		URL: home, Algorithms: []string{jwt.RS256}, Keys: c.keys, Sessions: c.sessions,
	}}, jwt.Options{Now: func() time.Time { return c.now }, Epoch: func() (uint64, error) { return c.epoch, c.unknown }})
	require.NoError(t, err)
	c.token = sign(w.header(), with(w.claims(), "sid", c.session.String()), w.rsa)
	return c
}

func (c *cached) lookups() int { return c.members.calls + c.sessions.calls }

func TestARepeatedTokenCostsNoLookUp(t *testing.T) {
	c := newCached(t)
	first, err := c.Authenticate(t.Context(), c.token)
	require.NoError(t, err)
	require.Equal(t, 2, c.lookups())
	for range 3 {
		again, err := c.Authenticate(t.Context(), c.token)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	require.Equal(t, 2, c.lookups())

	former := sign(c.header(), with(with(c.claims(), "sid", c.session.String()), "sub", c.bob.String()), c.rsa)
	for range 3 {
		_, err := c.Authenticate(t.Context(), former)
		require.ErrorIs(t, err, auth.ErrNoMember)
	}
	require.Equal(t, 4, c.lookups(), "a refusal is cached, too")
}

// TestChangesApplyToACachedToken checks every reason to refuse a token that was accepted
// before. Those of the catalog come with a new epoch.
func TestChangesApplyToACachedToken(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cached)
		want   error
	}{
		"session revoked": {func(c *cached) { delete(c.sessions.live, c.session); c.epoch++ }, auth.ErrRevoked},
		"session over":    {func(c *cached) { c.now = now.Add(10 * time.Minute) }, auth.ErrRevoked},
		"member removed":  {func(c *cached) { clear(c.members.byID); c.epoch++ }, auth.ErrNoMember},
		"token expired": {func(c *cached) {
			c.sessions.live[c.session] = now.Add(time.Hour)
			c.epoch++
			c.now = now.Add(900 * time.Second)
		}, auth.ErrExpired},
		"key withdrawn": {func(c *cached) { delete(c.keys, "rsa") }, auth.ErrUnauthenticated},
		"key replaced":  {func(c *cached) { c.keys["rsa"] = c.stranger.Public() }, auth.ErrUnauthenticated},
		"epoch unknown": {func(c *cached) { c.unknown = errors.New("not confirmed") }, auth.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCached(t)
			for range 2 {
				_, err := c.Authenticate(t.Context(), c.token)
				require.NoError(t, err)
			}
			test.change(c)
			p, err := c.Authenticate(t.Context(), c.token)
			require.ErrorIs(t, err, test.want)
			require.Zero(t, p)
		})
	}
	t.Run("role", func(t *testing.T) {
		c := newCached(t)
		_, err := c.Authenticate(t.Context(), c.token)
		require.NoError(t, err)
		c.members.byID[[2]uuid.UUID{c.org, c.ada}] = jwt.Member{UserID: c.ada, Role: auth.RoleViewer}
		c.epoch++
		p, err := c.Authenticate(t.Context(), c.token)
		require.NoError(t, err)
		require.Equal(t, auth.RoleViewer, p.Role)
		require.False(t, p.Scopes.Has(auth.ScopeRowsInsert))
	})
	t.Run("accepted again", func(t *testing.T) {
		c := newCached(t)
		until := c.sessions.live[c.session]
		delete(c.sessions.live, c.session)
		_, err := c.Authenticate(t.Context(), c.token)
		require.ErrorIs(t, err, auth.ErrRevoked)
		c.sessions.live[c.session] = until
		c.epoch++
		_, err = c.Authenticate(t.Context(), c.token)
		require.NoError(t, err)
	})
}

// A key that was read again is another value with the same content.
func TestAKeyThatIsReadAgainKeepsTheCache(t *testing.T) {
	c := newCached(t)
	_, err := c.Authenticate(t.Context(), c.token)
	require.NoError(t, err)
	public := c.rsa.PublicKey
	c.keys["rsa"] = &public
	_, err = c.Authenticate(t.Context(), c.token)
	require.NoError(t, err)
	require.Equal(t, 2, c.lookups())
}

// A token is cached by its whole text: one bit of another signature must not find it.
func TestAWrongSignatureDoesNotFindTheCachedToken(t *testing.T) {
	c := newCached(t)
	_, err := c.Authenticate(t.Context(), c.token)
	require.NoError(t, err)
	forged := []byte(c.token)
	forged[len(forged)-20] ^= 1
	_, err = c.Authenticate(t.Context(), string(forged))
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
}
