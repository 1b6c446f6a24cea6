package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/auth/session"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// linkWorld is an organisation with an application at an OAuth server.
type linkWorld struct {
	*testing.T
	server  *providertest.Server
	raw     *sqlstore.Store
	links   identity.ProviderLinks
	audited auditLog
	org     catalog.OrgID
	admin   context.Context
	user    catalog.UserID
	member  context.Context
	other   context.Context
}

// linksOn returns the use cases of one replica.
func linksOn(tb testing.TB, url, keyFile string, server *providertest.Server) (*sqlstore.Store, identity.ProviderLinks) {
	tb.Helper()
	raw, err := sqlstore.Open(context.Background(), url, sqlstore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, raw.Close()) })
	keys, err := secret.File{Path: keyFile}.Load(context.Background())
	require.NoError(tb, err)
	providers := provider.New(map[string]provider.Preset{
		provider.Two: {Issuer: server.URL, Permissions: []string{"storage"}, AdminConsentURL: server.URL + "/consent?client={client_id}"},
	}, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	states := signin.New(raw.DB())
	return raw, identity.ProviderLinks{
		Apps:   identity.ProviderApps{Store: authz.New(raw), Providers: providers, Keys: keys},
		States: states, Sessions: states, Browsers: states, PublicURL: "https://lakewarden.example",
	}
}

func newLinkWorld(t *testing.T, url string) *linkWorld {
	w := &linkWorld{T: t, server: providertest.New(t)}
	keyFile := filepath.Join(t.TempDir(), "keys.json")
	w.raw, w.links = linksOn(t, url, keyFile, w.server)
	w.links.Audit = &w.audited
	ctx := context.Background()
	people := make([]catalog.UserID, 3)
	for i := range people {
		u, err := w.raw.CreateUser(ctx, catalog.NewUser{Email: fmt.Sprintf("user%d@example.com", i)})
		require.NoError(t, err)
		people[i] = u.ID
	}
	org, err := w.raw.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "ours", Owner: people[0]})
	require.NoError(t, err)
	w.org, w.user = org.ID, people[1]
	for _, user := range people[1:] {
		_, err = w.raw.AddMember(ctx, org.ID, user, catalog.RoleViewer)
		require.NoError(t, err)
	}
	w.admin, w.member, w.other = w.as(people[0], auth.RoleAdmin), w.as(people[1], auth.RoleViewer), w.as(people[2], auth.RoleViewer)
	w.register(providertest.ClientSecret)
	return w
}

func (w *linkWorld) as(user catalog.UserID, role auth.Role) context.Context {
	return auth.WithPrincipal(context.Background(), auth.Principal{
		OrgID: uuid.MustParse(string(w.org)), UserID: uuid.MustParse(string(user)), Role: role,
		Granted: auth.AllScopes(), Scopes: role.Scopes(), Method: auth.MethodJWT,
	})
}

func (w *linkWorld) register(clientSecret string) identity.ProviderApp {
	w.Helper()
	app, err := w.links.Apps.Put(w.admin, w.org, identity.NewProviderApp{Provider: provider.Two, ClientID: providertest.ClientID,
		ClientSecret: clientSecret})
	require.NoError(w, err)
	return app
}

// begin starts a link of the member and agrees at the provider.
func (w *linkWorld) begin() identity.LinkCallback {
	w.Helper()
	started, err := w.links.Begin(w.member, w.org, provider.Two)
	require.NoError(w, err)
	back := w.server.Approve(w, started.AuthorizationURL).Query()
	return identity.LinkCallback{State: back.Get("state"), Code: back.Get("code"), Issuer: back.Get("iss"), Cookie: started.Cookie}
}

func (w *linkWorld) finish(in identity.LinkCallback) error {
	_, err := w.links.Finish(context.Background(), in, from)
	return err
}

func sqliteURL(t *testing.T) string { return filepath.Join(t.TempDir(), "catalog.db") }

