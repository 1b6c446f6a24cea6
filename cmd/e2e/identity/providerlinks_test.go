package identity_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestLinkAtACertifiedProvider links a member at oidc-provider, which rotates refresh tokens
// and revokes a link whose token is used twice. Two replicas then want access tokens at once.
func TestLinkAtACertifiedProvider(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	public := "http://" + l.Addr().String()
	issuer := startOIDCProvider(t, public, object{"ana": object{"email": "ana@example.com", "email_verified": true}})
	people := harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.Listener, c.AllowPrivateEndpoints = l, true
		c.Providers = map[string]config.Provider{"provider_two": {Issuer: issuer}}
	})
	viewer := people.Person(s, s.Member("viewer@acme.example", "viewer", nil).User, s.Boot.OrganisationID)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	app := org + "/provider-apps/provider_two"
	s.Admin.OK("POST", app, object{"clientId": ssoClientID, "clientSecret": ssoClientSecret})

	b := newBrowser(t)
	begin := func() string {
		started := viewer.Call("GET", app+"/link", nil)
		require.Equal(t, http.StatusOK, started.Status, "%s", started.Body)
		cookie, err := http.ParseSetCookie(started.Header.Get("Set-Cookie"))
		require.NoError(t, err)
		server, err := url.Parse(public)
		require.NoError(t, err)
		b.Jar.SetCookies(server, []*http.Cookie{cookie})
		return started.JSON(t)["authorizationUrl"].(string)
	}
	back := b.signIn(begin(), "ana", public)
	require.True(t, strings.HasPrefix(back, public+identity.LinkCallbackPath), back)
	linked := b.send(back, nil)
	require.Equal(t, http.StatusOK, linked.status, "%s", linked.body)
	require.Equal(t, http.StatusBadRequest, b.send(back, nil).status, "replayed")
	links := viewer.OK("GET", org+"/provider-links", nil)["links"].(list)
	require.Len(t, links, 1)
	require.Equal(t, "ana", links[0].(object)["subject"])

	// The life of access tokens at the provider is below the margin, so each request needs an
	// exchange, and the requests of one replica share one.
	keys, err := secret.File{Path: filepath.Join(s.Config.DataDir, "keys.json")}.Load(t.Context())
	require.NoError(t, err)
	replica := func() *identity.ProviderTokens {
		store, err := s.OpenCatalog(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		providers := provider.New(map[string]provider.Preset{provider.Two: {Issuer: issuer}}, &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true}})
		return identity.NewProviderTokens(identity.ProviderApps{Store: authz.New(store), Providers: providers, Keys: keys}, time.Now)
	}
	replicas := []*identity.ProviderTokens{replica(), replica()}
	errs := make([]error, 8)
	token := func(i int) error {
		_, err := replicas[i%2].AccessToken(t.Context(), catalog.OrgID(s.Boot.OrganisationID), catalog.UserID(viewer.User), catalog.ProviderTwo)
		return err
	}
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = token(i) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, token(0), "the provider has not revoked the link")

	viewer.OK("DELETE", app+"/link", nil)
	require.ErrorIs(t, token(1), identity.ErrLinkRequired)
}
