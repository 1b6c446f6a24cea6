package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
)

const issuer = "https://lake.example"

// world is an authorization server with one user, two organisations and three clients.
type world struct {
	*testing.T
	*replica
	url           string // of the database
	clock         *atomic.Int64
	ada, robot    uuid.UUID
	org, other    uuid.UUID
	app, service  oauth.Client
	public        oauth.Client
	secret        string
	browser       session.Session
	mu            sync.Mutex
	roles         map[[2]uuid.UUID]auth.Role
	refusedAccess error  // of organisation other
	onAllow       func() // is called when access is asked for
	clients       map[string]oauth.Client
	documents     map[string]oauth.Client
	described     int
	closed        bool        // the operator allows no open clients
	open          []uuid.UUID // organisations that allow open clients
	choices       []session.Organisation
	signedIn      bool
	approve       bool
	asked         []oauth.ConsentRequest
	signIns       []string
	wait          time.Duration
	limited       map[string]bool
	events        []oauth.Event
	// ending has sessions end during an exchange.
	ending bool
}

// replica is one server on the database.
type replica struct {
	server *oauth.Server
	store  *sqlstore.Store
	keys   *sqlstore.SigningKeys
	tokens *jwt.Authenticator
	http   *httptest.Server
}

func (w *world) now() time.Time { return time.UnixMicro(w.clock.Load()).UTC() }

func (w *world) advance(d time.Duration) { w.clock.Add(d.Microseconds()) }

// plainSealer stores keys as they are.
type plainSealer struct{}

func (plainSealer) Seal(_ string, plain []byte) ([]byte, error)  { return plain, nil }
func (plainSealer) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }

// grants ends the session of a grant before an exchange if the world says so.
type grants struct {
	*sqlstore.Store
	w *world
}

func (g grants) ExchangeGrant(ctx context.Context, kind session.GrantKind, hash, successorHash []byte, successor session.Grant) error {
	if g.w.ending {
		if err := g.RevokeSession(ctx, successor.Session); err != nil {
			return err
		}
	}
	return g.Store.ExchangeGrant(ctx, kind, hash, successorHash, successor)
}

func newWorld(t *testing.T) *world { return newWorldOn(t, filepath.Join(t.TempDir(), "catalog.db")) }

func newWorldOn(t *testing.T, databaseURL string) *world {
	w := &world{T: t, url: databaseURL, clock: new(atomic.Int64), org: uuid.New(), other: uuid.New(), signedIn: true, approve: true,
		secret: "lwcs_" + session.NewSecret()}
	w.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	w.replica = w.another()
	w.ada, w.robot = w.addUser("ada@example.com"), w.addUser("robot@service.example")
	w.roles = map[[2]uuid.UUID]auth.Role{
		{w.org, w.ada}: auth.RoleEditor, {w.other, w.ada}: auth.RoleViewer, {w.org, w.robot}: auth.RoleViewer,
	}
	read := auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeTablesRead)
	w.app = oauth.Client{ID: uuid.NewString(), Name: "App", Org: w.org, SecretHash: session.Hash(w.secret), Scopes: read,
		RedirectURIs: []string{"https://app.example/callback", "https://app.example/callback?tenant=1"}}
	w.public = oauth.Client{ID: uuid.NewString(), Name: "Public", Org: w.org, Scopes: read, RedirectURIs: []string{"http://127.0.0.1/cb"}}
	w.service = oauth.Client{ID: uuid.NewString(), Name: "Robot", Org: w.org, SecretHash: session.Hash(w.secret), Scopes: read,
		Service: w.robot}
	w.clients = map[string]oauth.Client{w.app.ID: w.app, w.public.ID: w.public, w.service.ID: w.service}
	var err error
	w.browser, err = w.store.CreateSession(t.Context(), session.Session{User: w.ada, Method: session.MethodPassword,
		ExpiresAt: w.now().Add(24 * time.Hour)})
	require.NoError(t, err)
	return w
}

// another starts a server on the same database.
func (w *world) another() *replica {
	db, err := catalogstore.Open(context.Background(), w.url, catalogstore.Options{Now: w.now})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, db.Close()) })
	r := &replica{store: sqlstore.New(db.DB()), keys: sqlstore.NewSigningKeys(db.DB(), plainSealer{})}
	require.NoError(w, r.keys.Ensure(w.Context()))
	r.tokens, err = jwt.New(w, []jwt.Issuer{{URL: issuer, Algorithms: []string{jwt.ES256}, Keys: r.keys, AccessTokensOnly: true,
		Sessions: r.store, Orgless: true}}, jwt.Options{Now: w.now})
	require.NoError(w, err)
	config := oauth.Config{
		Issuer: issuer, Clients: w, Sessions: r.store, Grants: grants{r.store, w}, Keys: r.keys, Tokens: r.tokens,
		Access: w, People: w, Pages: w, Monitor: w, Documents: w, Now: w.now, Logger: slog.New(slog.DiscardHandler),
	}
	if w.closed {
		config.Documents = nil
	}
	r.server = oauth.New(config)
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth2/authorize", r.server.Authorize)
	mux.HandleFunc("/oauth2/token", r.server.Token)
	mux.HandleFunc("/oauth2/revoke", r.server.Revoke)
	mux.HandleFunc("/oauth2/introspect", r.server.Introspect)
	mux.HandleFunc("/oauth2/userinfo", r.server.UserInfo)
	r.http = httptest.NewServer(mux)
	w.Cleanup(r.http.Close)
	return r
}

