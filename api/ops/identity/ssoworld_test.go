package identity_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// ssoWorld is an organisation with an identity provider.
type ssoWorld struct {
	*testing.T
	store    *authz.Store
	signIns  *signin.Store
	provider *ssotest.Provider
	settings identity.SSOSettings
	sso      identity.SSO
	logout   identity.SSOLogout

	identities    binding.Identities
	confirmations binding.Confirmations

	checks   identity.DomainChecks
	registry *prometheus.Registry
	records  *recordsOf
	audit    *auditLog
	issuer   *issuer
	org      catalog.OrgID
	owner    catalog.UserID

	mu  sync.Mutex
	now time.Time
}

func (w *ssoWorld) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *ssoWorld) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// issuer issues the id of the session as a token.
type issuer struct{ err error }

func (i *issuer) Issue(_ context.Context, s session.Session) (session.Tokens, error) {
	return session.Tokens{AccessToken: s.ID.String(), RefreshToken: "r", TokenType: "Bearer", ExpiresIn: 900}, i.err
}

// recordsOf is a resolver.
type recordsOf struct {
	mu      sync.Mutex
	records map[string][]string
	err     error
}

func (r *recordsOf) LookupTXT(_ context.Context, name string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records[name], r.err
}

func (r *recordsOf) set(name string, records ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[name+"."] = records
}

func newSSOWorld(t *testing.T) *ssoWorld {
	t.Helper()
	w := &ssoWorld{T: t, now: time.Now().UTC(), provider: ssotest.New(t), audit: &auditLog{}, issuer: &issuer{},
		registry: prometheus.NewRegistry(), records: &recordsOf{records: map[string][]string{}}}
	w.provider.Now = w.clock
	raw, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), sqlstore.Options{Now: w.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	w.store, w.signIns = authz.New(raw), signin.New(raw.DB())
	keys, err := secret.File{Path: filepath.Join(t.TempDir(), "keys.json")}.Load(t.Context())
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	providers := sso.New(&http.Client{Transport: transport}, sso.Options{AllowInsecure: true, Now: w.clock})
	w.settings = identity.SSOSettings{Store: w.store, Check: providers.Check, Resolver: w.records, Keys: keys, Audit: w.audit}
	w.sso = identity.SSO{Store: w.store, Providers: providers, Keys: keys, Tokens: w.signIns, Sessions: w.signIns, Browsers: w.signIns,
		Once: w.signIns, Issuer: w.issuer, Audit: w.audit, Refusals: throttle.NewRefusals(w.clock), PublicURL: "https://lake.example",
		Now: w.clock}
	w.identities = binding.Identities{Store: w.store, Audit: w.audit}
	w.confirmations = binding.Confirmations{Store: w.store, Tokens: w.signIns, Browsers: w.signIns, Audit: w.audit}
	w.logout = identity.SSOLogout{SSO: w.sso}
	w.checks = identity.DomainChecks{Store: w.store, Resolver: w.records, Audit: w.audit, Now: w.clock,
		Metrics: identity.NewDomainMetrics(w.registry), Logger: slog.New(slog.DiscardHandler)}
	w.org, w.owner = w.organisation("owner@acme.example")
	return w
}

// domainChecks returns the numbers of checks of domains by their outcomes.
func (w *ssoWorld) domainChecks() map[string]float64 {
	w.Helper()
	families, err := w.registry.Gather()
	require.NoError(w, err)
	counts := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return counts
}

func (w *ssoWorld) system() context.Context { return authz.System(w.Context(), "test") }

func (w *ssoWorld) organisation(owner string) (catalog.OrgID, catalog.UserID) {
	w.Helper()
	user, err := w.store.CreateUser(w.system(), catalog.NewUser{Email: owner})
	require.NoError(w, err)
	org, err := w.store.CreateOrganisation(w.system(), catalog.NewOrganisation{Name: owner, Owner: user.ID})
	require.NoError(w, err)
	return org.ID, user.ID
}

// admin returns the context of an administrator.
func admin(ctx context.Context, org catalog.OrgID, user catalog.UserID) context.Context {
	return auth.WithPrincipal(ctx, auth.Principal{OrgID: uuid.MustParse(string(org)), UserID: uuid.MustParse(string(user)),
		Role: auth.RoleAdmin, Granted: auth.AllScopes(), Scopes: auth.RoleAdmin.Scopes(), Method: auth.MethodJWT})
}

func (w *ssoWorld) admin() context.Context { return admin(w.Context(), w.org, w.owner) }

func (w *ssoWorld) input(changes ...func(*identity.NewSSO)) identity.NewSSO {
	n := identity.NewSSO{Issuer: w.provider.Issuer(), ClientID: ssotest.ClientID, ClientSecret: ssotest.ClientSecret,
		Domains: []string{"acme.example"}, DefaultRole: catalog.RoleViewer}
	for _, change := range changes {
		change(&n)
	}
	return n
}

// setUp configures the provider and verifies acme.example.
func (w *ssoWorld) setUp(changes ...func(*identity.NewSSO)) {
	w.Helper()
	status, err := w.settings.Put(w.admin(), w.org, w.input(changes...))
	require.NoError(w, err)
	for _, d := range status.Domains {
		w.records.set(identity.DomainRecord(d))
		_, err = w.settings.VerifyDomain(w.admin(), w.org, d.Domain)
		require.NoError(w, err)
	}
}

// begin begins a sign-in and returns the callback to which the provider leads.
func (w *ssoWorld) begin(email, returnTo string) identity.Callback {
	w.Helper()
	address, err := w.sso.Begin(w.Context(), email)
	if returnTo != "" {
		address, err = w.sso.BeginAtProvider(w.Context(), email, returnTo)
	}
	require.NoError(w, err)
	return w.back(address)
}

func (w *ssoWorld) back(address string) identity.Callback {
	w.Helper()
	u, err := url.Parse(w.provider.Authorize(address))
	require.NoError(w, err)
	q := u.Query()
	return identity.Callback{State: q.Get("state"), Cookie: identity.StateOf(address), Code: q.Get("code"), Issuer: q.Get("iss")}
}

// signIn signs a person in and returns the session.
func (w *ssoWorld) signIn() (session.Session, error) {
	w.Helper()
	done, err := w.sso.Finish(w.Context(), w.begin("person@acme.example", ""), identity.Origin{Remote: "192.0.2.1", RequestID: "req"})
	return done.Session, err
}

func (w *ssoWorld) membership(s session.Session) catalog.Membership {
	w.Helper()
	m, err := w.store.Membership(w.system(), w.org, catalog.UserID(s.User.String()))
	require.NoError(w, err)
	return m
}
