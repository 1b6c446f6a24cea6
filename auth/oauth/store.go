package oauth

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"
	"github.com/ory/fosite/storage"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// granted is the session of a fosite request: the sign-in, and what was granted to the
// client.
type granted struct {
	session session.Session
	// org is the organisation of the tokens; [uuid.Nil] for tokens without one.
	org    uuid.UUID
	scopes auth.ScopeSet
	// allowed are the scopes of the user's present role in org.
	allowed auth.ScopeSet
	// openID reports that the person has agreed to tell the client who they are, and nonce and
	// signedIn are for its ID tokens: the nonce of the request, and when the person signed in.
	openID   bool
	nonce    string
	signedIn time.Time
	// narrowed bounds the scopes of the next access token only.
	narrowed *auth.ScopeSet
	// anonymous reports that the next tokens do not tell who the person is.
	anonymous bool
	// life is that of the access token that was issued last.
	life time.Duration
}

// expiresIn returns the life of the access token in whole seconds.
func (g *granted) expiresIn() int64 { return int64(g.life / time.Second) }

var _ fosite.Session = (*granted)(nil)

// SetExpiresAt implements fosite.Session. It ignores the time: the lives of tokens are
// those of this package, on its clock.
func (*granted) SetExpiresAt(fosite.TokenType, time.Time) {}

// GetExpiresAt implements fosite.Session.
func (*granted) GetExpiresAt(fosite.TokenType) time.Time { return time.Time{} }

// GetUsername implements fosite.Session.
func (*granted) GetUsername() string { return "" }

// GetSubject implements fosite.Session.
func (g *granted) GetSubject() string { return g.session.User.String() }

// Clone implements fosite.Session.
func (g *granted) Clone() fosite.Session {
	clone := *g
	return &clone
}

// request is what a grant stores about the request that it comes from.
type request struct {
	Org         uuid.UUID `json:"org"`
	Scopes      []string  `json:"scopes"`
	RedirectURI string    `json:"redirect_uri,omitempty"`
	Challenge   string    `json:"code_challenge,omitempty"`
	OpenID      bool      `json:"openid,omitempty"`
	Nonce       string    `json:"nonce,omitempty"`
	// SignedIn is a time in seconds since 1970.
	SignedIn int64 `json:"signed_in,omitempty"`
}

// exchange is the state of one request for tokens: the grant that is used up and its
// successor, which are stored together.
type exchange struct {
	kind            session.GrantKind
	used, successor []byte
	grant           session.Grant
	// reused reports that the grant was used before. family is its session.
	reused bool
	family uuid.UUID
	// proving is the session of the code whose verifier is checked, or [uuid.Nil] before the check.
	proving uuid.UUID
	// ended reports that the session has ended since the grant was read.
	ended bool
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	if e == nil {
		return &exchange{}
	}
	return e
}

// clientKey is the context key of the client of an authorization request.
type clientKey struct{}

// store adapts the contracts of package session to fosite. Signatures are the hex form of
// the hash of a secret.
type store struct{ *Server }

var (
	_ fosite.Storage                = (*store)(nil)
	_ oauth2.CoreStorage            = (*store)(nil)
	_ oauth2.TokenRevocationStorage = (*store)(nil)
	_ pkce.PKCERequestStorage       = (*store)(nil)
	_ storage.Transactional         = (*store)(nil)
)

// GetClient implements fosite.ClientManager.
func (s *store) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	if c, ok := ctx.Value(clientKey{}).(*registered); ok && c.ID == id {
		return c, nil
	}
	c, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return &registered{Client: c}, nil
}

// ClientAssertionJWTValid implements fosite.ClientManager. Clients authenticate by secrets
// only.
func (*store) ClientAssertionJWTValid(context.Context, string) error { return fosite.ErrNotFound }

// SetClientAssertionJWT implements fosite.ClientManager.
func (*store) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return fosite.ErrNotFound
}

func hashOf(signature string) []byte {
	hash, _ := hex.DecodeString(signature) // of session.Hash
	return hash
}

// grantOf returns the grant of a request, to be stored.
func (s *store) grantOf(kind session.GrantKind, r fosite.Requester, life time.Duration) (session.Grant, error) {
	g, ok := r.GetSession().(*granted)
	if !ok {
		return session.Grant{}, errors.New("request has no session")
	}
	form := r.GetRequestForm()
	stored := request{Org: g.org, Scopes: g.scopes.Strings()}
	if kind == session.GrantCode {
		stored.RedirectURI, stored.Challenge = form.Get("redirect_uri"), form.Get("code_challenge")
	}
	if g.openID {
		stored.OpenID, stored.SignedIn = true, g.signedIn.Unix()
		if kind == session.GrantCode {
			stored.Nonce = g.nonce
		}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return session.Grant{}, fmt.Errorf("encode request: %w", err)
	}
	expires := s.now().Add(life)
	if expires.After(g.session.ExpiresAt) {
		expires = g.session.ExpiresAt
	}
	return session.Grant{Kind: kind, Session: g.session.ID, Client: r.GetClient().GetID(), Request: text, ExpiresAt: expires}, nil
}

