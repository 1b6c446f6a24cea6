package catalogtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func newSSOConfig(domains ...string) catalog.NewSSOConfig {
	return catalog.NewSSOConfig{
		Issuer: "https://id.example/a", ClientID: "client", SealedSecret: []byte("\x00sealed\xff"),
		DefaultRole: catalog.RoleViewer, MaxRole: catalog.RoleBuilder, RoleClaim: "role",
		AttributeClaims: map[string]string{"team": "https://id.example/team"}, Domains: domains,
	}
}

// requiredSingleSignOn checks that lists of organisations tell which ones require single sign-on.
func requiredSingleSignOn(t *testing.T, w *world) {
	org, user := w.org()
	other, _ := w.org()
	_, err := w.AddMember(w.ctx, other, user, catalog.RoleViewer)
	require.NoError(t, err)
	required := func() (names []catalog.OrgID) {
		list, err := w.ListUserOrganisations(w.ctx, user, catalog.Page{})
		require.NoError(t, err)
		held, err := w.Holdings(w.ctx, user)
		require.NoError(t, err)
		require.Equal(t, list.Items, held.Memberships)
		for _, o := range list.Items {
			if o.SSORequired {
				names = append(names, o.ID)
			}
		}
		return names
	}
	_, err = w.PutSSOConfig(w.ctx, org, newSSOConfig("a.example", "b.example"))
	require.NoError(t, err)
	require.Empty(t, required(), "no domain is verified")
	for _, domain := range []string{"a.example", "b.example"} {
		_, err = w.VerifyEmailDomain(w.ctx, org, domain, catalog.DomainByOperator)
		require.NoError(t, err)
		require.Equal(t, []catalog.OrgID{org}, required())
	}
	require.NoError(t, w.DeleteSSOConfig(w.ctx, org))
	require.Empty(t, required())
}

func singleSignOn(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	_, err := w.SSOConfig(w.ctx, org)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	n := newSSOConfig("b.example", "a.example")
	stored, err := w.PutSSOConfig(w.ctx, org, n)
	require.NoError(t, err)
	require.Equal(t, catalog.SSOConfig{Org: org, Issuer: n.Issuer, ClientID: "client", DefaultRole: catalog.RoleViewer,
		MaxRole: catalog.RoleBuilder, RoleClaim: "role", AttributeClaims: n.AttributeClaims, Version: 1, CreatedAt: stored.CreatedAt,
		UpdatedAt: stored.UpdatedAt}, stored)
	record, err := json.Marshal(stored)
	require.NoError(t, err)
	require.NotContains(t, string(record), "sealed", "no part of the record")
	sealed, err := w.SSOSecret(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, n.SealedSecret, sealed)
	domains, err := w.EmailDomains(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, []string{"a.example", "b.example"}, []string{domains[0].Domain, domains[1].Domain})
	require.NotEqual(t, domains[0].Challenge, domains[1].Challenge)
	require.GreaterOrEqual(t, len(domains[0].Challenge), 20)

	before := w.epochNow()
	n.SealedSecret, n.RoleClaim, n.AttributeClaims = nil, "", nil
	n.Domains = []string{"c.example", "b.example"}
	stored, err = w.PutSSOConfig(w.ctx, org, n)
	require.NoError(t, err)
	require.Equal(t, int64(2), stored.Version)
	require.Empty(t, stored.RoleClaim)
	require.NotNil(t, stored.AttributeClaims)
	require.Greater(t, w.epochNow(), before)
	sealed, err = w.SSOSecret(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, []byte("\x00sealed\xff"), sealed, "the secret of the issuer remains")
	after, err := w.EmailDomains(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, domains[1], after[0], "a domain that is listed again keeps its challenge")
	require.Equal(t, "c.example", after[1].Domain)

	n.Issuer = "https://id.example/b"
	_, err = w.PutSSOConfig(w.ctx, org, n)
	require.ErrorIs(t, err, catalog.ErrInvalid, "the secret belongs to the issuer")
	for _, broken := range []func(*catalog.NewSSOConfig){
		func(n *catalog.NewSSOConfig) { n.Issuer = "id" },
		func(n *catalog.NewSSOConfig) { n.ClientID = "" },
		func(n *catalog.NewSSOConfig) { n.DefaultRole = "owner" },
		func(n *catalog.NewSSOConfig) { n.MaxRole = "" },
		func(n *catalog.NewSSOConfig) { n.DefaultRole = catalog.RoleAdmin },
		func(n *catalog.NewSSOConfig) { n.RoleClaim = strings.Repeat("x", 129) },
		func(n *catalog.NewSSOConfig) { n.AttributeClaims = map[string]string{"not a name": "x"} },
		func(n *catalog.NewSSOConfig) { n.AttributeClaims = map[string]string{"a": ""} },
		func(n *catalog.NewSSOConfig) { n.Domains = []string{"A.example"} },
		func(n *catalog.NewSSOConfig) { n.Domains = []string{"example"} },
		func(n *catalog.NewSSOConfig) { n.Domains = []string{"a.example", "a.example"} },
		func(n *catalog.NewSSOConfig) { n.Domains = make([]string, 101) },
	} {
		n := newSSOConfig("a.example")
		broken(&n)
		_, err = w.PutSSOConfig(w.ctx, org, n)
		require.ErrorIs(t, err, catalog.ErrInvalid)
	}

	same, err := w.SSOConfigsByClient(w.ctx, "https://id.example/a", "client")
	require.NoError(t, err)
	require.Equal(t, []catalog.SSOConfig{stored}, same)
	same, err = w.SSOConfigsByClient(w.ctx, "https://id.example/a", "another")
	require.NoError(t, err)
	require.Empty(t, same)
	_, err = w.SSOSecret(w.ctx, other)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.DeleteSSOConfig(w.ctx, other), catalog.ErrNotFound)
	require.NoError(t, w.DeleteSSOConfig(w.ctx, org))
	_, err = w.SSOConfig(w.ctx, org)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	after, err = w.EmailDomains(w.ctx, org)
	require.NoError(t, err)
	require.Empty(t, after)
	_, err = w.PutSSOConfig(w.ctx, catalog.NewID[catalog.OrgID](), newSSOConfig())
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func emailDomains(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	for _, o := range []catalog.OrgID{org, other} {
		_, err := w.PutSSOConfig(w.ctx, o, newSSOConfig("a.example"))
		require.NoError(t, err, "several organisations may claim a domain")
	}
	_, err := w.VerifiedDomain(w.ctx, "a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.VerifyEmailDomain(w.ctx, org, "b.example", catalog.DomainByDNS)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	d, err := w.VerifyEmailDomain(w.ctx, org, "a.example", catalog.DomainByDNS)
	require.NoError(t, err)
	require.True(t, d.Verified())
	require.Equal(t, d.CheckedAt, d.VerifiedAt)
	found, err := w.VerifiedDomain(w.ctx, "a.example")
	require.NoError(t, err)
	require.Equal(t, d, found)

	_, err = w.VerifyEmailDomain(w.ctx, other, "a.example", catalog.DomainByOperator)
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
	third, _ := w.org()
	_, err = w.PutSSOConfig(w.ctx, third, newSSOConfig("c.example", "a.example"))
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
	_, err = w.SSOConfig(w.ctx, third)
	require.ErrorIs(t, err, catalog.ErrNotFound, "nothing of a refused configuration remains")

	again, err := w.VerifyEmailDomain(w.ctx, org, "a.example", catalog.DomainByOperator)
	require.NoError(t, err)
	require.Equal(t, catalog.DomainByOperator, again.Method)
	require.Equal(t, d.VerifiedAt, again.VerifiedAt)
	again, err = w.VerifyEmailDomain(w.ctx, org, "a.example", catalog.DomainByDNS)
	require.NoError(t, err)
	require.Equal(t, catalog.DomainByOperator, again.Method, "the operator's word remains")
	due, err := w.DomainsToCheck(w.ctx, w.now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, due, "nobody checks a domain of the operator")

	_, err = w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &owner})
	require.NoError(t, err)
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	_, err = w.VerifiedDomain(w.ctx, "a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound, "of a deleted organisation")
}