func (w *world) addUser(email string) uuid.UUID {
	db, err := catalogstore.Open(w.Context(), w.url, catalogstore.Options{})
	require.NoError(w, err)
	defer func() { require.NoError(w, db.Close()) }()
	u, err := db.CreateUser(w.Context(), catalog.NewUser{Email: email})
	require.NoError(w, err)
	return uuid.MustParse(string(u.ID))
}

// Client implements oauth.Clients.
func (w *world) Client(_ context.Context, id string) (oauth.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.clients[id]
	if !ok {
		return c, oauth.ErrUnknownClient
	}
	return c, nil
}

// Allow implements oauth.Access.
func (w *world) Allow(_ context.Context, of session.Session, org uuid.UUID) (auth.Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onAllow != nil {
		w.onAllow()
	}
	role := w.roles[[2]uuid.UUID{org, of.User}]
	switch {
	case of.Org != uuid.Nil && of.Org != org:
		return "", auth.ErrForbidden
	case role == "":
		return "", auth.ErrNoMember
	case org == w.other && w.refusedAccess != nil:
		return "", w.refusedAccess
	}
	return role, nil
}

// OpenTo implements oauth.Access.
func (w *world) OpenTo(ctx context.Context, of session.Session) (open []session.Organisation, err error) {
	for _, org := range w.open {
		if _, err := w.Allow(ctx, of, org); err == nil {
			open = append(open, session.Organisation{ID: org, Name: "Organisation " + org.String()})
		}
	}
	return open, nil
}

// Describe implements oauth.Documents.
func (w *world) Describe(_ context.Context, id string, _ uuid.UUID) (oauth.Client, error) {
	w.described++
	if c, ok := w.documents[id]; ok {
		return c, nil
	}
	return oauth.Client{}, &oauth.DocumentError{Reason: "it cannot be read"}
}

// Person implements oauth.People.
func (w *world) Person(_ context.Context, user uuid.UUID) (email, name string, err error) {
	if user != w.ada {
		return "", "", errors.New("unknown person")
	}
	return "ada@example.com", "Ada", nil
}

// MemberByID implements jwt.Members.
func (w *world) MemberByID(_ context.Context, org, user uuid.UUID) (jwt.Member, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	role := w.roles[[2]uuid.UUID{org, user}]
	return jwt.Member{UserID: user, Email: "ada@example.com", Role: role}, role != "", nil
}

// PersonByID implements jwt.Members.
func (w *world) PersonByID(_ context.Context, user uuid.UUID) (jwt.Member, bool, error) {
	return jwt.Member{UserID: user, Email: "ada@example.com"}, user == w.ada, nil
}

// MemberBySubject implements jwt.Members.
func (w *world) MemberBySubject(context.Context, jwt.Subject) (jwt.Member, bool, error) {
	return jwt.Member{}, false, nil
}

// SignedIn implements oauth.Pages.
func (w *world) SignedIn(*http.Request) (session.Session, bool) { return w.browser, w.signedIn }

// SignIn implements oauth.Pages.
func (w *world) SignIn(out http.ResponseWriter, _ *http.Request, returnTo, hint string) {
	w.signIns = append(w.signIns, returnTo+" "+hint)
	out.WriteHeader(http.StatusTeapot)
}

// Choose implements oauth.Pages.
func (w *world) Choose(out http.ResponseWriter, _ *http.Request, _ oauth.Client, among []session.Organisation) {
	w.choices = among
	out.WriteHeader(http.StatusTeapot)
}

// Refuse implements oauth.Pages.
func (w *world) Refuse(out http.ResponseWriter, status int, why string) {
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.WriteHeader(status)
	_, _ = io.WriteString(out, why)
}

// Consent implements oauth.Pages.
func (w *world) Consent(_ http.ResponseWriter, _ *http.Request, c oauth.ConsentRequest) (approved, done bool) {
	w.asked = append(w.asked, c)
	return w.approve, false
}

// Issued implements oauth.Monitor.
func (w *world) Issued(_ *http.Request, e oauth.Event) { w.record(e) }

