package binding

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Proposal is a subject that a browser has proved by a sign-in, for the user with its address to
// confirm.
type Proposal struct {
	Org     catalog.OrgID  `json:"org"`
	User    catalog.UserID `json:"user"`
	Issuer  string         `json:"issuer"`
	Subject string         `json:"subject"`
	Email   string         `json:"email"`
	// ReturnTo is where the sign-in was to continue, or empty.
	ReturnTo string `json:"return_to"`
}

const (
	purpose = "identity_proposal"
	// ProposalLife is how long a browser may confirm.
	ProposalLife = 15 * time.Minute
)

// Propose stores a proposal, and returns the cookie of the browser.
func Propose(ctx context.Context, tokens session.OneTimeTokens, p Proposal) (cookie string, err error) {
	return tokens.CreateToken(ctx, purpose, string(p.Org), p, ProposalLife)
}

// ErrNothing is returned if a browser has nothing to confirm, or not any more: 400.
var ErrNothing = fault.New("invalid_state", "no sign-in to confirm in this browser, or over")

// ErrOther is returned if a browser is not signed in as the user with the address: 403.
var ErrOther = fault.New("forbidden", "not signed in as the user with the address")

// Store is the part of the catalog that [Confirmations] uses.
type Store interface {
	User(ctx context.Context, user catalog.UserID) (catalog.User, error)
	IdentityBinding(ctx context.Context, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error)
	BindIdentity(ctx context.Context, binding catalog.NewIdentityBinding) (catalog.IdentityBinding, error)
}

// Confirmations binds subjects for their own users, who have signed in at the server's own pages.
// A password suffices also where the organisation requires single sign-on.
type Confirmations struct {
	Store    Store
	Tokens   session.OneTimeTokens
	Browsers session.Browsers
	// Subject verifies a token of a foreign issuer that names people by addresses. Refusals wrap
	// [auth.ErrUnauthenticated].
	Subject func(ctx context.Context, token string) (org uuid.UUID, issuer, subject, email string, err error)
	Audit   Recorder
}

// Request is what a browser sends.
type Request struct {
	// Proposal and Browser are cookies: of the proposal, and of the sign-in at the server's pages.
	Proposal, Browser string
	Remote, RequestID string
}

// Pending returns the proposal of a browser, which remains, and whether the browser is signed in as
// the user whom it is for. It returns [ErrNothing].
func (c Confirmations) Pending(ctx context.Context, r Request) (p Proposal, own bool, err error) {
	if err := c.Tokens.ReadToken(ctx, purpose, r.Proposal, &p); err != nil {
		return p, false, gone(err)
	}
	switch err := c.signedIn(ctx, r, p); {
	case err == nil:
		return p, true, nil
	case errors.Is(err, ErrOther):
		return p, false, nil
	default:
		return p, false, err
	}
}

// signedIn checks that a browser is signed in as the user of a proposal.
func (c Confirmations) signedIn(ctx context.Context, r Request, p Proposal) error {
	if r.Browser == "" {
		return ErrOther
	}
	of, err := c.Browsers.Browser(ctx, r.Browser)
	if errors.Is(err, session.ErrNotFound) {
		return ErrOther
	}
	if err != nil {
		return err
	}
	elsewhere := of.Org != uuid.Nil && of.Org.String() != string(p.Org)
	if elsewhere || of.User.String() != string(p.User) {
		return ErrOther
	}
	if of.Method != session.MethodSSO {
		return nil
	}
	// A session of an earlier release may have found the user by the address alone.
	bound, err := c.Store.IdentityBinding(authz.System(ctx, "identity confirmation"), p.Org, of.Issuer, of.Subject)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && bound.User != p.User {
		return ErrOther
	}
	return err
}

// Confirm binds the subject of the browser's proposal, and returns the proposal. It returns
// [ErrNothing], [ErrOther], [catalog.ErrNotFound] for somebody who is not a member, and
// [catalog.ErrExists] for a subject that is bound to somebody else meanwhile.
func (c Confirmations) Confirm(ctx context.Context, r Request) (p Proposal, err error) {
	p, own, err := c.Pending(ctx, r)
	if err == nil && !own {
		err = ErrOther
	}
	if err == nil {
		err = gone(c.Tokens.TakeToken(ctx, purpose, r.Proposal, &p))
	}
	if err != nil {
		return p, err
	}
	return p, c.bind(ctx, p, r)
}

// ConfirmToken is Confirm for the subject of a token of a foreign issuer. It also returns
// [catalog.FieldErrors] for another token.
func (c Confirmations) ConfirmToken(ctx context.Context, token string, r Request) (p Proposal, err error) {
	of, err := c.Browsers.Browser(ctx, r.Browser)
	if errors.Is(err, session.ErrNotFound) {
		err = ErrOther
	}
	if err != nil {
		return p, err
	}
	org, issuer, subject, email, err := c.Subject(ctx, token)
	if errors.Is(err, auth.ErrUnauthenticated) {
		err = fault.Invalid("token", "must be a valid access token of an issuer that names people by their e-mail addresses")
	}
	if err != nil {
		return p, err
	}
	p = Proposal{Org: catalog.OrgID(org.String()), User: catalog.UserID(of.User.String()), Issuer: issuer, Subject: subject,
		Email: catalog.NormaliseEmail(email)}
	user, err := c.Store.User(authz.System(ctx, "identity confirmation"), p.User)
	if err == nil && user.Email != p.Email {
		err = ErrOther
	}
	if err == nil {
		err = c.signedIn(ctx, r, p)
	}
	if err != nil {
		return p, err
	}
	return p, c.bind(ctx, p, r)
}

func (c Confirmations) bind(ctx context.Context, p Proposal, r Request) error {
	bound, err := c.Store.BindIdentity(authz.System(ctx, "identity confirmation"), catalog.NewIdentityBinding{Org: p.Org, User: p.User,
		Issuer: p.Issuer, Subject: p.Subject, Method: catalog.BoundByMember})
	if err != nil {
		return err
	}
	entry := bound.Entry(catalog.ActionIdentityBound)
	entry.User, entry.Remote, entry.RequestID = p.User, r.Remote, r.RequestID
	c.Audit.Record(entry)
	return nil
}

func gone(err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return ErrNothing
	}
	return err
}