func lapsedEmailDomains(t *testing.T, w *world) {
	const grace = 7 * 24 * time.Hour
	org, _ := w.org()
	_, err := w.PutSSOConfig(w.ctx, org, newSSOConfig("a.example", "b.example", "c.example"))
	require.NoError(t, err)
	for _, domain := range []string{"a.example", "b.example"} {
		_, err = w.VerifyEmailDomain(w.ctx, org, domain, catalog.DomainByDNS)
		require.NoError(t, err)
	}
	day := func() { w.clock.Add((24 * time.Hour).Microseconds()) }
	check := func(domain string, found bool) catalog.EmailDomain {
		t.Helper()
		d, err := w.RecordDomainCheck(w.ctx, org, domain, found, grace)
		require.NoError(t, err)
		return d
	}
	due, err := w.DomainsToCheck(w.ctx, w.now().Add(-time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, due, "just verified")
	day()
	due, err = w.DomainsToCheck(w.ctx, w.now().Add(-time.Hour), 1)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, "a.example", due[0].Domain)

	first := check("a.example", false)
	require.True(t, first.Verified())
	for range 6 {
		day()
		d := check("a.example", false)
		require.True(t, d.Verified(), "within the days of grace")
		require.Equal(t, first.FailedAt, d.FailedAt)
	}
	require.Zero(t, check("a.example", true).FailedAt, "a success starts the days of grace anew")
	check("a.example", false)
	for range 7 {
		day()
	}
	before := w.epochNow()
	lost := check("a.example", false)
	require.False(t, lost.Verified())
	require.Zero(t, lost.VerifiedAt)
	require.Greater(t, w.epochNow(), before)
	_, err = w.VerifiedDomain(w.ctx, "a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)

	other, _ := w.org()
	_, err = w.PutSSOConfig(w.ctx, other, newSSOConfig("a.example"))
	require.NoError(t, err, "the domain is free")
	_, err = w.VerifyEmailDomain(w.ctx, other, "a.example", catalog.DomainByDNS)
	require.NoError(t, err)
	_, err = w.VerifyEmailDomain(w.ctx, org, "a.example", catalog.DomainByDNS)
	require.ErrorIs(t, err, catalog.ErrDomainTaken)
}
