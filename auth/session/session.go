package session

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Sentinels of the implementations.
var (
	// ErrNotFound is returned for a record that does not exist, has expired, or was used
	// or revoked. A retry does not help.
	ErrNotFound = errors.New("session or token not found")
	// ErrReused is returned for a grant that was used before. Its session has been
	// revoked: one of the two users is not the one that the grant was issued to.
	ErrReused = errors.New("grant reused")
)

// Method is how a user signed in.
type Method string

// The methods.
const (
	MethodPassword Method = "password"
	MethodSSO      Method = "sso"
	// MethodClient is the sign-in of a service account by its client's secret.
	MethodClient Method = "client"
)

// Session is one sign-in of a user. Access tokens name it in their claim sid.
type Session struct {
	ID   uuid.UUID
	User uuid.UUID
	// Org limits the session to one organisation: the organisation whose single sign-on
	// was used, or that of a client. [uuid.Nil] means every organisation of the user.
	Org uuid.UUID
	// Client is the OAuth client that the session belongs to; empty for a browser.
	Client string
	// Parent is the session of the browser in which the person allowed the client; [uuid.Nil] for
	// other sessions.
	Parent uuid.UUID
	Method Method
	// Issuer, Subject and ProviderSession identify the session at the identity provider.
	// They are empty unless Method is [MethodSSO]. ProviderSession may be empty then, too.
	Issuer, Subject, ProviderSession string
	CreatedAt                        time.Time
	ExpiresAt                        time.Time
	// RevokedAt is zero for a session that was not revoked.
	RevokedAt time.Time
}

// FirstParty is the id of the built-in client, which people run themselves.
const FirstParty = "lakewarden"

// Program reports whether the session belongs to a client other than the built-in one.
func (s Session) Program() bool { return s.Client != "" && s.Client != FirstParty }

// Live reports whether the session is neither revoked nor expired at the given time.
func (s Session) Live(at time.Time) bool { return s.RevokedAt.IsZero() && at.Before(s.ExpiresAt) }

// Organisation is an organisation that a person chooses for a session.
type Organisation struct {
	ID   uuid.UUID
	Name string
}

// Listed is a session with what people recognise it by.
type Listed struct {
	Session
	// ClientName is empty for a browser, and for a client without a record.
	ClientName string
}

// Filter selects live sessions of a user.
type Filter struct {
	User uuid.UUID
	// ID selects one session; [uuid.Nil] means any.
	ID uuid.UUID
	// Org selects the sessions that are limited to an organisation; [uuid.Nil] means all sessions.
	Org uuid.UUID
	// Domain, with Org, also selects the sessions without a limit if the user is the organisation's own:
	// it has verified Domain, that of the user's e-mail address, or is the only one of the server.
	Domain string
}

// Sessions stores sessions. Implementations are safe for concurrent use. Errors of an
// unreachable database wrap catalog.ErrUnavailable.
type Sessions interface {
	// CreateSession stores a session. A nil ID lets the store choose one; the store sets
	// CreatedAt. If the user has very many sessions with the client, the oldest end.
	CreateSession(ctx context.Context, s Session) (Session, error)
	// Session returns a session in any state, or [ErrNotFound].
	Session(ctx context.Context, id uuid.UUID) (Session, error)
	// RevokeSession ends a session. Idempotent.
	RevokeSession(ctx context.Context, id uuid.UUID) error
	// RevokeFamily ends a session and those whose parent it is. Idempotent.
	RevokeFamily(ctx context.Context, id uuid.UUID) error
	// RevokeUser ends all sessions of a user, such as after a change of the password,
	// except the one with the given id, which may be [uuid.Nil].
	RevokeUser(ctx context.Context, user, except uuid.UUID) error
	// RevokeProvider ends the sessions of an organisation that began at the issuer: the
	// one with the provider's session id, or, without one, all of the subject. With both,
	// also those of the subject whose session id is unknown. It returns their number.
	RevokeProvider(ctx context.Context, org uuid.UUID, issuer, subject, providerSession string) (int64, error)
}

// OneTimeTokens stores tokens that can be used once: links in e-mails, states of
// redirects. Implementations are safe for concurrent use.
type OneTimeTokens interface {
	// CreateToken stores data, which is encoded as JSON, and returns a new token. subject
	// identifies what the token is about.
	CreateToken(ctx context.Context, purpose, subject string, data any, life time.Duration) (string, error)
	// ReadToken decodes the data of a token and leaves the token usable. It returns
	// [ErrNotFound] for a token of another purpose.
	ReadToken(ctx context.Context, purpose, token string, data any) error
	// TakeToken is ReadToken, and removes the token: of several calls, one succeeds.
	TakeToken(ctx context.Context, purpose, token string, data any) error
	// WithdrawTokens removes the tokens of a purpose that are about a subject.
	WithdrawTokens(ctx context.Context, purpose, subject string) error
}

// Browsers stores the cookies of browsers that are signed in at the server's own pages.
// Implementations are safe for concurrent use.
type Browsers interface {
	// CreateBrowser returns a new cookie for a session, valid until the session ends.
	CreateBrowser(ctx context.Context, session uuid.UUID) (string, error)
	// Browser returns the live session of a cookie, or [ErrNotFound].
	Browser(ctx context.Context, cookie string) (Session, error)
	// DeleteBrowser forgets a cookie. Idempotent.
	DeleteBrowser(ctx context.Context, cookie string) error
	// ReplaceBrowser ends the session of a cookie, because the session by has begun in the same
	// browser. If both sessions have the same user, by becomes the parent of the programs of the
	// other one. Otherwise these programs end, too. It does nothing for a cookie without a live session.
	ReplaceBrowser(ctx context.Context, cookie string, by Session) error
}