func TestLinkFlow(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	app, err := w.links.Apps.Get(w.admin, w.org, provider.Two)
	require.NoError(t, err)
	require.Equal(t, []string{"storage"}, app.Permissions)
	require.Equal(t, w.server.URL+"/consent?client=client+id+%26+more", app.AdminConsentURL)

	callback := w.begin()
	link, err := w.links.Finish(context.Background(), callback, from)
	require.NoError(t, err)
	require.Equal(t, "subject-1", link.Subject)
	require.Equal(t, w.user, link.User)
	require.ErrorIs(t, w.finish(callback), identity.ErrState, "a state works once")
	list, err := w.links.List(w.member, w.org)
	require.NoError(t, err)
	require.Len(t, list, 1)
	list, err = w.links.List(w.other, w.org)
	require.NoError(t, err)
	require.Empty(t, list)

	tokens := identity.NewProviderTokens(w.links.Apps, time.Now)
	token, err := tokens.AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.NoError(t, err)
	require.Contains(t, token, "access ")
	require.Zero(t, w.server.Refreshes(), "the first token is still valid")

	require.ErrorIs(t, w.links.Unlink(w.other, w.org, provider.Two), catalog.ErrNotFound)
	require.NoError(t, w.links.Unlink(w.member, w.org, provider.Two))
	require.Equal(t, 1, w.server.Revoked(), "the provider has revoked the token, too")
	_, err = tokens.AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.ErrorIs(t, err, identity.ErrLinkRequired)
	require.Equal(t, catalog.OutcomeAllow, w.audited.entries[0].Outcome)
	require.Equal(t, w.user, w.audited.entries[0].User)
}

