package sqlstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
)

// TestOldestSessionsEnd checks which sessions end when a user has too many with a client.
func TestOldestSessionsEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		w.Limit(5, 1, 100)
		begin := func(client string) uuid.UUID {
			w.advance(time.Second)
			return w.session(t, func(s *session.Session) { s.Client = client }).ID
		}
		requireStored := func(stored bool, ids ...uuid.UUID) {
			t.Helper()
			for _, id := range ids {
				_, err := w.Session(t.Context(), id)
				if stored {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, session.ErrNotFound)
				}
			}
		}
		other := begin("other")
		oldest, held, browser, second := begin("app"), begin("app"), begin("app"), begin("app")
		grant := w.grant(session.Session{ID: held}, session.GrantRefresh)
		grant.ExpiresAt = w.now().Add(time.Hour)
		require.NoError(t, w.CreateGrant(t.Context(), session.Hash("refresh"), grant))
		_, err := w.CreateBrowser(t.Context(), browser)
		require.NoError(t, err)
		w.advance(time.Minute)
		third, before := begin("app"), w.epoch(t)
		fourth := begin("app")
		require.Greater(t, w.epoch(t), before, "access tokens have ended")
		requireStored(true, held, browser, third, fourth, other)
		requireStored(false, oldest, second) // nobody can refresh them

		require.NoError(t, w.RevokeSession(t.Context(), fourth))
		before = w.epoch(t)
		fifth := begin("app")
		require.Equal(t, before, w.epoch(t), "there is room")
		sixth := begin("app")
		requireStored(true, browser, third, fifth, sixth, other)
		requireStored(false, fourth, held) // the revoked one, and the oldest
	})
}

// TestSessionsEndTogether checks that concurrent sign-ins of several replicas leave no more
// sessions than a user may have. It tries many times, each with another client, because
// only sign-ins whose transactions overlap until the last can leave too many.
func TestSessionsEndTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		replicas := []world{w, w.another(t)}
		for _, r := range replicas {
			r.Limit(3, 1, 100)
		}
		for round := range 50 {
			ids := make([]uuid.UUID, 8)
			for _, err := range together(len(ids), func(i int) error {
				s, err := replicas[i%2].CreateSession(t.Context(), session.Session{User: w.user, Client: strconv.Itoa(round),
					Method: session.MethodPassword, ExpiresAt: w.now().Add(time.Hour)})
				ids[i] = s.ID
				return err
			}) {
				require.NoError(t, err)
			}
			stored := 0
			for _, id := range ids {
				if _, err := w.Session(t.Context(), id); err == nil {
					stored++
				}
			}
			require.LessOrEqual(t, stored, 3)
			require.Positive(t, stored)
		}
	})
}

// TestSessionWithTooManyGrantsEnds checks that used refresh tokens, which are retained to
// be recognised, are bounded.
func TestSessionWithTooManyGrantsEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		w.Limit(100, 1, 3)
		s, bystander := w.session(t, nil), w.session(t, nil)
		hash := func(i int) []byte { return session.Hash(strconv.Itoa(i)) }
		require.NoError(t, w.CreateGrant(t.Context(), hash(0), w.grant(s, session.GrantCode)))
		for i := range 2 {
			require.NoError(t, w.ExchangeGrant(t.Context(), []session.GrantKind{session.GrantCode, session.GrantRefresh}[i], hash(i), hash(i+1),
				w.grant(s, session.GrantRefresh)))
		}
		require.ErrorIs(t, w.ExchangeGrant(t.Context(), session.GrantRefresh, hash(2), hash(3), w.grant(s, session.GrantRefresh)),
			session.ErrNotFound)
		require.False(t, w.live(t, s.ID))
		require.ErrorIs(t, w.CreateGrant(t.Context(), hash(4), w.grant(s, session.GrantCode)), session.ErrNotFound)

		again := w.session(t, nil)
		for i := range 3 {
			require.NoError(t, w.CreateGrant(t.Context(), hash(10+i), w.grant(again, session.GrantCode)))
		}
		require.ErrorIs(t, w.CreateGrant(t.Context(), hash(13), w.grant(again, session.GrantCode)), session.ErrNotFound)
		require.False(t, w.live(t, again.ID))
		require.True(t, w.live(t, bystander.ID))
	})
}
