package identity

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Joining accepts invitations in a browser, and signs in the people who accept.
type Joining struct {
	Invitations Invitations
	Passwords   Passwords
	SignIn      SignIn
}

// Open returns the invitation of a token, which remains usable. It returns [ErrLink].
func (j Joining) Open(ctx context.Context, token string) (catalog.OpenInvitation, error) {
	return j.Invitations.Open(ctx, token)
}

// WithNewPassword accepts an invitation for a person without a password and sets one, with
// the same effects as [Passwords.Set]. It returns [ErrLink], [catalog.FieldErrors] of
// display_name and password, or [catalog.ErrExists] for a person who has a password.
func (j Joining) WithNewPassword(ctx context.Context, token, displayName, text string, from Origin) (SignedIn, error) {
	open, err := j.Invitations.Open(ctx, token)
	if err != nil {
		return SignedIn{}, err
	}
	if displayName = strings.TrimSpace(displayName); displayName == "" {
		return SignedIn{}, fault.Invalid("display_name", "must not be empty")
	}
	if err := j.Passwords.CheckNew("password", open.Email, text); err != nil {
		return SignedIn{}, err
	}
	hash, err := j.Passwords.hash(ctx, text, from)
	if err != nil {
		return SignedIn{}, err
	}
	_, user, err := j.Invitations.AcceptWithPassword(ctx, token, displayName, hash, from)
	if err != nil {
		return SignedIn{}, err
	}
	if err := j.Passwords.changed(ctx, user, uuid.Nil, from); err != nil {
		return SignedIn{}, err
	}
	return j.SignIn.Password(ctx, open.Email, text, from)
}

// WithPassword signs in the invited person by password and accepts the invitation. It
// returns the errors of [SignIn.Password] and [ErrLink].
func (j Joining) WithPassword(ctx context.Context, token, text string, from Origin) (SignedIn, error) {
	open, err := j.Invitations.Open(ctx, token)
	if err != nil {
		return SignedIn{}, err
	}
	in, err := j.SignIn.Password(ctx, open.Email, text, from)
	if err != nil {
		return SignedIn{}, err
	}
	_, err = j.Invitations.Accept(auth.WithPrincipal(ctx, auth.Principal{
		Granted: auth.AllScopes(),
		UserID:  in.Session.User, SessionID: in.Session.ID, Method: auth.MethodJWT, Remote: from.Remote, RequestID: from.RequestID,
	}), token)
	if err != nil {
		return SignedIn{}, errors.Join(err, j.SignIn.Out(ctx, in.Cookie, from))
	}
	return in, nil
}