// TestLinkOfASessionThatEnded checks that a new password also ends the links that somebody
// has started with a stolen token.
func TestLinkOfASessionThatEnded(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	states := signin.New(w.raw.DB())
	p := principalOf(w.member, t)
	begun, err := states.CreateSession(t.Context(), session.Session{User: p.UserID, Method: session.MethodPassword,
		ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	p.SessionID = begun.ID
	w.member = auth.WithPrincipal(context.Background(), p)
	require.NoError(t, w.finish(w.begin()))
	in := w.begin()
	require.NoError(t, states.RevokeUser(t.Context(), p.UserID, uuid.Nil))
	require.ErrorIs(t, w.finish(in), identity.ErrState)
}

func TestLinksThatAreRefused(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	browserIn := func(user catalog.UserID, org uuid.UUID) string {
		states := signin.New(w.raw.DB())
		s, err := states.CreateSession(t.Context(), session.Session{User: uuid.MustParse(string(user)), Org: org,
			Method: session.MethodPassword, ExpiresAt: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		cookie, err := states.CreateBrowser(t.Context(), s.ID)
		require.NoError(t, err)
		return cookie
	}
	browser := func(user catalog.UserID) string { return browserIn(user, uuid.Nil) }
	other := catalog.UserID(principalOf(w.other, t).UserID.String())
	for name, test := range map[string]struct {
		change func(*identity.LinkCallback)
		want   error
	}{
		"no state":             {func(in *identity.LinkCallback) { in.State = "" }, identity.ErrState},
		"unknown state":        {func(in *identity.LinkCallback) { in.State = session.NewSecret() }, identity.ErrState},
		"another browser":      {func(in *identity.LinkCallback) { in.Cookie = "" }, identity.ErrLinkBrowser},
		"another secret":       {func(in *identity.LinkCallback) { in.Cookie = session.NewSecret() }, identity.ErrLinkBrowser},
		"browser of a victim":  {func(in *identity.LinkCallback) { in.Cookie, in.Browser = "", browser(other) }, identity.ErrLinkBrowser},
		"unknown browser":      {func(in *identity.LinkCallback) { in.Cookie, in.Browser = "", "x" }, identity.ErrLinkBrowser},
		"another provider":     {func(in *identity.LinkCallback) { in.Issuer = "https://other.example" }, provider.ErrGrant},
		"the person refused":   {func(in *identity.LinkCallback) { in.Code, in.Error = "", "access_denied" }, provider.ErrGrant},
		"another code":         {func(in *identity.LinkCallback) { in.Code = "x" }, provider.ErrGrant},
		"a replaced app":       {func(*identity.LinkCallback) { w.register(providertest.ClientSecret) }, catalog.ErrVersionConflict},
		"a wrong secret":       {func(in *identity.LinkCallback) { w.register("wrong"); *in = w.begin() }, provider.ErrClient},
		"a later start":        {func(*identity.LinkCallback) { w.register(providertest.ClientSecret); w.begin() }, identity.ErrState},
		"browser of the owner": {func(in *identity.LinkCallback) { in.Cookie, in.Browser = "", browser(w.user) }, nil},
		"signed in here only": {func(in *identity.LinkCallback) {
			in.Cookie, in.Browser = "", browserIn(w.user, uuid.MustParse(string(w.org)))
		}, nil},
		"signed in elsewhere only": {func(in *identity.LinkCallback) {
			in.Cookie, in.Browser = "", browserIn(w.user, uuid.New())
		}, identity.ErrLinkBrowser},
	} {
		t.Run(name, func(t *testing.T) {
			w.register(providertest.ClientSecret)
			in := w.begin()
			test.change(&in)
			err := w.finish(in)
			list, listErr := w.links.List(w.member, w.org)
			require.NoError(t, listErr)
			if test.want == nil {
				require.NoError(t, err)
				require.Len(t, list, 1)
				require.NoError(t, w.links.Unlink(w.member, w.org, provider.Two))
				return
			}
			require.ErrorIs(t, err, test.want)
			require.Empty(t, list)
		})
	}
	w.register(providertest.ClientSecret)
	in := w.begin()
	wrong := in
	wrong.Cookie = ""
	require.ErrorIs(t, w.finish(wrong), identity.ErrLinkBrowser)
	require.NoError(t, w.finish(in), "the wrong browser does not use up the state")
}

func principalOf(ctx context.Context, t *testing.T) auth.Principal {
	p, err := auth.PrincipalFrom(ctx)
	require.NoError(t, err)
	return p
}

func TestFeatureOffRefusesEverything(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	in := w.begin()
	off := catalog.OrganisationConfig{Features: map[string]bool{catalog.FeatureDelegatedStorage: false}}
	_, err := w.raw.UpdateOrganisation(t.Context(), w.org, catalog.AnyVersion, catalog.OrganisationChange{Config: &off})
	require.NoError(t, err)
	requireFeatureOff(t, w.finish(in))
	for name, call := range map[string]func() error{
		"put": func() error {
			_, err := w.links.Apps.Put(w.admin, w.org, identity.NewProviderApp{Provider: provider.Two, ClientID: "c", ClientSecret: "s"})
			return err
		},
		"get":    func() error { _, err := w.links.Apps.Get(w.admin, w.org, provider.Two); return err },
		"list":   func() error { _, err := w.links.Apps.List(w.admin, w.org); return err },
		"delete": func() error { return w.links.Apps.Delete(w.admin, w.org, provider.Two) },
		"begin":  func() error { _, err := w.links.Begin(w.member, w.org, provider.Two); return err },
		"links":  func() error { _, err := w.links.List(w.member, w.org); return err },
		"unlink": func() error { return w.links.Unlink(w.member, w.org, provider.Two) },
		"token": func() error {
			_, err := identity.NewProviderTokens(w.links.Apps, time.Now).AccessToken(t.Context(), w.org, w.user, provider.Two)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { requireFeatureOff(t, call()) })
	}
}

// TestOnlyPeopleChangeLinks checks that whoever has a mere API key of a person, or a token
// for a program, cannot choose where the person's storage is.
func TestOnlyPeopleChangeLinks(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	w.register("secret")
	p, err := auth.PrincipalFrom(w.member)
	require.NoError(t, err)
	key, program := p, p
	id := uuid.New()
	key.Method, key.KeyID, program.Program = auth.MethodAPIKey, &id, true
	for name, weak := range map[string]auth.Principal{"key": key, "program": program} {
		ctx := auth.WithPrincipal(t.Context(), weak)
		_, err := w.links.Begin(ctx, w.org, provider.Two)
		require.ErrorIs(t, err, catalog.ErrDenied, name)
		require.ErrorIs(t, w.links.Unlink(ctx, w.org, provider.Two), catalog.ErrDenied, name)
		_, err = w.links.List(ctx, w.org)
		require.NoError(t, err, name)
	}
}

func TestRevokedLinkIsBroken(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	require.NoError(t, w.finish(w.begin()))
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	tokens := identity.NewProviderTokens(w.links.Apps, later)
	w.server.Break(true)
	_, err := tokens.AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.ErrorIs(t, err, provider.ErrUnavailable)
	w.server.Break(false)
	w.server.RevokeAll()
	for range 2 {
		_, err = tokens.AccessToken(t.Context(), w.org, w.user, provider.Two)
		require.ErrorIs(t, err, identity.ErrLinkRequired)
	}
	require.Equal(t, 1, w.server.Refreshes(), "a broken link is not tried again")
	list, err := w.links.List(w.member, w.org)
	require.NoError(t, err)
	require.False(t, list[0].BrokenAt.IsZero())
	require.NoError(t, w.finish(w.begin()))
	_, err = identity.NewProviderTokens(w.links.Apps, time.Now).AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.NoError(t, err, "linked again")
}

// TestReplicasExchangeOneAfterTheOther uses two replicas on Postgres. The provider revokes
// a link whose refresh token is used twice.
func TestReplicasExchangeOneAfterTheOther(t *testing.T) {
	url := pgtest.URL(t)
	w := newLinkWorld(t, url)
	require.NoError(t, w.finish(w.begin()))
	keys, ok := w.links.Apps.Keys.(*secret.Keyring)
	require.True(t, ok)
	_, second := linksOn(t, url, filepath.Join(t.TempDir(), "keys.json"), w.server)
	second.Apps.Keys = keys
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	replicas := []*identity.ProviderTokens{identity.NewProviderTokens(w.links.Apps, now), identity.NewProviderTokens(second.Apps, now)}
	for round := range 5 {
		offset.Add(int64(2 * time.Hour)) // every token has expired
		w.server.Life = int((time.Duration(offset.Load()) + time.Hour).Seconds())
		found := make([]string, 16)
		errs := make([]error, len(found))
		var all sync.WaitGroup
		for i := range found {
			all.Go(func() {
				found[i], errs[i] = replicas[i%2].AccessToken(context.Background(), w.org, w.user, provider.Two)
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		for _, token := range found {
			require.Equal(t, found[0], token)
		}
		require.Equal(t, round+1, w.server.Refreshes(), "one exchange for all")
	}
	require.Zero(t, w.server.Revoked())
}

// delegations wraps the catalog of one replica.
type delegations struct {
	catalog.Store
	// claimed is called after each claim.
	claimed func()
	// failures is the number of calls that store tokens and fail.
	failures atomic.Int32
}

func (d *delegations) ClaimProviderLink(ctx context.Context, k catalog.ProviderLinkKey, version int64, until time.Time) (int64, error) {
	version, err := d.Store.ClaimProviderLink(ctx, k, version, until)
	if err == nil && d.claimed != nil {
		d.claimed()
	}
	return version, err
}

func (d *delegations) RenewProviderLink(ctx context.Context, k catalog.ProviderLinkKey, version int64, sealed []byte, broken bool) error {
	if d.failures.Add(-1) >= 0 {
		return catalog.ErrUnavailable
	}
	return d.Store.RenewProviderLink(ctx, k, version, sealed, broken)
}

// TestClaimOutlastsTheExchange checks that a replica whose clock is ahead does not use a
// refresh token that another one is still exchanging.
func TestClaimOutlastsTheExchange(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	require.NoError(t, w.finish(w.begin()))
	w.server.Life = int((24 * time.Hour).Seconds())
	later := func(d time.Duration) func() time.Time {
		return func() time.Time { return time.Now().Add(2*time.Hour + d) }
	}
	ahead := identity.NewProviderTokens(w.links.Apps, later(provider.ExchangeTime+5*time.Second))
	slow := &delegations{Store: authz.New(w.raw)}
	var early error
	slow.claimed = func() {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, early = ahead.AccessToken(ctx, w.org, w.user, provider.Two)
	}
	apps := w.links.Apps
	apps.Store = slow
	token, err := identity.NewProviderTokens(apps, later(0)).AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.ErrorIs(t, early, context.DeadlineExceeded)
	require.NoError(t, err)
	same, err := ahead.AccessToken(t.Context(), w.org, w.user, provider.Two)
	require.NoError(t, err)
	require.Equal(t, token, same)
	require.Equal(t, 1, w.server.Refreshes())
}

// TestExchangedTokenIsNotLost checks that a rotated refresh token, of which there is one
// copy, outlives a failure of the catalog.
func TestExchangedTokenIsNotLost(t *testing.T) {
	w := newLinkWorld(t, sqliteURL(t))
	require.NoError(t, w.finish(w.begin()))
	failing := &delegations{Store: authz.New(w.raw)}
	failing.failures.Store(2)
	apps := w.links.Apps
	apps.Store = failing
	for hours := 2; hours <= 4; hours += 2 {
		now := func() time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
		_, err := identity.NewProviderTokens(apps, now).AccessToken(t.Context(), w.org, w.user, provider.Two)
		require.NoError(t, err)
	}
	require.Zero(t, w.server.Revoked())
}

// requireFeatureOff checks that an error says that the feature is switched off.
func requireFeatureOff(t *testing.T, err error) {
	t.Helper()
	var disabled *feature.DisabledError
	require.ErrorAs(t, err, &disabled)
	require.Equal(t, catalog.FeatureDelegatedStorage, disabled.Key)
}
