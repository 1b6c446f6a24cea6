package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
)

func requireField(t *testing.T, field string, err error) {
	t.Helper()
	var fields catalog.FieldErrors
	require.ErrorAs(t, err, &fields)
	require.Equal(t, field, fields[0].Field)
}

func TestSettings(t *testing.T) {
	w := newSSOWorld(t)
	_, err := w.settings.Get(w.admin(), w.org)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	dry, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.DryRun = true }))
	require.NoError(t, err)
	require.Equal(t, "acme.example", dry.Domains[0].Domain)
	require.Empty(t, dry.Domains[0].Challenge)
	_, err = w.settings.Get(w.admin(), w.org)
	require.ErrorIs(t, err, catalog.ErrNotFound, "a dry run stores nothing")

	status, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) {
		n.Domains = []string{"B\u00fccher.example", "acme.example."}
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"acme.example", "xn--bcher-kva.example"}, []string{status.Domains[0].Domain, status.Domains[1].Domain})
	require.Equal(t, catalog.RoleViewer, status.MaxRole, "the default role")
	text, err := json.Marshal(status)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret & more")
	_, err = w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.ClientSecret = "" }))
	require.NoError(t, err, "the secret of the issuer remains")
}

func TestWrongSettingsAreRefused(t *testing.T) {
	w := newSSOWorld(t)
	_, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.ClientSecret = "" }))
	requireField(t, "client_secret", err)
	for _, domain := range []string{"com", "co.uk", "github.io", "localhost", "10.0.0.1", "a@b.example"} {
		_, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.Domains = []string{domain} }))
		requireField(t, "domains[0]", err)
	}
	_, err = w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) {
		n.Domains = []string{"acme.example", "ACME.example"}
	}))
	requireField(t, "domains[1]", err)
	_, err = w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) {
		n.DefaultRole, n.MaxRole = catalog.RoleAdmin, catalog.RoleViewer
	}))
	requireField(t, "max_role", err)
	w.provider.Document = func(d map[string]any) { d["issuer"] = "https://evil.example" }
	_, err = w.settings.Put(w.admin(), w.org, w.input())
	require.ErrorIs(t, err, sso.ErrIssuer)
	_, err = w.settings.Get(w.admin(), w.org)
	require.ErrorIs(t, err, catalog.ErrNotFound, "nothing is stored")
}

// TestNarrowCredentialsReachNoIssuer checks that a credential that may not choose a provider
// makes the server call none either, nor learns in a dry run whose a domain is.
func TestNarrowCredentialsReachNoIssuer(t *testing.T) {
	w := newSSOWorld(t)
	w.settings.Check = func(context.Context, string) error {
		t.Error("the issuer was called")
		return nil
	}
	p, err := auth.PrincipalFrom(w.admin())
	require.NoError(t, err)
	p.Scopes = auth.NewScopeSet(auth.ScopeOrgUpdate)
	for _, dry := range []bool{true, false} {
		_, err = w.settings.Put(auth.WithPrincipal(t.Context(), p), w.org, w.input(func(n *identity.NewSSO) { n.DryRun = dry }))
		var denied *catalog.DeniedError
		require.ErrorAs(t, err, &denied)
		require.Equal(t, "role_escalation", denied.Reason)
	}
}

func TestRolesAboveTheCallersAreRefused(t *testing.T) {
	w := newSSOWorld(t)
	p, err := auth.PrincipalFrom(w.admin())
	require.NoError(t, err)
	p.Role, p.Scopes = auth.RoleBuilder, auth.NewScopeSet(auth.ScopeOrgUpdate)
	for _, n := range []identity.NewSSO{
		w.input(func(n *identity.NewSSO) { n.DefaultRole = catalog.RoleAdmin }),
		w.input(func(n *identity.NewSSO) { n.MaxRole = catalog.RoleAdmin }),
	} {
		_, err := w.settings.Put(auth.WithPrincipal(t.Context(), p), w.org, n)
		require.Equal(t, &catalog.DeniedError{Reason: "role_escalation"}, err)
	}
	require.Zero(t, w.provider.Hits("/.well-known/openid-configuration"), "refused before anything is asked")
	_, err = w.settings.Get(admin(t.Context(), catalog.NewID[catalog.OrgID](), w.owner), w.org)
	require.ErrorIs(t, err, catalog.ErrNotFound, "another organisation")
}

