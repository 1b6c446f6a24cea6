package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/policy"
)

func requireRefused(t *testing.T, reason string, err error) {
	t.Helper()
	var refused *sso.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, reason, refused.Reason)
}

func TestSignInMakesMembers(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) {
		n.MaxRole, n.RoleClaim, n.AttributeClaims = catalog.RoleBuilder, "roles", map[string]string{"team": "department", "floor": "level"}
	})
	w.provider.Claims["roles"] = []any{"editor", "unknown"}
	w.provider.Claims["department"], w.provider.Claims["level"], w.provider.Claims["name"] = "sales", 3, "A Person"
	done, err := w.sso.Finish(t.Context(), w.begin("Person@ACME.example", ""), identity.Origin{Remote: "192.0.2.1", RequestID: "req"})
	require.NoError(t, err)
	require.Equal(t, session.Tokens{AccessToken: done.Session.ID.String(), RefreshToken: "r", TokenType: "Bearer", ExpiresIn: 900},
		done.Tokens)
	stored, err := w.signIns.Session(t.Context(), done.Session.ID)
	require.NoError(t, err)
	require.Equal(t, session.MethodSSO, stored.Method)
	require.Equal(t, string(w.org), stored.Org.String(), "limited to the organisation")
	require.Equal(t, []string{w.provider.Issuer(), "subject-1", "session-1"}, []string{stored.Issuer, stored.Subject, stored.ProviderSession})
	m := w.membership(stored)
	require.Equal(t, catalog.RoleEditor, m.Role)
	require.Equal(t, map[string]string{"team": "sales", "floor": "3"}, m.Attributes)
	require.Equal(t, []string{"person@acme.example", "A Person"}, []string{m.Email, m.DisplayName})
	entry := w.audit.last("sign_in")
	require.Equal(t, []string{string(w.org), string(m.User), "192.0.2.1", "req"}, []string{string(entry.Org), string(entry.User), entry.Remote,
		entry.RequestID})

	// Roles and mapped attributes follow the claims at each sign-in; others stay.
	_, err = w.store.ReplaceAttributes(w.system(), w.org, m.User, map[string]string{"team": "sales", "floor": "3", "own": "x"})
	require.NoError(t, err)
	w.provider.Claims["roles"], w.provider.Claims["department"], w.provider.Claims["level"] = "admin", map[string]any{"an": "object"}, nil
	second, err := w.signIn()
	require.NoError(t, err)
	m = w.membership(second)
	require.Equal(t, catalog.RoleBuilder, m.Role, "cut")
	require.Equal(t, map[string]string{"own": "x"}, m.Attributes)
	cut := w.audit.last("sso.role_cut")
	require.Equal(t, catalog.OutcomeDeny, cut.Outcome)
	require.JSONEq(t, `{"claimed":"admin","granted":"builder"}`, string(cut.Details))
	w.provider.Claims["roles"] = nil
	third, err := w.signIn()
	require.NoError(t, err)
	require.Equal(t, catalog.RoleViewer, w.membership(third).Role, "without a role in the claims the default one counts")
}

// TestListsOfClaimsAreJSONArrays checks that a claim that is a list becomes an attribute that is a JSON
// array, and that a list with an element that cannot be used is ignored.
func TestListsOfClaimsAreJSONArrays(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.AttributeClaims = map[string]string{"teams": "groups"} })
	for _, c := range []struct {
		claim any
		want  string
	}{
		{[]any{"sales", "r&d, <lab>"}, `["sales","r&d, <lab>"]`},
		{[]any{"sales"}, `["sales"]`},
		{[]any{1, true, "x"}, `[1,true,"x"]`},
		{[]any{}, `[]`},
		{[]any{"sales", nil}, ""},
		{[]any{"sales", []any{"north"}}, ""},
		{[]any{map[string]any{"name": "sales"}}, ""},
		{[]any{uint64(1<<53 + 1)}, ""},
		{[]any{strings.Repeat("x", catalog.MaxAttributeValueBytes)}, ""},
		{map[string]any{"name": "sales"}, ""},
	} {
		w.provider.Claims["groups"] = c.claim
		s, err := w.signIn()
		require.NoError(t, err)
		want := map[string]string{}
		if c.want != "" {
			want["teams"] = c.want
			items, ok := policy.ListItems(types.String(c.want))
			require.True(t, ok)
			require.Len(t, items, len(c.claim.([]any)))
		}
		require.Equal(t, want, w.membership(s).Attributes, "%v", c.claim)
	}
}

