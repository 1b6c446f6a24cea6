package oauth_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

const documentURL = "https://app.example/client.json"

// openClients adds a client that registered itself and one with a document.
func (w *world) openClients() []oauth.Client {
	read := auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeTablesRead)
	registered := oauth.Client{ID: uuid.NewString(), Name: "Open", Open: true, Scopes: read, RedirectURIs: []string{"http://127.0.0.1/cb"}}
	described := oauth.Client{ID: documentURL, Name: "Described", Open: true, Publisher: "app.example", Scopes: read,
		RedirectURIs: []string{"https://app.example/cb"}}
	w.clients[registered.ID] = registered
	w.documents = map[string]oauth.Client{documentURL: described}
	return []oauth.Client{registered, described}
}

// shown requires that a reply stays at the server, and returns its text.
func (w *world) shown(resp *http.Response, status int) string {
	w.Helper()
	require.Equal(w, status, resp.StatusCode)
	require.Empty(w, resp.Header.Get("Location"))
	text, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	return string(text)
}

func TestOpenClientsActWhereTheyAreAllowed(t *testing.T) {
	w := newWorld(t)
	for _, c := range w.openClients() {
		config := w.config(c, c.RedirectURIs[0])
		ask := func(options ...oauth2.AuthCodeOption) *http.Response {
			return w.visit(config.AuthCodeURL(state, append(options, oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))...))
		}
		w.open = nil
		require.Contains(t, w.shown(ask(), 403), "only programs that it registered itself")
		w.open = []uuid.UUID{w.org}
		require.Contains(t, w.shown(ask(oauth2.SetAuthURLParam("org", w.other.String())), 403), "only programs that it registered itself")

		token := w.signIn(config)
		asked := w.asked[len(w.asked)-1]
		require.Equal(t, w.org, asked.Org, "the only one")
		require.Equal(t, c.Open, asked.Client.Open)
		require.Equal(t, c.Publisher, asked.Client.Publisher)
		p := w.principal(token.AccessToken)
		require.Equal(t, w.org, p.OrgID)
		require.True(t, p.Confined)
		require.True(t, p.Program)
		require.Equal(t, c.Scopes, p.Scopes)

		w.open = []uuid.UUID{w.org, w.other}
		read := w.described
		status, body, _ := w.post("/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken},
			"client_id": {c.ID}, "org": {w.other.String()}})
		require.Equal(t, 400, status, "%v", body)
		require.Equal(t, "invalid_grant", body["error"], "the session is for the organisation of the consent")
		next, err := refresh(t.Context(), config, token.RefreshToken)
		require.NoError(t, err)
		require.Equal(t, read, w.described, "nobody makes the server read a document without a sign-in")

		w.shown(ask(), http.StatusTeapot)
		require.Len(t, w.choices, 2, "the person chooses")
		w.signIn(config, oauth2.SetAuthURLParam("org", w.other.String()))
		require.Equal(t, w.other, w.asked[len(w.asked)-1].Org)

		w.open = []uuid.UUID{w.other}
		_, err = refresh(t.Context(), config, next.RefreshToken)
		w.refusal("invalid_grant", err)
	}
}

// TestOpenClientsRedirectOnlyAfterAnAnswer checks that a link to the server leads nobody to an address
// that anybody can register.
func TestOpenClientsRedirectOnlyAfterAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.open = []uuid.UUID{w.org}
	for _, c := range w.openClients() {
		config := w.config(c, c.RedirectURIs[0])
		for name, change := range map[string]url.Values{
			"an unknown scope": {"scope": {"everything"}}, "a silent request": {"prompt": {"none"}}, "no challenge": {"code_challenge": {""}},
			"another organisation": {"org": {uuid.NewString()}}, "another server": {"resource": {"https://other.example"}},
			"another redirect URI": {"redirect_uri": {"https://evil.example/cb"}},
		} {
			u, err := url.Parse(config.AuthCodeURL(state, oauth2.S256ChallengeOption("v")))
			require.NoError(t, err)
			query := u.Query()
			for key, values := range change {
				query[key] = values
			}
			u.RawQuery = query.Encode()
			resp := w.visit(u.String())
			require.GreaterOrEqual(t, resp.StatusCode, 400, name)
			require.Empty(t, resp.Header.Get("Location"), name)
		}
		w.approve = false
		got := w.redirected(w.visit(config.AuthCodeURL(state, oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))), config.RedirectURL)
		require.Equal(t, "access_denied", got.Get("error"))
		w.approve = true
	}
}

func TestDocumentsAreReadForPeopleOnly(t *testing.T) {
	w := newWorld(t)
	w.open = []uuid.UUID{w.org}
	described := w.openClients()[1]
	config := w.config(described, described.RedirectURIs[0])
	w.signedIn = false
	address := config.AuthCodeURL(state, oauth2.S256ChallengeOption("v"))
	w.shown(w.visit(address), http.StatusTeapot)
	require.Len(t, w.signIns, 1)
	w.shown(w.visit(address+"&prompt=none"), http.StatusBadRequest)
	w.post("/oauth2/token", url.Values{"grant_type": {"authorization_code"}, "client_id": {"https://other.example/x"}, "code": {"x"}})
	w.post("/oauth2/revoke", url.Values{"token": {"x"}, "client_id": {"https://other.example/x"}})
	require.Zero(t, w.described)
	w.signedIn = true
	config.ClientID = "https://other.example/client.json"
	require.Contains(t, w.shown(w.visit(config.AuthCodeURL(state, oauth2.S256ChallengeOption("v"))), 400), "it cannot be read")
}

// TestOpenClientsNeedTheOperator checks a server that does not allow them, with one that registered
// before.
func TestOpenClientsNeedTheOperator(t *testing.T) {
	w := newWorld(t)
	w.open = []uuid.UUID{w.org}
	tokens := map[string]*oauth2.Token{}
	clients := w.openClients()
	for _, c := range clients {
		tokens[c.ID] = w.signIn(w.config(c, c.RedirectURIs[0]))
	}
	w.closed = true
	w.replica = w.another()
	for _, c := range clients {
		config := w.config(c, c.RedirectURIs[0])
		w.shown(w.visit(config.AuthCodeURL(state, oauth2.S256ChallengeOption("v"))), 400)
		_, err := refresh(t.Context(), config, tokens[c.ID].RefreshToken)
		var refused *oauth2.RetrieveError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "invalid_client", refused.ErrorCode)
	}
}

// TestNewSecretsEndTokensThatAreRequestedMeanwhile replaces the secret of a service account after the
// request with the former one was authenticated.
func TestNewSecretsEndTokensThatAreRequestedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.onAllow = func() {
		changed := w.service
		changed.SecretHash = session.Hash("another secret")
		w.clients[w.service.ID] = changed
	}
	_, err := w.robotToken()
	var refused *oauth2.RetrieveError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "invalid_client", refused.ErrorCode)
	sessions, err := w.store.ListSessions(t.Context(), session.Filter{User: w.robot}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, sessions.Items)
}
