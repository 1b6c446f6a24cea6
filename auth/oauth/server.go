package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/session"
)

// The lives of tokens.
const (
	AccessLife  = 15 * time.Minute
	RefreshLife = 30 * 24 * time.Hour
	// SessionLife is how long a client may refresh its tokens before the user has to sign
	// in again.
	SessionLife = 90 * 24 * time.Hour
	codeLife    = time.Minute
	// serviceLife is the life of a service account's session.
	serviceLife = 24 * time.Hour
)

// The grant types, as in requests.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	grantClient  = "client_credentials"
)

// Access decides whether a session may act in an organisation, and returns the user's role there.
// An error that wraps [auth.ErrUnauthenticated] or [auth.ErrForbidden] is a refusal.
type Access interface {
	Allow(ctx context.Context, of session.Session, org uuid.UUID) (auth.Role, error)
	// OpenTo returns the organisations in which a session may act and that allow open clients.
	OpenTo(ctx context.Context, of session.Session) ([]session.Organisation, error)
}

// People describes people to programs.
type People interface {
	// Person returns the e-mail address and the name of a person. The name may be empty.
	Person(ctx context.Context, user uuid.UUID) (email, name string, err error)
}

// Keys signs access tokens with the current key.
type Keys interface {
	Sign(ctx context.Context, options *jose.SignerOptions) (jose.Signer, error)
}

// Verifier verifies access tokens. [jwt.Authenticator] implements it.
type Verifier interface {
	Inspect(ctx context.Context, token string) (auth.Principal, jwt.Claims, error)
}

// Pages shows the pages that an authorization request needs.
type Pages interface {
	// SignedIn returns the session of the browser.
	SignedIn(r *http.Request) (session.Session, bool)
	// SignIn lets the user sign in and then continues at returnTo, a path with a query.
	// hint is the e-mail address that the client expects, or empty.
	SignIn(w http.ResponseWriter, r *http.Request, returnTo, hint string)
	// Consent asks the user. done means that it has replied to the request itself, such
	// as with the page that asks.
	Consent(w http.ResponseWriter, r *http.Request, c ConsentRequest) (approved, done bool)
	// Choose lets the user choose the organisation that a client acts in. Each choice is the
	// request with the organisation in its parameter org.
	Choose(w http.ResponseWriter, r *http.Request, c Client, among []session.Organisation)
	// Refuse shows why an authorization request is refused.
	Refuse(w http.ResponseWriter, status int, why string)
}

// ConsentRequest is the question whether a client may act for a user.
type ConsentRequest struct {
	Session session.Session
	Client  Client
	// Org is the organisation of the first tokens; [uuid.Nil] for a person without one.
	Org    uuid.UUID
	Scopes auth.ScopeSet
	// OpenID reports that the client asks who the user is.
	OpenID bool
	// Redirect is the host that the answer is sent to, and Native reports whether it is the user's
	// own machine.
	Redirect string
	Native   bool
}

// Monitor learns of the outcome of requests. Implementations are safe for concurrent use.
type Monitor interface {
	// Issued is called after tokens or a code were issued, and after a revocation that
	// ended a session.
	Issued(r *http.Request, e Event)
	// Refused is called after a refusal other than that of a client's authentication.
	Refused(r *http.Request, e Event)
	// ClientRefused is called after the authentication of a client failed. It returns how
	// long the sender has to wait, or 0 if it has not failed too often.
	ClientRefused(r *http.Request, client string) time.Duration
	// Limited is called before a service account's client, whose secret is right, gets a
	// token. It counts the token and returns 0, or returns how long the client has to wait.
	Limited(client string) time.Duration
}

// The kinds of events other than grant types.
const (
	KindCode = "code"
	// KindToken is a request for tokens without a known grant type.
	KindToken         = "token"
	KindRevocation    = "revocation"
	KindIntrospection = "introspection"
	// KindUserInfo is a request for the claims about a person.
	KindUserInfo = "userinfo"
	// KindClient is the authentication of a client.
	KindClient = "client"
)

// Event describes what was issued, revoked or refused.
type Event struct {
	// Kind is the grant type of a request for tokens, or one of the constants.
	Kind string
	// Client is the id that the request names, bounded in length. It is verified if User
	// or Session is set.
	Client string
	// User, Org and Session are [uuid.Nil] as far as they are unknown.
	User, Org, Session uuid.UUID
	// Reason is the error code of a refusal (RFC 6749 §4.1.2.1 and §5.2), otherwise empty.
	Reason string
}

// Config holds what a [Server] uses.
type Config struct {
	// Issuer is the public URL of the server.
	Issuer   string
	Clients  Clients
	Sessions session.Sessions
	Grants   session.Grants
	Keys     Keys
	Tokens   Verifier
	Access   Access
	People   People
	Pages    Pages
	Monitor  Monitor
	// Documents reads the documents of clients. Without it, there are no open clients.
	Documents Documents
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Logger receives failures, which clients do not see.
	Logger *slog.Logger
}

// Server is the authorization server. It is safe for concurrent use.
type Server struct {
	issuer    string
	clients   Clients
	sessions  session.Sessions
	grants    session.Grants
	keys      Keys
	tokens    Verifier
	access    Access
	people    People
	pages     Pages
	monitor   Monitor
	documents Documents
	now       func() time.Time
	log       *slog.Logger
	flows     *fosite.Fosite
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{issuer: c.Issuer, clients: c.Clients, sessions: c.Sessions, grants: c.Grants, keys: c.Keys, tokens: c.Tokens,
		access: c.Access, people: c.People, pages: c.Pages, monitor: c.Monitor, documents: c.Documents, now: c.Now, log: c.Logger}
	if s.now == nil {
		s.now = time.Now
	}
	config := &fosite.Config{
		EnforcePKCE: true, OmitRedirectScopeParam: true, ClientSecretsHasher: sha256Hasher{},
		AccessTokenLifespan: AccessLife, RefreshTokenLifespan: RefreshLife, AuthorizeCodeLifespan: codeLife,
		// Refresh tokens need no scope. Scopes are checked by this package.
		RefreshTokenScopes: []string{}, ScopeStrategy: func([]string, string) bool { return true },
		SanitationWhiteList: []string{"redirect_uri", "code_challenge", "code_challenge_method"},
	}
	storage, tokens := &store{s}, &strategy{s}
	explicit := &oauth2.AuthorizeExplicitGrantHandler{
		AccessTokenStrategy: tokens, RefreshTokenStrategy: tokens, AuthorizeCodeStrategy: tokens, CoreStorage: storage,
		TokenRevocationStorage: storage, Config: config,
	}
	proof := &pkce.Handler{AuthorizeCodeStrategy: tokens, Storage: storage, Config: config}
	config.AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{explicit, proof}
	config.TokenEndpointHandlers = fosite.TokenEndpointHandlers{
		explicit, proof,
		&oauth2.RefreshTokenGrantHandler{
			AccessTokenStrategy: tokens, RefreshTokenStrategy: tokens, TokenRevocationStorage: storage, Config: config,
		},
		&oauth2.ClientCredentialsGrantHandler{
			HandleHelper: &oauth2.HandleHelper{AccessTokenStrategy: tokens, AccessTokenStorage: storage, Config: config}, Config: config,
		},
	}
	s.flows = fosite.NewOAuth2Provider(storage, config)
	return s
}
