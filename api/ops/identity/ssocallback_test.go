package identity_test

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestCodesThatAnotherProviderLearnedAreRefused checks that an organisation with a hostile
// provider does not get into another one by a code that its provider had sent to itself.
func TestCodesThatAnotherProviderLearnedAreRefused(t *testing.T) {
	w := newSSOWorld(t)
	silent := func(document map[string]any) { document["authorization_response_iss_parameter_supported"] = false }
	w.provider.Document = silent
	w.setUp()
	hostile := ssotest.New(t)
	hostile.Document = silent
	stolen := make(chan string, 1)
	hostile.Handler = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			stolen <- r.PostFormValue("code")
		}
		return false
	}
	theirs, boss := w.organisation("boss@evil.example")
	as := admin(t.Context(), theirs, boss)
	status, err := w.settings.Put(as, theirs, w.input(func(n *identity.NewSSO) {
		n.Issuer, n.Domains = hostile.Issuer(), []string{"evil.example"}
	}))
	require.NoError(t, err)
	w.records.set(identity.DomainRecord(status.Domains[0]))
	_, err = w.settings.VerifyDomain(as, theirs, "evil.example")
	require.NoError(t, err)

	attack, err := w.sso.Begin(t.Context(), "person@acme.example")
	require.NoError(t, err)
	lured, err := w.sso.Begin(t.Context(), "guest@evil.example")
	require.NoError(t, err)
	// The hostile provider leads the victim on with the attacker's request and the victim's
	// state. The victim is signed in at the other provider, which asks nothing.
	request, err := url.Parse(attack)
	require.NoError(t, err)
	query := request.Query()
	query.Set("state", identity.StateOf(lured))
	request.RawQuery = query.Encode()
	back := w.back(request.String())
	back.Issuer = ""
	_, err = w.sso.Finish(t.Context(), back, from)
	requireRefused(t, "code_refused", err)
	code := <-stolen
	require.Equal(t, back.Code, code)

	state := identity.StateOf(attack)
	_, err = w.sso.Finish(t.Context(), identity.Callback{State: state, Cookie: state, Code: code}, from)
	requireRefused(t, "code_refused", err)
	_, err = w.store.UserByEmail(w.system(), "person@acme.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// duringExchange calls f once, while the provider exchanges a code.
func (w *ssoWorld) duringExchange(f func()) {
	var once sync.Once
	w.provider.Handler = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			once.Do(f)
		}
		return false
	}
}

// TestChangesDuringASignInCount checks that a provider gains nothing by a late reply.
func TestChangesDuringASignInCount(t *testing.T) {
	roles := func(highest catalog.Role) func(*identity.NewSSO) {
		return func(n *identity.NewSSO) { n.MaxRole, n.RoleClaim = highest, "role" }
	}
	put := func(w *ssoWorld, change func(*identity.NewSSO)) func() {
		return func() {
			if _, err := w.settings.Put(w.admin(), w.org, w.input(change)); err != nil {
				w.Error(err)
			}
		}
	}
	t.Run("a lower highest role", func(t *testing.T) {
		w := newSSOWorld(t)
		w.setUp(roles(catalog.RoleAdmin))
		w.provider.Claims["role"] = "admin"
		w.duringExchange(put(w, roles(catalog.RoleEditor)))
		s, err := w.signIn()
		require.NoError(t, err)
		require.Equal(t, catalog.RoleEditor, w.membership(s).Role)
	})
	t.Run("another provider", func(t *testing.T) {
		w := newSSOWorld(t)
		w.setUp(roles(catalog.RoleAdmin))
		other := ssotest.New(t)
		w.duringExchange(put(w, func(n *identity.NewSSO) { n.Issuer = other.Issuer() }))
		_, err := w.signIn()
		require.ErrorIs(t, err, identity.ErrState)
		_, err = w.store.UserByEmail(w.system(), "person@acme.example")
		require.ErrorIs(t, err, catalog.ErrNotFound, "the former provider makes nobody a member")
	})
}

// lateChanges calls then, once, after a membership was read.
type lateChanges struct {
	identity.SSOStore
	once *sync.Once
	then func()
}

func (l lateChanges) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	m, err := l.SSOStore.Membership(ctx, org, user)
	l.once.Do(l.then)
	return m, err
}