// Refused implements oauth.Monitor.
func (w *world) Refused(_ *http.Request, e oauth.Event) { w.record(e) }

func (w *world) record(e oauth.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// ClientRefused implements oauth.Monitor.
func (w *world) ClientRefused(_ *http.Request, client string) time.Duration {
	w.record(oauth.Event{Kind: "client", Client: client})
	return w.wait
}

// Limited implements oauth.Monitor.
func (w *world) Limited(client string) time.Duration {
	if w.limited[client] {
		return 2 * time.Second
	}
	return 0
}

// last returns the last event.
func (w *world) last() oauth.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[len(w.events)-1]
}

// config returns the configuration of a client of x/oauth2.
func (w *world) config(c oauth.Client, redirect string) *oauth2.Config {
	config := &oauth2.Config{ClientID: c.ID, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{AuthURL: w.http.URL + "/oauth2/authorize", TokenURL: w.http.URL + "/oauth2/token",
			AuthStyle: oauth2.AuthStyleInParams}}
	if c.SecretHash != nil {
		config.ClientSecret, config.Endpoint.AuthStyle = w.secret, oauth2.AuthStyleInHeader
	}
	return config
}

// cli returns the configuration of the built-in client.
func (w *world) cli() *oauth2.Config {
	return w.config(oauth.Client{ID: oauth.FirstParty}, "http://127.0.0.1:43211/callback")
}

const state = "a-state-of-enough-length"

// visit requests an address without following redirects.
func (w *world) visit(address string) *http.Response {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, address, nil)
	require.NoError(w, err)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w, err)
	w.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// redirected returns the parameters that the client receives at its redirect URI.
func (w *world) redirected(resp *http.Response, redirect string) url.Values {
	w.Helper()
	require.Equal(w, http.StatusSeeOther, resp.StatusCode)
	location := resp.Header.Get("Location")
	require.True(w, strings.HasPrefix(location, redirect), location)
	u, err := url.Parse(location)
	require.NoError(w, err)
	require.Equal(w, issuer, u.Query().Get("iss"))
	require.Equal(w, "no-store", resp.Header.Get("Cache-Control"))
	return u.Query()
}

// code requests a code.
func (w *world) code(c *oauth2.Config, verifier string, options ...oauth2.AuthCodeOption) string {
	w.Helper()
	options = append(options, oauth2.S256ChallengeOption(verifier))
	got := w.redirected(w.visit(c.AuthCodeURL(state, options...)), c.RedirectURL)
	require.Equal(w, state, got.Get("state"))
	require.NotEmpty(w, got.Get("code"), got)
	return got.Get("code")
}

// signIn returns the tokens of the code flow.
func (w *world) signIn(c *oauth2.Config, options ...oauth2.AuthCodeOption) *oauth2.Token {
	w.Helper()
	verifier := oauth2.GenerateVerifier()
	token, err := c.Exchange(w.Context(), w.code(c, verifier, options...), oauth2.VerifierOption(verifier))
	require.NoError(w, err)
	return token
}

// robotToken returns a token of the service account.
func (w *world) robotToken(scopes ...string) (*oauth2.Token, error) {
	config := clientcredentials.Config{ClientID: w.service.ID, ClientSecret: w.secret, TokenURL: w.http.URL + "/oauth2/token", Scopes: scopes}
	return config.Token(w.Context())
}

// post sends a form. credentials are an id and a secret, or nothing.
func (w *world) post(path string, form url.Values, credentials ...string) (int, map[string]any, http.Header) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.http.URL+path, strings.NewReader(form.Encode()))
	require.NoError(w, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(credentials) == 2 {
		req.SetBasicAuth(url.QueryEscape(credentials[0]), url.QueryEscape(credentials[1])) // RFC 6749, section 2.3.1
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	var body map[string]any
	if len(text) > 0 {
		require.NoError(w, json.Unmarshal(text, &body), string(text))
	}
	require.Equal(w, "no-store", resp.Header.Get("Cache-Control"))
	return resp.StatusCode, body, resp.Header
}

// refusal checks that a request for tokens is refused with a code.
func (w *world) refusal(code string, err error) {
	w.Helper()
	var refused *oauth2.RetrieveError
	require.ErrorAs(w, err, &refused)
	require.Equal(w, code, refused.ErrorCode, string(refused.Body))
	require.Equal(w, code, w.last().Reason)
}

// principal verifies an access token.
func (w *world) principal(token string) auth.Principal {
	w.Helper()
	p, err := w.tokens.Authenticate(w.Context(), token)
	require.NoError(w, err)
	return p
}

// refresh exchanges a refresh token.
func refresh(ctx context.Context, c *oauth2.Config, token string) (*oauth2.Token, error) {
	return c.TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
}
