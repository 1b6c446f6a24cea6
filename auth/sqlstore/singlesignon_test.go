package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
)

func TestProvidersEndTheirSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		org, other := uuid.New(), uuid.New()
		begin := func(org uuid.UUID, issuer, subject, provider string) uuid.UUID {
			return w.session(t, func(s *session.Session) {
				s.Org, s.Method, s.Issuer, s.Subject, s.ProviderSession = org, session.MethodSSO, issuer, subject, provider
			}).ID
		}
		live := func(id uuid.UUID) bool { return w.live(t, id) }
		const issuer = "https://id.example"
		first, second, unknown := begin(org, issuer, "ada", "1"), begin(org, issuer, "ada", "2"), begin(org, issuer, "ada", "")
		bob, elsewhere, foreign := begin(org, issuer, "bob", "1"), begin(other, issuer, "ada", "1"), begin(org, issuer+"/", "ada", "1")
		ended, err := w.RevokeProvider(t.Context(), org, issuer, "ada", "1")
		require.NoError(t, err)
		require.Equal(t, int64(2), ended)
		require.False(t, live(first))
		require.False(t, live(unknown), "it may be the one that ended")
		for _, id := range []uuid.UUID{second, bob, elsewhere, foreign} {
			require.True(t, live(id))
		}
		ended, err = w.RevokeProvider(t.Context(), org, issuer, "", "1")
		require.NoError(t, err)
		require.Equal(t, int64(1), ended)
		require.False(t, live(bob))
		ended, err = w.RevokeProvider(t.Context(), org, issuer, "ada", "")
		require.NoError(t, err)
		require.Equal(t, int64(1), ended)
		require.False(t, live(second))
		require.True(t, live(elsewhere))
	})
}

// TestSessionsEndWithTheirSingleSignOn checks the changes of a configuration that end
// sessions.
func TestSessionsEndWithTheirSingleSignOn(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		governed, err := catalogstore.Open(t.Context(), w.url, catalogstore.Options{Now: w.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, governed.Close()) }()
		person := func(email string) uuid.UUID {
			u, err := governed.CreateUser(t.Context(), catalog.NewUser{Email: email})
			require.NoError(t, err)
			return uuid.MustParse(string(u.ID))
		}
		organisation := func() catalog.OrgID {
			org, err := governed.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "ours", Owner: catalog.UserID(w.user.String())})
			require.NoError(t, err)
			return org.ID
		}
		org, other, a, b := organisation(), organisation(), person("x@a.example"), person("x@b.a.example")
		begin := func(org catalog.OrgID, user uuid.UUID, method session.Method) uuid.UUID {
			return w.session(t, func(s *session.Session) { s.Org, s.User, s.Method = uuid.MustParse(string(org)), user, method }).ID
		}
		bystanders := []uuid.UUID{begin(other, w.user, session.MethodSSO), begin(org, a, session.MethodClient)}
		n := catalog.NewSSOConfig{Issuer: "https://id.example", ClientID: "c", SealedSecret: []byte("sealed"),
			DefaultRole: catalog.RoleViewer, MaxRole: catalog.RoleViewer, Domains: []string{"a.example", "b.a.example", "c.example"}}
		put := func(change func()) func() {
			return func() {
				change()
				_, err := governed.PutSSOConfig(t.Context(), org, n)
				require.NoError(t, err)
			}
		}
		verify := func(domain string) {
			_, err := governed.VerifyEmailDomain(t.Context(), org, domain, catalog.DomainByDNS)
			require.NoError(t, err)
		}
		put(func() {})()
		verify("a.example")
		verify("b.a.example")
		lose := func() {
			for range 2 {
				_, err := governed.RecordDomainCheck(t.Context(), org, "b.a.example", false, 0)
				require.NoError(t, err)
			}
		}
		restore := func() {
			require.NoError(t, governed.DeleteOrganisation(t.Context(), org, catalog.AnyVersion))
			_, err := governed.UndeleteOrganisation(t.Context(), org, catalog.UserID(w.user.String()), time.Time{})
			require.NoError(t, err)
		}
		for _, step := range []struct {
			name   string
			change func()
			a, b   bool // whether the sessions of the two people go on
		}{
			{"nothing", put(func() {}), true, true},
			{"deleted and restored", restore, false, false},
			{"a role", put(func() { n.MaxRole = catalog.RoleAdmin }), true, true},
			{"an unverified domain is gone", put(func() { n.Domains = n.Domains[:2] }), true, true},
			{"a verified domain is gone", put(func() { n.Domains = []string{"b.a.example"} }), false, true},
			{"a record is gone", lose, true, false},
			{"another client", put(func() { n.ClientID = "another" }), false, false},
			{"another issuer", put(func() { n.Issuer = "https://id2.example" }), false, false},
			{"all is gone", func() { require.NoError(t, governed.DeleteSSOConfig(t.Context(), org)) }, false, false},
		} {
			ofA, ofB := begin(org, a, session.MethodSSO), begin(org, b, session.MethodSSO)
			before := w.epoch(t)
			step.change()
			require.Equal(t, [2]bool{step.a, step.b}, [2]bool{w.live(t, ofA), w.live(t, ofB)}, step.name)
			require.Greater(t, w.epoch(t), before)
			require.NoError(t, w.RevokeUser(t.Context(), a, bystanders[1]))
			require.NoError(t, w.RevokeUser(t.Context(), b, uuid.Nil))
		}
		require.True(t, w.live(t, bystanders[0]), "of another organisation")
		require.True(t, w.live(t, bystanders[1]), "of a client")
	})
}

func TestNamesAreUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		use := func(w world, purpose, name string) error { return w.UseOnce(t.Context(), purpose, name, time.Minute) }
		requireUsed := func(w world, want bool) {
			t.Helper()
			used, err := w.Used(t.Context(), "a", "x")
			require.NoError(t, err)
			require.Equal(t, want, used)
		}
		requireUsed(w, false)
		require.NoError(t, use(w, "a", "x"))
		requireUsed(w.another(t), true)
		require.ErrorIs(t, use(w.another(t), "a", "x"), session.ErrReused, "on every replica")
		require.NoError(t, use(w, "a", "y"))
		require.NoError(t, use(w, "b", "x"))
		w.advance(time.Minute)
		requireUsed(w, false)
		require.NoError(t, use(w, "a", "x"), "forgotten")
	})
}