func TestSignInsDoNotBringBackAttributes(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.AttributeClaims = map[string]string{"team": "department"} })
	w.provider.Claims["department"] = "sales"
	s, err := w.signIn()
	require.NoError(t, err)
	user := w.membership(s).User
	replace := func(attributes map[string]string) {
		_, err := w.store.ReplaceAttributes(w.system(), w.org, user, attributes)
		require.NoError(t, err)
	}
	replace(map[string]string{"team": "sales", "clearance": "high"})
	w.sso.Store = lateChanges{w.store, &sync.Once{}, func() { replace(map[string]string{}) }}
	s, err = w.signIn()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"team": "sales"}, w.membership(s).Attributes)
}

func TestSignInsAreAuditedWithRoleAndSession(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	require.JSONEq(t, `{"method":"sso","email":"person@acme.example","role":"viewer","session":"`+s.ID.String()+`"}`,
		string(w.audit.last("sign_in").Details))
}

func TestAFloodOfRefusedSignInsHasFewEntries(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	refuse := func(n int) {
		t.Helper()
		for range n {
			c := w.begin("person@acme.example", "")
			c.Error = "access_denied"
			_, err := w.sso.Finish(t.Context(), c, from)
			requireRefused(t, "provider_error", err)
		}
	}
	w.audit.reset()
	refuse(100)
	require.Len(t, w.audit.entries, 60+1)
	require.Contains(t, string(w.audit.entries[60].Details), `"rate_limited":"address"`)
	_, err := w.signIn()
	require.NoError(t, err)
	require.Equal(t, []string{"identity.bound", "sign_in"}, []string{w.audit.entries[61].Action, w.audit.entries[62].Action},
		"the entries of a success are never left out")
	w.advance(time.Minute + time.Second)
	refuse(1)
	require.Len(t, w.audit.entries, 64)
}

// TestSignInsAtTheOwnPageGiveTokens checks the end of a sign-in that began for an address without a
// provider.
func TestSignInsAtTheOwnPageGiveTokens(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	begin := func() identity.Callback {
		address, err := w.sso.Begin(t.Context(), "person@nowhere.example")
		require.NoError(t, err)
		return identity.Callback{State: identity.StateOf(address), Cookie: identity.StateOf(address)}
	}
	created, err := w.signIns.CreateSession(t.Context(), session.Session{User: uuid.MustParse(string(w.owner)), Method: session.MethodPassword,
		ExpiresAt: w.clock().Add(time.Hour)})
	require.NoError(t, err)
	cookie, err := w.signIns.CreateBrowser(t.Context(), created.ID)
	require.NoError(t, err)

	c := begin()
	c.Browser = cookie
	done, err := w.sso.Finish(t.Context(), c, identity.Origin{Remote: "192.0.2.1"})
	require.NoError(t, err)
	require.NotEmpty(t, done.Tokens.AccessToken)
	require.Equal(t, created.User, done.Session.User)
	require.Equal(t, session.FirstParty, done.Session.Client)
	entry := w.audit.last("sign_in")
	require.Equal(t, w.owner, entry.User)
	require.Contains(t, string(entry.Details), done.Session.ID.String())
	require.Contains(t, string(entry.Details), "password")

	for name, browser := range map[string]string{"nobody has signed in": "", "a made-up cookie": session.NewSecret()} {
		c := begin()
		c.Browser = browser
		_, err := w.sso.Finish(t.Context(), c, identity.Origin{Remote: "192.0.2.1"})
		require.ErrorIs(t, err, identity.ErrState, name)
		require.Equal(t, catalog.OutcomeError, w.audit.last("sign_in.refused").Outcome, name)
	}
	require.NoError(t, w.signIns.RevokeSession(t.Context(), created.ID))
	c = begin()
	c.Browser = cookie
	_, err = w.sso.Finish(t.Context(), c, identity.Origin{Remote: "192.0.2.1"})
	require.ErrorIs(t, err, identity.ErrState, "the browser's session has ended")

	// A person who turns to single sign-on at the page gets the tokens from the provider's callback.
	address, err := w.sso.BeginAtProvider(t.Context(), "person@acme.example", identity.CallbackOf(begin().State))
	require.NoError(t, err)
	done, err = w.sso.Finish(t.Context(), w.back(address), identity.Origin{})
	require.NoError(t, err)
	require.NotEmpty(t, done.Tokens.AccessToken)
	require.Empty(t, done.ReturnTo)
}