func TestDomainsAreVerifiedByTheirRecord(t *testing.T) {
	w := newSSOWorld(t)
	_, err := w.settings.Put(w.admin(), w.org, w.input())
	require.NoError(t, err)
	verify := func() (catalog.EmailDomain, error) { return w.settings.VerifyDomain(w.admin(), w.org, "ACME.example") }
	_, err = verify()
	require.ErrorIs(t, err, sso.ErrRecord)
	status, err := w.settings.Get(w.admin(), w.org)
	require.NoError(t, err)
	require.False(t, status.Domains[0].FailedAt.IsZero())
	w.records.err = &net.DNSError{IsTimeout: true}
	_, err = verify()
	require.ErrorIs(t, err, sso.ErrResolver)
	w.records.err = nil
	name, content := identity.DomainRecord(status.Domains[0])
	w.records.set(name, "lakewarden-verification=wrong")
	_, err = verify()
	require.ErrorIs(t, err, sso.ErrRecord)
	w.records.set(name, "v=spf1 -all", "lakewarden-verification=wrong", content)
	d, err := verify()
	require.NoError(t, err)
	require.Equal(t, catalog.DomainByDNS, d.Method)
	require.Zero(t, d.FailedAt)
	require.Equal(t, "domain/acme.example", w.audit.last("sso.domain_verified").Resource)
	_, err = w.settings.VerifyDomain(w.admin(), w.org, "unlisted.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)

	theirs, boss := w.organisation("boss@other.example")
	_, err = w.settings.Put(admin(t.Context(), theirs, boss), theirs, w.input())
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
	_, err = w.settings.Put(admin(t.Context(), theirs, boss), theirs, w.input(func(n *identity.NewSSO) { n.DryRun = true }))
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
}

func TestChangedProvidersEndSignIns(t *testing.T) {
	for name, change := range map[string]func(*ssoWorld) error{
		"deleted": func(w *ssoWorld) error { return w.settings.Delete(w.admin(), w.org) },
		"another client": func(w *ssoWorld) error {
			_, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.ClientID = "another" }))
			return err
		},
		"without the domain": func(w *ssoWorld) error {
			_, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.Domains = nil }))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSSOWorld(t)
			w.setUp()
			s, err := w.signIn()
			require.NoError(t, err)
			_, err = w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.DefaultRole = catalog.RoleEditor }))
			require.NoError(t, err)
			found, err := w.signIns.Session(t.Context(), s.ID)
			require.NoError(t, err)
			require.True(t, found.Live(w.clock()), "another role of new members ends nothing")
			require.NoError(t, change(w))
			found, err = w.signIns.Session(t.Context(), s.ID)
			require.NoError(t, err)
			require.False(t, found.Live(w.clock()))
		})
	}
}

func TestARepeatedConfigurationEndsNoSignIn(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	for _, change := range []func(*identity.NewSSO){
		func(*identity.NewSSO) {},
		func(n *identity.NewSSO) { n.ClientSecret = "" },
		func(n *identity.NewSSO) { n.Domains = []string{"ACME.example", "another.example"} },
		func(n *identity.NewSSO) { n.Domains = []string{"acme.example"} },
	} {
		_, err = w.settings.Put(w.admin(), w.org, w.input(change))
		require.NoError(t, err)
		found, err := w.signIns.Session(t.Context(), s.ID)
		require.NoError(t, err)
		require.True(t, found.Live(w.clock()))
	}
}

// changing is a store of sessions that changes something before it creates one.
type changing struct {
	session.Sessions
	change  func()
	created *session.Session
}

func (c changing) CreateSession(ctx context.Context, s session.Session) (session.Session, error) {
	c.change()
	s, err := c.Sessions.CreateSession(ctx, s)
	*c.created = s
	return s, err
}

func TestSignInsEndIfTheProviderChangesMeanwhile(t *testing.T) {
	for name, change := range map[string]func(*ssoWorld) error{
		"deleted": func(w *ssoWorld) error { return w.settings.Delete(w.admin(), w.org) },
		"another client": func(w *ssoWorld) error {
			_, err := w.settings.Put(w.admin(), w.org, w.input(func(n *identity.NewSSO) { n.ClientID = "another" }))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSSOWorld(t)
			w.setUp()
			var created session.Session
			w.sso.Sessions = changing{w.signIns, func() { require.NoError(t, change(w)) }, &created}
			_, err := w.signIn()
			require.ErrorIs(t, err, identity.ErrState)
			found, err := w.signIns.Session(t.Context(), created.ID)
			require.NoError(t, err)
			require.False(t, found.Live(w.clock()))
		})
	}
}

func TestDomainsAreCheckedEveryDay(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signIn()
	require.NoError(t, err)
	name := "_lakewarden-challenge.acme.example"
	run := func() {
		t.Helper()
		require.NoError(t, w.checks.Run(w.system()))
	}
	domain := func() catalog.EmailDomain {
		t.Helper()
		status, err := w.settings.Get(w.admin(), w.org)
		require.NoError(t, err)
		return status.Domains[0]
	}
	checked := domain().CheckedAt
	run()
	require.Equal(t, checked, domain().CheckedAt, "not again on the same day")
	w.advance(25 * time.Hour)
	w.records.err = errors.New("no answer")
	run()
	require.Equal(t, checked, domain().CheckedAt, "a resolver that does not answer proves nothing")
	w.records.err = nil
	run()
	require.Greater(t, domain().CheckedAt, checked)
	w.records.set(name)
	for range 7 {
		w.advance(25 * time.Hour)
		run()
		require.True(t, domain().Verified(), "within the days of grace")
	}
	w.advance(25 * time.Hour)
	run()
	require.False(t, domain().Verified())
	require.Equal(t, map[string]float64{"proved": 1, "missing": 7, "lapsed": 1, "unanswered": 1}, w.domainChecks())
	require.Equal(t, "domain/acme.example", w.audit.last("sso.domain_lapsed").Resource)
	found, err := w.signIns.Session(context.Background(), s.ID)
	require.NoError(t, err)
	require.False(t, found.Live(w.clock()), "its sign-ins end")
	_, err = w.store.VerifyEmailDomain(w.system(), w.org, "acme.example", catalog.DomainByOperator)
	require.NoError(t, err)
	for range 9 {
		w.advance(25 * time.Hour)
		run()
	}
	require.True(t, domain().Verified(), "the operator's word is not checked")
}