// TestRoundedNumbersAreNoAttributes checks that nobody gets the attribute of another person
// whose number is too large to be exact.
func TestRoundedNumbersAreNoAttributes(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.AttributeClaims = map[string]string{"number": "employee"} })
	for number, want := range map[int64]map[string]string{
		9007199254740991: {"number": "9007199254740991"}, 9007199254740993: {}, -9007199254740993: {}, 17: {"number": "17"},
	} {
		w.provider.Claims["employee"] = number
		s, err := w.signIn()
		require.NoError(t, err)
		require.Equal(t, want, w.membership(s).Attributes, number)
	}
}

func TestOwnersAreNotDemoted(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.RoleClaim = "role" })
	w.provider.Claims["role"] = "viewer"
	w.confirm(w.owner, "owner", "owner@acme.example")
	s, err := w.signInAs("owner", "owner@acme.example")
	require.NoError(t, err)
	require.Equal(t, string(w.owner), s.User.String())
	require.Equal(t, catalog.RoleAdmin, w.membership(s).Role)
}

func TestRolesStayWithoutAClaimForThem(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	_, err = w.store.SetMemberRole(w.system(), w.org, catalog.UserID(s.User.String()), catalog.RoleBuilder)
	require.NoError(t, err)
	s, err = w.signIn()
	require.NoError(t, err)
	require.Equal(t, catalog.RoleBuilder, w.membership(s).Role)
}

func TestProvidersSignInNobodyElse(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	theirs, _ := w.organisation("boss@other.example")
	other := w.input(func(n *identity.NewSSO) { n.Domains = []string{"other.example"} })
	user, err := w.store.UserByEmail(w.system(), "boss@other.example")
	require.NoError(t, err)
	status, err := w.settings.Put(admin(t.Context(), theirs, user.ID), theirs, other)
	require.NoError(t, err)
	w.records.set(identity.DomainRecord(status.Domains[0]))
	_, err = w.settings.VerifyDomain(admin(t.Context(), theirs, user.ID), theirs, "other.example")
	require.NoError(t, err)
	for email, reason := range map[string]string{
		"boss@other.example":       "email_domain_foreign", // verified by another organisation
		"a@unverified.example":     "email_domain_foreign",
		"a@sub.acme.example":       "email_domain_foreign",
		"a@acme.example@evil.test": "email_not_usable",
		"a@acme.example.":          "email_not_usable",
		"person@\u0430cme.example": "email_not_usable", // a Cyrillic letter
		"p\u0435rson@acme.example": "email_not_usable",
		"A <a@acme.example>":       "email_not_usable",
		"a@service.invalid":        "email_not_usable",
		"person":                   "email_not_usable",
	} {
		w.provider.Claims["email"] = email
		_, err := w.signIn()
		requireRefused(t, reason, err)
		_, err = w.store.UserByEmail(w.system(), email)
		require.Equal(t, email == "boss@other.example", err == nil, "nobody was created")
	}
	refusal := w.audit.last("sign_in.refused")
	require.Equal(t, catalog.OutcomeDeny, refusal.Outcome)
	require.Equal(t, w.org, refusal.Org)
	w.provider.Claims["email"] = "PERSON@Acme.Example"
	s, err := w.signIn()
	require.NoError(t, err)
	require.Equal(t, "person@acme.example", w.membership(s).Email, "one spelling")
}

