package identity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
)

func TestBackchannelLogout(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	live := func(s session.Session) bool {
		t.Helper()
		found, err := w.signIns.Session(t.Context(), s.ID)
		require.NoError(t, err)
		return found.Live(w.clock())
	}
	logout := func(changes map[string]any) error {
		return w.logout.Backchannel(t.Context(), w.provider.LogoutToken(changes), identity.Origin{})
	}
	first, err := w.signIn()
	require.NoError(t, err)
	w.provider.Claims["sid"] = "session-2"
	second, err := w.signIn()
	require.NoError(t, err)
	epoch, err := w.store.Epoch(w.system())
	require.NoError(t, err)
	require.NoError(t, logout(map[string]any{"sid": "session-1"}))
	require.False(t, live(first))
	require.True(t, live(second), "another session of the person")
	after, err := w.store.Epoch(w.system())
	require.NoError(t, err)
	require.Greater(t, after, epoch, "every replica learns of it")
	require.NoError(t, logout(map[string]any{"sid": "unknown", "sub": nil}), "nothing to end")
	require.NoError(t, logout(nil))
	require.False(t, live(second))

	w.provider.Claims["sid"] = nil
	third, err := w.signIn()
	require.NoError(t, err)
	require.NoError(t, logout(map[string]any{"sid": "session-3"}))
	require.False(t, live(third), "it may be the one")

	fourth, err := w.signIn()
	require.NoError(t, err)
	for name, changes := range map[string]map[string]any{
		"another issuer": {"iss": "https://evil.example"}, "another client": {"aud": "another"}, "no audience": {"aud": nil},
		"an ID token": {"nonce": "n"}, "old": {"iat": w.clock().Add(-time.Hour).Unix()},
	} {
		require.ErrorIs(t, logout(changes), sso.ErrLogoutToken, name)
	}
	for _, text := range []string{"", "x", "a.b.c", strings.Repeat("x", 100_000), "e30.e30.e30"} {
		require.ErrorIs(t, w.logout.Backchannel(t.Context(), text, identity.Origin{}), sso.ErrLogoutToken)
	}
	require.True(t, live(fourth))
	token := w.provider.LogoutToken(nil)
	require.NoError(t, w.logout.Backchannel(t.Context(), token, identity.Origin{}))
	require.False(t, live(fourth))
	fifth, err := w.signIn()
	require.NoError(t, err)
	require.ErrorIs(t, w.logout.Backchannel(t.Context(), token, identity.Origin{}), sso.ErrLogoutToken, "replayed")
	require.True(t, live(fifth))
}

func TestSignOut(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	p := auth.Principal{OrgID: s.Org, UserID: s.User, Role: auth.RoleViewer, Method: auth.MethodJWT, SessionID: s.ID}
	address, err := w.logout.SignOut(auth.WithPrincipal(t.Context(), p))
	require.NoError(t, err)
	require.Equal(t, w.provider.Issuer()+"/logout?client_id=lakewarden-test&post_logout_redirect_uri=https%3A%2F%2Flake.example%2Fsigned-out",
		address)
	found, err := w.signIns.Session(t.Context(), s.ID)
	require.NoError(t, err)
	require.False(t, found.Live(w.clock()))
	p.SessionID = uuid.Nil
	address, err = w.logout.SignOut(auth.WithPrincipal(t.Context(), p))
	require.NoError(t, err)
	require.Empty(t, address, "a token without a session")
}

// unavailable is a store of sessions that cannot end any.
type unavailable struct{ session.Sessions }

func (unavailable) RevokeProvider(context.Context, uuid.UUID, string, string, string) (int64, error) {
	return 0, catalog.ErrUnavailable
}

func TestBackchannelLogoutCanBeRepeatedAfterAFailure(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	token := w.provider.LogoutToken(nil)
	logout := w.logout
	logout.SSO.Sessions = unavailable{w.signIns}
	require.ErrorIs(t, logout.Backchannel(t.Context(), token, identity.Origin{}), catalog.ErrUnavailable)
	require.NoError(t, w.logout.Backchannel(t.Context(), token, identity.Origin{}))
	found, err := w.signIns.Session(t.Context(), s.ID)
	require.NoError(t, err)
	require.False(t, found.Live(w.clock()))
}
