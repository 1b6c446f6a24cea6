package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
)

func TestSessionsAreStoredAndRevoked(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		before := w.epoch(t)
		s := w.session(t, func(s *session.Session) {
			s.Org, s.Client, s.Method = uuid.New(), "app", session.MethodSSO
			s.Issuer, s.Subject, s.ProviderSession = "https://idp.example", "ada", "sid-1"
		})
		require.Equal(t, before, w.epoch(t), "a new session takes no right from anybody")
		found, err := w.Session(t.Context(), s.ID)
		require.NoError(t, err)
		require.Equal(t, s, found)
		require.True(t, found.Live(w.now()))
		require.False(t, found.Live(s.ExpiresAt))

		require.NoError(t, w.RevokeSession(t.Context(), s.ID))
		require.False(t, w.live(t, s.ID))
		require.Greater(t, w.epoch(t), before)
		ended := w.epoch(t)
		require.NoError(t, w.RevokeSession(t.Context(), s.ID), "idempotent")
		require.NoError(t, w.RevokeSession(t.Context(), uuid.New()))
		require.Equal(t, ended, w.epoch(t), "nothing changed")

		_, err = w.Session(t.Context(), uuid.New())
		require.ErrorIs(t, err, session.ErrNotFound)
		_, err = w.CreateSession(t.Context(), session.Session{User: uuid.New(), Method: session.MethodPassword, ExpiresAt: w.now()})
		require.Error(t, err, "no such user")
	})
}

func TestRevocationOfAUser(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		one, two, kept := w.session(t, nil), w.session(t, nil), w.session(t, nil)
		grace := w.addUser(t, "grace@example.com")
		others := w.session(t, func(s *session.Session) { s.User = grace })
		require.NoError(t, w.RevokeUser(t.Context(), w.user, kept.ID))
		require.Equal(t, []bool{false, false, true, true},
			[]bool{w.live(t, one.ID), w.live(t, two.ID), w.live(t, kept.ID), w.live(t, others.ID)})
		require.NoError(t, w.RevokeUser(t.Context(), w.user, uuid.Nil))
		require.False(t, w.live(t, kept.ID))
		require.True(t, w.live(t, others.ID))
	})
}

func TestRevocationByTheProvider(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		org := uuid.New()
		const issuer = "https://idp.example"
		of := func(org uuid.UUID, issuer, subject, sid string) uuid.UUID {
			return w.session(t, func(s *session.Session) {
				s.Org, s.Method, s.Issuer, s.Subject, s.ProviderSession = org, session.MethodSSO, issuer, subject, sid
			}).ID
		}
		first, second := of(org, issuer, "ada", "1"), of(org, issuer, "ada", "2")
		elsewhere, foreign, bob := of(uuid.New(), issuer, "ada", "1"), of(org, "https://other.example", "ada", "1"), of(org, issuer, "bob", "3")
		password := w.session(t, nil).ID

		n, err := w.RevokeProvider(t.Context(), org, issuer, "bob", "1")
		require.NoError(t, err)
		require.Zero(t, n, "session and subject must agree")
		n, err = w.RevokeProvider(t.Context(), org, issuer, "", "1")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.False(t, w.live(t, first))
		require.True(t, w.live(t, second))
		n, err = w.RevokeProvider(t.Context(), org, issuer, "ada", "")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.False(t, w.live(t, second))
		for _, id := range []uuid.UUID{elsewhere, foreign, bob, password} {
			require.True(t, w.live(t, id))
		}
		n, err = w.RevokeProvider(t.Context(), org, "", "", "")
		require.NoError(t, err)
		require.Zero(t, n, "sessions without a provider are no provider's")
	})
}

func TestOneTimeTokens(t *testing.T) {
	type data struct{ Name string }
	onBoth(t, func(t *testing.T, w world) {
		token, err := w.CreateToken(t.Context(), "reset", "ada", data{"Ada"}, time.Hour)
		require.NoError(t, err)
		var got data
		require.NoError(t, w.ReadToken(t.Context(), "reset", token, &got))
		require.Equal(t, data{"Ada"}, got)
		require.ErrorIs(t, w.ReadToken(t.Context(), "invite", token, &got), session.ErrNotFound, "another purpose")
		require.ErrorIs(t, w.TakeToken(t.Context(), "invite", token, &got), session.ErrNotFound)
		require.ErrorIs(t, w.TakeToken(t.Context(), "reset", token+"A", &got), session.ErrNotFound)

		won := 0
		for _, err := range together(4, func(int) error { return w.TakeToken(t.Context(), "reset", token, &data{}) }) {
			if err == nil {
				won++
				continue
			}
			require.ErrorIs(t, err, session.ErrNotFound)
		}
		require.Equal(t, 1, won)

		late, err := w.CreateToken(t.Context(), "reset", "ada", data{}, time.Hour)
		require.NoError(t, err)
		w.advance(time.Hour)
		require.ErrorIs(t, w.TakeToken(t.Context(), "reset", late, &got), session.ErrNotFound, "expired")

		withdrawn, err := w.CreateToken(t.Context(), "reset", "ada", data{}, time.Hour)
		require.NoError(t, err)
		stays, err := w.CreateToken(t.Context(), "reset", "bob", data{}, time.Hour)
		require.NoError(t, err)
		require.NoError(t, w.WithdrawTokens(t.Context(), "reset", "ada"))
		require.ErrorIs(t, w.ReadToken(t.Context(), "reset", withdrawn, &got), session.ErrNotFound)
		require.NoError(t, w.ReadToken(t.Context(), "reset", stays, &got))
	})
}

func TestBrowsers(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		s := w.session(t, nil)
		cookie, err := w.CreateBrowser(t.Context(), s.ID)
		require.NoError(t, err)
		found, err := w.Browser(t.Context(), cookie)
		require.NoError(t, err)
		require.Equal(t, s, found)
		_, err = w.Browser(t.Context(), "x"+cookie)
		require.ErrorIs(t, err, session.ErrNotFound)
		_, err = w.CreateBrowser(t.Context(), uuid.New())
		require.ErrorIs(t, err, session.ErrNotFound)

		require.NoError(t, w.DeleteBrowser(t.Context(), cookie))
		require.NoError(t, w.DeleteBrowser(t.Context(), cookie), "idempotent")
		_, err = w.Browser(t.Context(), cookie)
		require.ErrorIs(t, err, session.ErrNotFound)
		require.True(t, w.live(t, s.ID), "the session goes on elsewhere")

		again, err := w.CreateBrowser(t.Context(), s.ID)
		require.NoError(t, err)
		require.NoError(t, w.RevokeSession(t.Context(), s.ID))
		_, err = w.Browser(t.Context(), again)
		require.ErrorIs(t, err, session.ErrNotFound, "revoked")
		expiring := w.session(t, nil)
		last, err := w.CreateBrowser(t.Context(), expiring.ID)
		require.NoError(t, err)
		w.advance(time.Hour)
		_, err = w.Browser(t.Context(), last)
		require.ErrorIs(t, err, session.ErrNotFound, "expired")
	})
}

func TestExpiredRecordsAreRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		old := w.session(t, nil)
		_, err := w.CreateBrowser(t.Context(), old.ID)
		require.NoError(t, err)
		require.NoError(t, w.CreateGrant(t.Context(), session.Hash("a"), w.grant(old, session.GrantRefresh)))
		w.advance(time.Hour)
		young := w.session(t, nil)
		require.NoError(t, w.Expire(t.Context()))
		_, err = w.Session(t.Context(), old.ID)
		require.ErrorIs(t, err, session.ErrNotFound)
		require.True(t, w.live(t, young.ID))
	})
}