func TestStatesWorkOnceInOneBrowser(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	from := identity.Origin{}
	c := w.begin("person@acme.example", "")
	elsewhere := c
	elsewhere.Cookie = w.begin("person@acme.example", "").Cookie
	_, err := w.sso.Finish(t.Context(), elsewhere, from)
	require.ErrorIs(t, err, identity.ErrState)
	elsewhere.Cookie = ""
	_, err = w.sso.Finish(t.Context(), elsewhere, from)
	require.ErrorIs(t, err, identity.ErrState)
	_, err = w.sso.Finish(t.Context(), c, from)
	require.NoError(t, err, "others cannot spoil a sign-in")
	_, err = w.sso.Finish(t.Context(), c, from)
	require.ErrorIs(t, err, identity.ErrState, "used")
	_, err = w.sso.Finish(t.Context(), identity.Callback{}, from)
	require.ErrorIs(t, err, identity.ErrState)

	late := w.begin("person@acme.example", "")
	w.advance(identity.StateLife)
	_, err = w.sso.Finish(t.Context(), late, from)
	require.ErrorIs(t, err, identity.ErrState, "late")

	changed := w.begin("person@acme.example", "")
	_, err = w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.ClientID = "another" }))
	require.NoError(t, err)
	_, err = w.sso.Finish(t.Context(), changed, from)
	require.ErrorIs(t, err, identity.ErrState, "of another configuration")

	unknown := w.begin("a@nowhere.example", "")
	_, err = w.sso.Finish(t.Context(), unknown, from)
	require.ErrorIs(t, err, identity.ErrState, "of the server's own page")
}

func TestCodesOfOtherSignInsAreRefused(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	victim, attacker := w.begin("person@acme.example", ""), w.begin("person@acme.example", "")
	victim.Code = attacker.Code
	_, err := w.sso.Finish(t.Context(), victim, identity.Origin{})
	requireRefused(t, "code_refused", err) // PKCE
	refused := w.begin("person@acme.example", "")
	refused.Error = "access_denied"
	_, err = w.sso.Finish(t.Context(), refused, identity.Origin{})
	requireRefused(t, "provider_error", err)
	foreign := w.begin("person@acme.example", "")
	foreign.Issuer = "https://evil.example"
	_, err = w.sso.Finish(t.Context(), foreign, identity.Origin{})
	requireRefused(t, "issuer_mismatch", err)
}

func TestSignInsContinueAuthorizationRequests(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	returnTo := "/oauth2/authorize?client_id=lakewarden"
	done, err := w.sso.Finish(t.Context(), w.begin("person@acme.example", returnTo), identity.Origin{})
	require.NoError(t, err)
	require.Equal(t, returnTo, done.ReturnTo)
	require.Empty(t, done.Tokens)
	found, err := w.signIns.Browser(t.Context(), done.Browser)
	require.NoError(t, err)
	require.Equal(t, done.Session.ID, found.ID)
	for _, elsewhere := range []string{
		"", "https://evil.example", "//evil.example", "/oauth2/authorize", "/other?x", "/oauth2/authorizex?y",
		"/oauth2/authorize?x\r\ny", "/signed-in?x",
	} {
		_, err := w.sso.BeginAtProvider(t.Context(), "person@acme.example", elsewhere)
		require.ErrorIs(t, err, catalog.ErrInvalid, elsewhere)
	}
	none, err := w.sso.BeginAtProvider(t.Context(), "person@nowhere.example", identity.SignedInPath)
	require.NoError(t, err)
	require.Empty(t, none, "the page asks for a password")
}

func TestSessionsWithoutTokensEnd(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	w.issuer.err = errors.New("no keys")
	_, err := w.signIn()
	require.ErrorIs(t, err, w.issuer.err)
	require.Equal(t, catalog.OutcomeError, w.audit.last("sign_in.refused").Outcome)
}

