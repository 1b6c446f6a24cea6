package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// Member is a current member of an organisation.
type Member struct {
	UserID uuid.UUID
	Email  string
	Role   auth.Role
}

// Members is the part of the catalog that the Authenticator uses. The bool is false if
// there is no such member. Implementations are safe for concurrent use.
type Members interface {
	MemberByID(ctx context.Context, org, user uuid.UUID) (Member, bool, error)
	// MemberByEmail compares addresses like the rest of the catalog.
	MemberByEmail(ctx context.Context, org uuid.UUID, email string) (Member, bool, error)
}

// Options are the optional parts of an [Authenticator].
type Options struct {
	// Now is the clock; default [time.Now].
	Now func() time.Time
}

// Authenticator verifies tokens. It is safe for concurrent use and does not cache
// tokens or members.
type Authenticator struct {
	members Members
	issuers map[string]*Issuer
	now     func() time.Time
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New returns an Authenticator for the given issuers. Errors wrap [ErrConfig].
func New(members Members, issuers []Issuer, opts Options) (*Authenticator, error) {
	a := &Authenticator{members: members, issuers: make(map[string]*Issuer, len(issuers)), now: opts.Now}
	if a.now == nil {
		a.now = time.Now
	}
	for _, issuer := range issuers {
		if err := issuer.verify(); err != nil {
			return nil, err
		}
		if a.issuers[issuer.URL] != nil {
			return nil, fmt.Errorf("%w: issuer %s is configured twice", ErrConfig, issuer.URL)
		}
		a.issuers[issuer.URL] = &issuer
	}
	return a, nil
}

// Authenticate implements [auth.Authenticator]. A refusal is an [*auth.Refusal].
//
// A wrong token causes no call of the catalog: the member is looked up only after the
// signature, the audience and the times are verified.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (auth.Principal, error) {
	p, err := a.verify(ctx, bearer)
	if errors.Is(err, auth.ErrUnauthenticated) {
		return auth.Principal{}, &auth.Refusal{Account: claimedAccount(bearer), Cause: err}
	}
	return p, err
}

func (a *Authenticator) verify(ctx context.Context, bearer string) (auth.Principal, error) {
	parts := strings.Split(bearer, ".")
	if len(bearer) > maxToken || len(parts) != 3 || strings.ContainsAny(bearer, "\r\n") { // base64 decoders skip line ends
		return auth.Principal{}, auth.ErrMalformed
	}
	h, err := parseHeader(parts[0])
	if err != nil {
		return auth.Principal{}, err
	}
	name, err := peekIssuer(parts[1])
	if err != nil {
		return auth.Principal{}, err
	}
	issuer := a.issuers[name]
	if issuer == nil {
		return auth.Principal{}, refuse("unknown issuer")
	}
	payload, err := verifySignature(ctx, bearer, h, issuer)
	if err != nil {
		return auth.Principal{}, err
	}
	var c claims
	if !decodeJSON(payload, &c) {
		return auth.Principal{}, auth.ErrMalformed
	}
	return a.principal(ctx, issuer, &c)
}

// verifySignature returns the payload that the issuer signed.
func verifySignature(ctx context.Context, token string, h header, issuer *Issuer) ([]byte, error) {
	if !slices.Contains(issuer.Algorithms, h.alg) {
		return nil, refuse("alg not accepted")
	}
	key, err := issuer.Keys.Key(ctx, h.kid)
	if err != nil {
		return nil, err
	}
	if !fits(key, h.alg) {
		return nil, refuse("key does not fit alg")
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(h.alg)})
	if err != nil {
		return nil, auth.ErrMalformed
	}
	payload, err := signed.Verify(key.Key)
	if err != nil {
		return nil, refuse("signature")
	}
	return payload, nil
}

// fits reports whether a key of the issuer may verify signatures of alg. The type of
// the key must match, and its own attributes must not contradict.
func fits(key jose.JSONWebKey, alg string) bool {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != alg {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return alg == RS256 && public.N.BitLen() >= 2048
	case *ecdsa.PublicKey:
		return alg == ES256 && public.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return alg == EdDSA
	}
	return false
}

// principal turns signed claims into a principal with the member's current role.
func (a *Authenticator) principal(ctx context.Context, issuer *Issuer, c *claims) (auth.Principal, error) {
	if c.Issuer != issuer.URL {
		return auth.Principal{}, refuse("iss")
	}
	if !slices.Contains(c.Audience, issuer.Audience) {
		return auth.Principal{}, refuse("aud")
	}
	if err := c.checkTimes(a.now()); err != nil {
		return auth.Principal{}, err
	}
	org, err := issuer.organisation(c.Organisation)
	if err != nil {
		return auth.Principal{}, err
	}
	member, err := a.member(ctx, issuer, org, c)
	if err != nil {
		return auth.Principal{}, err
	}
	p := auth.Principal{
		OrgID:   org,
		UserID:  member.UserID,
		Email:   member.Email,
		Role:    member.Role,
		Granted: issuer.DefaultScopes,
		Method:  auth.MethodJWT,
	}
	if c.Scope != nil {
		p.Granted = auth.StoredScopes(strings.Split(*c.Scope, " "))
	}
	p.Scopes = p.Granted.Intersect(p.Role.Scopes())
	return p, nil
}

// member returns the member that the token identifies.
func (a *Authenticator) member(ctx context.Context, issuer *Issuer, org uuid.UUID, c *claims) (Member, error) {
	if c.Subject == "" {
		return Member{}, refuse("sub missing")
	}
	var m Member
	var found bool
	var err error
	if issuer.EmailSubjects {
		if c.Email == "" || c.EmailVerified == nil || !*c.EmailVerified {
			return Member{}, refuse("no verified e-mail")
		}
		m, found, err = a.members.MemberByEmail(ctx, org, c.Email)
	} else {
		user, ok := parseID(c.Subject)
		if !ok {
			return Member{}, refuse("sub is not an id")
		}
		m, found, err = a.members.MemberByID(ctx, org, user)
	}
	switch {
	case err != nil:
		return Member{}, fmt.Errorf("%w: look up member: %w", auth.ErrUnavailable, err)
	case !found || !m.Role.Valid():
		return Member{}, auth.ErrNoMember
	}
	return m, nil
}
