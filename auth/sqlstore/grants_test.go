package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
)

// grant returns a grant of a session that lives for a minute.
func (w world) grant(s session.Session, kind session.GrantKind) session.Grant {
	return session.Grant{Kind: kind, Session: s.ID, Client: "app", Request: json.RawMessage(`{"a":1}`), ExpiresAt: w.now().Add(time.Minute)}
}

func TestGrants(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		s := w.session(t, nil)
		code, refresh, next := session.Hash("code"), session.Hash("refresh"), session.Hash("next")
		require.NoError(t, w.CreateGrant(t.Context(), code, w.grant(s, session.GrantCode)))
		g, of, err := w.Grant(t.Context(), session.GrantCode, code)
		require.NoError(t, err)
		require.Equal(t, s, of)
		require.Equal(t, "app", g.Client)
		require.JSONEq(t, `{"a":1}`, string(g.Request))

		_, _, err = w.Grant(t.Context(), session.GrantRefresh, code)
		require.ErrorIs(t, err, session.ErrNotFound, "another kind")
		_, _, err = w.Grant(t.Context(), session.GrantCode, next)
		require.ErrorIs(t, err, session.ErrNotFound)
		err = w.CreateGrant(t.Context(), next, session.Grant{Kind: session.GrantCode, Session: uuid.New(), Request: json.RawMessage("{}")})
		require.ErrorIs(t, err, session.ErrNotFound, "no such session")

		other := w.session(t, nil)
		require.Error(t, w.ExchangeGrant(t.Context(), session.GrantCode, code, refresh, w.grant(other, session.GrantRefresh)))
		require.NoError(t, w.ExchangeGrant(t.Context(), session.GrantCode, code, refresh, w.grant(s, session.GrantRefresh)),
			"the failed exchange has left no trace")
		require.NoError(t, w.ExchangeGrant(t.Context(), session.GrantRefresh, refresh, next, w.grant(s, session.GrantRefresh)))
		_, _, err = w.Grant(t.Context(), session.GrantRefresh, next)
		require.NoError(t, err)
		require.True(t, w.live(t, s.ID))

		w.advance(time.Minute)
		_, _, err = w.Grant(t.Context(), session.GrantRefresh, next)
		require.ErrorIs(t, err, session.ErrNotFound, "expired")
		require.ErrorIs(t, w.ExchangeGrant(t.Context(), session.GrantRefresh, next, session.Hash("late"), w.grant(s, session.GrantRefresh)),
			session.ErrNotFound)
		require.True(t, w.live(t, s.ID), "an expired grant is not a reused one")
	})
}

func TestReusedGrantRevokesItsSession(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		for _, reuse := range []struct {
			name string
			call func(hash []byte, s session.Session) error
		}{
			{"read", func(hash []byte, _ session.Session) error {
				_, _, err := w.Grant(t.Context(), session.GrantRefresh, hash)
				return err
			}},
			{"exchange", func(hash []byte, s session.Session) error {
				return w.ExchangeGrant(t.Context(), session.GrantRefresh, hash, session.Hash(uuid.NewString()), w.grant(s, session.GrantRefresh))
			}},
		} {
			s, bystander := w.session(t, nil), w.session(t, nil)
			first, second := session.Hash(reuse.name+"1"), session.Hash(reuse.name+"2")
			require.NoError(t, w.CreateGrant(t.Context(), first, w.grant(s, session.GrantRefresh)))
			require.NoError(t, w.ExchangeGrant(t.Context(), session.GrantRefresh, first, second, w.grant(s, session.GrantRefresh)))
			before := w.epoch(t)
			require.ErrorIs(t, reuse.call(first, s), session.ErrReused)
			require.False(t, w.live(t, s.ID))
			require.Greater(t, w.epoch(t), before, "other replicas must learn of it")
			_, _, err := w.Grant(t.Context(), session.GrantRefresh, second)
			require.ErrorIs(t, err, session.ErrNotFound, "the whole family ends")
			require.True(t, w.live(t, bystander.ID))
		}
	})
}

func TestConcurrentExchangesAreAReuse(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		replicas := []world{w, w.another(t)}
		s := w.session(t, nil)
		require.NoError(t, w.CreateGrant(t.Context(), session.Hash("once"), w.grant(s, session.GrantRefresh)))
		won := 0
		for _, err := range together(4, func(i int) error {
			return replicas[i%2].ExchangeGrant(t.Context(), session.GrantRefresh, session.Hash("once"),
				session.Hash(fmt.Sprint("successor", i)), w.grant(s, session.GrantRefresh))
		}) {
			switch {
			case err == nil:
				won++
			default:
				// The session is gone for those that come after the first loser.
				require.True(t, isOneOf(err, session.ErrReused, session.ErrNotFound), "%v", err)
			}
		}
		require.Equal(t, 1, won)
		require.False(t, w.live(t, s.ID))
	})
}