// load returns the request of a grant. For a grant that was used it also returns
// [session.ErrReused].
func (s *store) load(ctx context.Context, kind session.GrantKind, signature string) (*fosite.Request, error) {
	found, of, err := s.grants.Grant(ctx, kind, hashOf(signature))
	reused := errors.Is(err, session.ErrReused)
	switch {
	case reused:
		e := exchangeOf(ctx)
		e.reused, e.family = true, found.Session
	case errors.Is(err, session.ErrNotFound):
		return nil, fosite.ErrNotFound.WithWrap(err)
	case err != nil:
		return nil, err
	}
	var stored request
	if err := json.Unmarshal(found.Request, &stored); err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	r := fosite.NewRequest()
	r.ID, r.RequestedAt = found.Session.String(), found.CreatedAt
	r.Client = &registered{Client: Client{ID: found.Client}}
	r.Session = &granted{session: of, org: stored.Org, scopes: auth.StoredScopes(stored.Scopes), openID: stored.OpenID,
		nonce: stored.Nonce, signedIn: time.Unix(stored.SignedIn, 0)}
	r.RequestedScope, r.GrantedScope = stored.Scopes, stored.Scopes
	r.Form.Set("redirect_uri", stored.RedirectURI)
	r.Form.Set("code_challenge", stored.Challenge)
	r.Form.Set("code_challenge_method", "S256")
	if reused {
		return r, session.ErrReused
	}
	return r, nil
}

// CreateAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage.
func (s *store) CreateAuthorizeCodeSession(ctx context.Context, signature string, r fosite.Requester) error {
	g, err := s.grantOf(session.GrantCode, r, codeLife)
	if err != nil {
		return err
	}
	return s.grants.CreateGrant(ctx, hashOf(signature), g)
}

// GetAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage.
func (s *store) GetAuthorizeCodeSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	r, err := s.load(ctx, session.GrantCode, signature)
	if errors.Is(err, session.ErrReused) {
		err = fosite.ErrInvalidatedAuthorizeCode
	}
	return r, err
}

// InvalidateAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage. It takes effect
// in Commit.
func (s *store) InvalidateAuthorizeCodeSession(ctx context.Context, signature string) error {
	e := exchangeOf(ctx)
	e.kind, e.used = session.GrantCode, hashOf(signature)
	return nil
}

// CreateAccessTokenSession implements oauth2.AccessTokenStorage. Access tokens are not
// stored.
func (*store) CreateAccessTokenSession(context.Context, string, fosite.Requester) error { return nil }

// GetAccessTokenSession implements oauth2.AccessTokenStorage.
func (*store) GetAccessTokenSession(context.Context, string, fosite.Session) (fosite.Requester, error) {
	return nil, fosite.ErrNotFound
}

// DeleteAccessTokenSession implements oauth2.AccessTokenStorage.
func (*store) DeleteAccessTokenSession(context.Context, string) error { return nil }

// CreateRefreshTokenSession implements oauth2.RefreshTokenStorage. It takes effect in
// Commit.
func (s *store) CreateRefreshTokenSession(ctx context.Context, signature, _ string, r fosite.Requester) (err error) {
	e := exchangeOf(ctx)
	e.successor = hashOf(signature)
	e.grant, err = s.grantOf(session.GrantRefresh, r, RefreshLife)
	return err
}

// GetRefreshTokenSession implements oauth2.RefreshTokenStorage.
func (s *store) GetRefreshTokenSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	r, err := s.load(ctx, session.GrantRefresh, signature)
	if errors.Is(err, session.ErrReused) {
		err = fosite.ErrInactiveToken.WithWrap(err)
	}
	return r, err
}

// DeleteRefreshTokenSession implements oauth2.RefreshTokenStorage. A used token is
// retained, so that another use of it is recognised.
func (*store) DeleteRefreshTokenSession(context.Context, string) error { return nil }

// RotateRefreshToken implements oauth2.RefreshTokenStorage. It takes effect in Commit.
func (*store) RotateRefreshToken(ctx context.Context, _, signature string) error {
	e := exchangeOf(ctx)
	e.kind, e.used = session.GrantRefresh, hashOf(signature)
	return nil
}

// RevokeRefreshToken implements oauth2.TokenRevocationStorage. The id of a request is that
// of its session.
func (s *store) RevokeRefreshToken(ctx context.Context, id string) error {
	session, err := uuid.Parse(id)
	if err != nil {
		return err
	}
	return s.sessions.RevokeSession(ctx, session)
}

// RevokeAccessToken implements oauth2.TokenRevocationStorage.
func (s *store) RevokeAccessToken(ctx context.Context, id string) error {
	return s.RevokeRefreshToken(ctx, id)
}

// BeginTX implements storage.Transactional.
func (*store) BeginTX(ctx context.Context) (context.Context, error) { return ctx, nil }

// Commit implements storage.Transactional. It stores the exchange of the request.
func (s *store) Commit(ctx context.Context) error {
	e := exchangeOf(ctx)
	if e.used == nil || e.successor == nil {
		return nil
	}
	err := s.grants.ExchangeGrant(ctx, e.kind, e.used, e.successor, e.grant)
	if errors.Is(err, session.ErrReused) {
		e.reused, e.family = true, e.grant.Session
	}
	e.ended = errors.Is(err, session.ErrNotFound)
	return err
}

// Rollback implements storage.Transactional. Nothing was stored.
func (*store) Rollback(context.Context) error { return nil }

// CreatePKCERequestSession implements pkce.PKCERequestStorage. The grant of the code holds
// the challenge.
func (*store) CreatePKCERequestSession(context.Context, string, fosite.Requester) error { return nil }

// GetPKCERequestSession implements pkce.PKCERequestStorage.
func (s *store) GetPKCERequestSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	r, err := s.load(ctx, session.GrantCode, signature)
	if err != nil {
		return nil, err
	}
	exchangeOf(ctx).proving = r.Session.(*granted).session.ID // load returns no other type
	return r, nil
}

// DeletePKCERequestSession implements pkce.PKCERequestStorage.
func (*store) DeletePKCERequestSession(context.Context, string) error { return nil }