func TestSignInsBeginAlikeForAllAddresses(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	shape := func(email string) (string, []string) {
		t.Helper()
		address, err := w.sso.Begin(t.Context(), email)
		require.NoError(t, err)
		u, err := url.Parse(address)
		require.NoError(t, err)
		var names []string
		for name, values := range u.Query() {
			require.Len(t, values, 1)
			switch name {
			case "state", "nonce", "code_challenge":
				names = append(names, name+strings.Repeat("x", len(values[0])))
			case "client_id":
			default:
				names = append(names, name+"="+values[0])
			}
		}
		u.RawQuery = ""
		return u.String(), names
	}
	known, knownShape := shape("owner@acme.example")
	unknown, unknownShape := shape("nobodyx@acme.example")
	require.Equal(t, known, unknown, "whether an address is known does not show")
	require.Equal(t, w.provider.Issuer()+"/authorize", known)
	require.ElementsMatch(t, replaceHint(knownShape), replaceHint(unknownShape))
	page, pageShape := shape("person@nowhere.example")
	require.Equal(t, "https://lake.example/signin", page)
	require.ElementsMatch(t, replaceHint(knownShape), replaceHint(pageShape))
	for _, email := range []string{
		"", "person", "person@", "p\u0435rson@acme.example", "a@b@c.example", strings.Repeat("a", 300) + "@acme.example",
	} {
		_, err := w.sso.Begin(t.Context(), email)
		require.ErrorIs(t, err, catalog.ErrInvalid, email)
	}
}

func replaceHint(names []string) (out []string) {
	for _, name := range names {
		if !strings.HasPrefix(name, "login_hint=") {
			out = append(out, name)
		}
	}
	return out
}

func TestAccess(t *testing.T) {
	w := newSSOWorld(t)
	access := identity.Access{Store: w.store}
	org, owner := uuid.MustParse(string(w.org)), uuid.MustParse(string(w.owner))
	allow := func(method session.Method, limit uuid.UUID) error {
		role, err := access.Allow(t.Context(), session.Session{User: owner, Org: limit, Method: method, Issuer: w.provider.Issuer(),
			Subject: "owner"}, org)
		require.Equal(t, err == nil, role == auth.RoleAdmin)
		return err
	}
	requireCode := func(code string, err error) {
		t.Helper()
		var refused *identity.AccessError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, code, refused.ProblemCode())
		require.ErrorIs(t, err, auth.ErrForbidden)
	}
	require.NoError(t, allow(session.MethodPassword, uuid.Nil))
	requireCode("sign_in_refused", allow(session.MethodSSO, org))
	_, err := access.Allow(t.Context(), session.Session{User: uuid.New(), Method: session.MethodPassword}, org)
	require.ErrorIs(t, err, auth.ErrNoMember)
	requireCode("forbidden", allow(session.MethodPassword, uuid.New()))
	requireCode("forbidden", allow("unknown", uuid.Nil))
	status, err := w.settings.Put(w.admin(), w.org, w.input())
	require.NoError(t, err)
	require.NoError(t, allow(session.MethodPassword, uuid.Nil), "no domain is verified yet")
	w.records.set(identity.DomainRecord(status.Domains[0]))
	_, err = w.settings.VerifyDomain(w.admin(), w.org, "acme.example")
	require.NoError(t, err)
	requireCode("sso_required", allow(session.MethodPassword, uuid.Nil))
	required := allow(session.MethodPassword, uuid.Nil)
	named, err := w.store.Organisation(w.system(), w.org)
	require.NoError(t, err)
	text := "the organisation " + named.Name + " (" + org.String() + ") requires single sign-on"
	require.Equal(t, text, required.Error())
	require.Equal(t, problem.Detail{Field: "organisations." + org.String(), Message: required.Error()}, problem.From(required).Details[0])
	guest, err := w.store.CreateUser(w.system(), catalog.NewUser{Email: "guest@elsewhere.example"})
	require.NoError(t, err)
	_, err = w.store.AddMember(w.system(), w.org, guest.ID, catalog.RoleViewer)
	require.NoError(t, err)
	_, err = access.Allow(t.Context(), session.Session{User: uuid.MustParse(string(guest.ID)), Method: session.MethodPassword}, org)
	requireCode("sso_required", err)
	require.ErrorContains(t, err, text+", for which the e-mail address must belong to one")
	requireCode("sign_in_refused", allow(session.MethodSSO, org)) // as a session of an earlier release, by the address alone
	w.confirm(w.owner, "owner", "owner@acme.example")
	require.NoError(t, allow(session.MethodSSO, org))
	earlier := session.Session{User: owner, Org: org, Method: session.MethodSSO, Issuer: "https://earlier.example",
		Subject: "owner"}
	_, err = access.Allow(t.Context(), earlier, org)
	requireCode("sign_in_refused", err)
	require.NoError(t, allow(session.MethodClient, org))
	require.NoError(t, w.settings.Delete(w.admin(), w.org))
	requireCode("sign_in_refused", allow(session.MethodSSO, org))
	require.NoError(t, allow(session.MethodPassword, uuid.Nil))
	access.Store = closedStore{}
	require.ErrorIs(t, allow(session.MethodPassword, uuid.Nil), auth.ErrUnavailable)
}

