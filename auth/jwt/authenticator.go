package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/epochcache"
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
	// PersonByID returns a person, with no role, who may be a member of no organisation.
	// Service accounts are not people.
	PersonByID(ctx context.Context, user uuid.UUID) (Member, bool, error)
	// MemberBySubject returns the member who a subject of a foreign issuer is. It returns an
	// [*auth.UnboundError] for a subject that its address does not bind.
	MemberBySubject(ctx context.Context, of Subject) (Member, bool, error)
}

// Subject is somebody whom a foreign issuer names by an address that it has verified.
type Subject struct {
	Org        uuid.UUID
	Issuer, ID string
	Email      string
}

// Options are the optional parts of an [Authenticator].
type Options struct {
	// Epoch returns a number that changes with every change in the catalog that can
	// affect a result: of a role, a membership, a session. If it returns an error, the
	// epoch could not be confirmed and no token is accepted. It is called for every token
	// and must be fast. Without Epoch nothing is cached.
	Epoch func() (uint64, error)
	// Now is the clock; default [time.Now].
	Now func() time.Time
}

// Authenticator verifies tokens. It is safe for concurrent use.
type Authenticator struct {
	members Members
	issuers map[string]*Issuer
	epoch   func() (uint64, error)
	now     func() time.Time
	// Accepted and refused tokens have separate caches, so that a flood of tokens of
	// former members cannot evict valid ones. refused holds the refusals that were
	// decided by the catalog.
	accepted *epochcache.Cache[verified]
	refused  *epochcache.Cache[error]
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New returns an Authenticator for the given issuers. Errors wrap [ErrConfig].
func New(members Members, issuers []Issuer, opts Options) (*Authenticator, error) {
	a := &Authenticator{
		members: members, issuers: make(map[string]*Issuer, len(issuers)), epoch: opts.Epoch, now: opts.Now,
		accepted: epochcache.New[verified](epochcache.Limit), refused: epochcache.New[error](epochcache.Limit),
	}
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
// signature, the audience and the times are verified. The same token again within one
// epoch, of a member or not, causes none either.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (auth.Principal, error) {
	p, err := a.verify(ctx, bearer)
	if errors.Is(err, auth.ErrUnauthenticated) {
		return auth.Principal{}, &auth.Refusal{Account: claimedAccount(bearer), Cause: err}
	}
	return p, err
}

func (a *Authenticator) verify(ctx context.Context, bearer string) (auth.Principal, error) {
	if len(bearer) > maxToken {
		return auth.Principal{}, auth.ErrMalformed
	}
	// The epoch is known before the catalog is read. If a change happens in between, the
	// cached result is assigned to an old epoch and not used.
	var epoch uint64
	if a.epoch != nil {
		var err error
		if epoch, err = a.epoch(); err != nil {
			return auth.Principal{}, fmt.Errorf("%w: confirm catalog epoch: %w", auth.ErrUnavailable, err)
		}
	}
	hash := sha256.Sum256([]byte(bearer))
	if known, ok := a.accepted.Get(hash, epoch); ok {
		current, err := known.signature.current(ctx)
		if err != nil {
			return auth.Principal{}, err
		}
		if current {
			return known.principal, known.checkTimes(a.now())
		}
	}
	s, err := a.signed(ctx, bearer)
	if err != nil {
		return auth.Principal{}, err
	}
	if err, ok := a.refused.Get(hash, epoch); ok {
		return auth.Principal{}, err
	}
	known, err := a.identify(ctx, s)
	switch {
	case a.epoch == nil:
	case err == nil:
		a.accepted.Put(hash, epoch, known)
	case errors.Is(err, auth.ErrUnauthenticated):
		a.refused.Put(hash, epoch, err)
	}
	return known.principal, err
}

// verified is a verified token with the caller that it stands for while it is valid.
type verified struct {
	signature
	principal auth.Principal
	// sessionEnd is zero if the issuer's sessions are not known.
	sessionEnd time.Time
}

// checkTimes returns an error if the token or its session has expired since.
func (v verified) checkTimes(now time.Time) error {
	if !v.sessionEnd.IsZero() && !now.Before(v.sessionEnd) {
		return auth.ErrRevoked
	}
	return v.claims.checkTimes(now)
}

// identify looks up the caller of a token with the member's current role.
func (a *Authenticator) identify(ctx context.Context, s signature) (verified, error) {
	issuer, c := s.issuer, s.claims
	org, err := issuer.organisation(c.Organisation)
	if err != nil {
		return verified{}, err
	}
	session, live, err := issuer.session(ctx, c.Session, org, a.now())
	if err != nil {
		return verified{}, err
	}
	member, err := a.member(ctx, issuer, org, c)
	if err != nil {
		return verified{}, err
	}
	p := auth.Principal{
		OrgID:   org,
		UserID:  member.UserID,
		Email:   member.Email,
		Role:    member.Role,
		Granted: issuer.DefaultScopes,
		Method:  auth.MethodJWT,

		SessionID: session,
		// Which person an e-mail subject is was decided by the organisation.
		Confined: live.Org != uuid.Nil || len(issuer.Organisations) > 0 || issuer.EmailSubjects,
		Program:  live.Program,
	}
	if c.Scope != nil {
		p.Granted = auth.StoredScopes(strings.Split(*c.Scope, " "))
	}
	p.Scopes = p.Granted.Intersect(p.Role.Scopes())
	return verified{s, p, live.Until}, nil
}

// member returns the member that the token identifies, or the person if org is
// [uuid.Nil].
func (a *Authenticator) member(ctx context.Context, issuer *Issuer, org uuid.UUID, c *claims) (Member, error) {
	if c.Subject == "" {
		return Member{}, refuse("sub missing")
	}
	var m Member
	var found bool
	var err error
	if issuer.EmailSubjects {
		of, refusal := subjectOf(issuer, org, c)
		if refusal != nil {
			return Member{}, refusal
		}
		m, found, err = a.members.MemberBySubject(ctx, of)
	} else {
		user, ok := parseID(c.Subject)
		if !ok {
			return Member{}, refuse("sub is not an id")
		}
		if org == uuid.Nil {
			m, found, err = a.members.PersonByID(ctx, user)
			m.Role = ""
		} else {
			m, found, err = a.members.MemberByID(ctx, org, user)
		}
	}
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return Member{}, err
	case err != nil:
		return Member{}, fmt.Errorf("%w: look up member: %w", auth.ErrUnavailable, err)
	case !found || org != uuid.Nil && !m.Role.Valid():
		return Member{}, auth.ErrNoMember
	}
	return m, nil
}

// subjectOf returns the subject of a token of an issuer that names people by addresses.
func subjectOf(issuer *Issuer, org uuid.UUID, c *claims) (Subject, error) {
	switch {
	case c.Subject == "":
		return Subject{}, refuse("sub missing")
	case c.Email == "" || c.EmailVerified == nil || !*c.EmailVerified:
		return Subject{}, refuse("no verified e-mail")
	}
	return Subject{Org: org, Issuer: issuer.URL, ID: c.Subject, Email: c.Email}, nil
}

// Subject verifies a token of an issuer that names people by addresses, and returns its subject,
// who may be nobody. Refusals wrap [auth.ErrUnauthenticated].
func (a *Authenticator) Subject(ctx context.Context, token string) (Subject, error) {
	if len(token) > maxToken {
		return Subject{}, auth.ErrMalformed
	}
	s, err := a.signed(ctx, token)
	if err != nil {
		return Subject{}, err
	}
	if !s.issuer.EmailSubjects {
		return Subject{}, refuse("issuer names people by their ids")
	}
	org, err := s.issuer.organisation(s.claims.Organisation)
	if err != nil {
		return Subject{}, err
	}
	return subjectOf(s.issuer, org, s.claims)
}
