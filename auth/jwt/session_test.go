package jwt_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// sessions holds the ends of live sessions.
type sessions struct {
	live  map[uuid.UUID]time.Time
	org   uuid.UUID // of every session
	err   error
	calls int
}

func (s *sessions) Live(_ context.Context, id uuid.UUID) (auth.LiveSession, error) {
	s.calls++
	return auth.LiveSession{Until: s.live[id], Org: s.org}, s.err
}

// newOwnIssuer replaces the authenticator of a world by one whose only issuer knows the
// sessions of its tokens, and returns the sessions and claims with a live one.
func newOwnIssuer(t *testing.T) (*world, *sessions, object) {
	w := newWorld(t)
	id := uuid.New()
	known := &sessions{live: map[uuid.UUID]time.Time{id: now.Add(time.Hour)}}
	var err error
	w.Authenticator, err = jwt.New(w.members, []jwt.Issuer{{
		URL: home, Algorithms: []string{jwt.RS256}, Keys: keySet(t, jose.JSONWebKey{KeyID: "rsa", Key: w.rsa.Public()}),
		AccessTokensOnly: true, Sessions: known,
	}}, jwt.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	return w, known, with(w.claims(), "sid", id.String())
}

func TestTokenNamesItsSession(t *testing.T) {
	w, _, claims := newOwnIssuer(t)
	p, err := w.Authenticate(t.Context(), sign(w.header(), claims, w.rsa))
	require.NoError(t, err)
	require.Equal(t, claims["sid"], p.SessionID.String())
	require.Equal(t, auth.RoleEditor, p.Role)
}

func TestTokenOfASessionForOneOrganisation(t *testing.T) {
	w, known, claims := newOwnIssuer(t)
	token := sign(w.header(), claims, w.rsa)
	p, err := w.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.False(t, p.Confined)
	known.org = w.org
	p, err = w.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.True(t, p.Confined)
	known.org = w.otherOrg
	_, err = w.Authenticate(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
}

func TestTokenOfAnEndedSessionIsRefused(t *testing.T) {
	w, known, claims := newOwnIssuer(t)
	token := sign(w.header(), claims, w.rsa)
	id := uuid.MustParse(claims["sid"].(string))
	for name, until := range map[string]time.Time{"revoked": {}, "ends now": now, "ended": now.Add(-time.Second)} {
		known.live[id] = until
		_, err := w.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrRevoked, name)
	}
	known.live[id] = now.Add(time.Nanosecond)
	_, err := w.Authenticate(t.Context(), token)
	require.NoError(t, err)
	known.err = errors.New("no database")
	_, err = w.Authenticate(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnavailable)
	require.NotErrorIs(t, err, auth.ErrUnauthenticated)
}

func TestOwnTokensHaveASessionAndTheirType(t *testing.T) {
	w, known, claims := newOwnIssuer(t)
	sid := func(value any) string { return sign(w.header(), with(maps.Clone(claims), "sid", value), w.rsa) }
	for name, token := range map[string]string{
		"sid missing":       sid(nil),
		"sid empty":         sid(""),
		"sid nil":           sid(uuid.Nil.String()),
		"sid not canonical": sid("{" + claims["sid"].(string) + "}"),
		"sid a number":      sid(1),
		"an ID token":       sign(with(w.header(), "typ", "JWT"), claims, w.rsa),
		"a wrong signature": sign(w.header(), claims, w.stranger),
	} {
		_, err := w.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrUnauthenticated, name)
	}
	require.Zero(t, known.calls, "a wrong token costs no look-up")
	_, err := w.Authenticate(t.Context(), sid(uuid.NewString()))
	require.ErrorIs(t, err, auth.ErrRevoked, "an unknown session")
	for _, typ := range []string{"AT+JWT", "application/at+jwt"} {
		_, err := w.Authenticate(t.Context(), sign(with(w.header(), "typ", typ), claims, w.rsa))
		require.NoError(t, err)
	}
}