// closedStore is a catalog that cannot be reached.
type closedStore struct{ identity.AccessStore }

func (closedStore) Membership(context.Context, catalog.OrgID, catalog.UserID) (catalog.Membership, error) {
	return catalog.Membership{}, catalog.ErrUnavailable
}

func TestNoSecretReachesTheAuditLog(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	_, err := w.signIn()
	require.NoError(t, err)
	w.provider.Claims["email_verified"] = false
	_, err = w.signIn()
	requireRefused(t, "email_not_verified", err)
	text, err := json.Marshal(w.audit.entries)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
	require.NotContains(t, string(text), "eyJ")
}

// countedSSO counts the calls of a catalog by which a sign-in finds its provider.
type countedSSO struct {
	identity.SSOStore
	calls []string
}

func (c *countedSSO) VerifiedDomain(ctx context.Context, domain string) (catalog.EmailDomain, error) {
	c.calls = append(c.calls, "VerifiedDomain")
	return c.SSOStore.VerifiedDomain(ctx, domain)
}

func (c *countedSSO) SSOConfig(ctx context.Context, org catalog.OrgID) (catalog.SSOConfig, error) {
	c.calls = append(c.calls, "SSOConfig")
	return c.SSOStore.SSOConfig(ctx, org)
}

func (c *countedSSO) UserByEmail(ctx context.Context, email string) (catalog.User, error) {
	c.calls = append(c.calls, "UserByEmail")
	return c.SSOStore.UserByEmail(ctx, email)
}

// TestUnknownAddressesAndDomainsCostTheSame checks that neither an unknown person nor an
// unknown domain shows in the work of a sign-in.
func TestUnknownAddressesAndDomainsCostTheSame(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	_, err := w.signIn()
	require.NoError(t, err)
	store := &countedSSO{SSOStore: w.store}
	w.sso.Store = store
	discoveries := w.provider.Hits("/.well-known/openid-configuration")
	for _, email := range []string{"person@acme.example", "nobody@acme.example", "nobody@elsewhere.example"} {
		for name, begin := range map[string]func() error{
			"login": func() error { _, err := w.sso.Begin(t.Context(), email); return err },
			"page":  func() error { _, err := w.sso.BeginAtProvider(t.Context(), email, identity.SignedInPath); return err },
		} {
			store.calls = nil
			require.NoError(t, begin())
			require.Equal(t, []string{"VerifiedDomain", "SSOConfig"}, store.calls, "%s: %s", name, email)
		}
	}
	require.Equal(t, discoveries, w.provider.Hits("/.well-known/openid-configuration"), "providers are cached")
}
