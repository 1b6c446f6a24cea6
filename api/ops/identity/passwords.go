package identity

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// PasswordStore stores the accounts that passwords belong to.
type PasswordStore interface {
	catalog.Passwords
	User(ctx context.Context, user catalog.UserID) (catalog.User, error)
	UserByEmail(ctx context.Context, email string) (catalog.User, error)
}

// Hasher hashes and verifies passwords: a [password.Hasher].
type Hasher interface {
	Hash(ctx context.Context, source password.Source, text string) (string, error)
	Verify(ctx context.Context, source password.Source, text, stored string) (password.Verified, error)
}

// Recorder stores entries of the audit log.
type Recorder interface {
	Record(entry catalog.AuditEntry)
}

// Passwords sets the passwords of people. A new password ends the sessions of the person
// and withdraws the links that could set another one.
type Passwords struct {
	Store    PasswordStore
	Hasher   Hasher
	Sessions session.Sessions
	Tokens   session.OneTimeTokens
	Attempts *throttle.Attempts
	Audit    Recorder
}

// CheckNew returns an error that names the field if a password of the account with an
// e-mail address must not be set.
func (p Passwords) CheckNew(field, email, text string) error {
	if err := password.Check(text, email); err != nil {
		return fault.Invalid(field, "%s", err.Error())
	}
	return nil
}

func (p Passwords) hash(ctx context.Context, text string, from Origin) (string, error) {
	return p.Hasher.Hash(ctx, throttle.SourceOf(from.Remote), text)
}

// store stores the hash before it ends the sessions: a sign-in with the former password that
// is in progress either creates its session before and loses it, or finds the new hash
// afterwards (see [SignIn.Password]).
func (p Passwords) store(ctx context.Context, user catalog.UserID, hash string, from Origin) error {
	ctx = authz.System(ctx, "password")
	if err := p.Store.SetPassword(ctx, user, hash); err != nil {
		return err
	}
	return p.changed(ctx, user, uuid.Nil, from)
}

// changed records that a person has a new password, and ends what every new password ends:
// the sessions other than keep, and the links that could set another one.
func (p Passwords) changed(ctx context.Context, user catalog.UserID, keep uuid.UUID, from Origin) error {
	p.Audit.Record(catalog.AuditEntry{User: user, Action: "password.set", Resource: "user/" + string(user), Outcome: catalog.OutcomeAllow,
		RequestID: from.RequestID, Remote: from.Remote})
	id, err := uuid.Parse(string(user))
	if err != nil {
		return err
	}
	// The client may have disconnected. The sessions must end nevertheless.
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	return errors.Join(p.Sessions.RevokeUser(ctx, id, keep), p.Tokens.WithdrawTokens(ctx, recoveryPurpose, string(user)))
}

var errNotCurrent = fault.Invalid("current", "is not the current password")

// Change replaces the caller's own password. It is for signed-in people, not for programs
// that act for them. Their other sessions end.
func (p Passwords) Change(ctx context.Context, current, text string) error {
	a, err := caller.From(ctx)
	if err != nil {
		return err
	}
	if !a.ActsAsPerson() {
		return &catalog.DeniedError{Reason: "sign_in_required"}
	}
	user, err := p.Store.User(ctx, a.User)
	if err != nil {
		return err
	}
	if err := p.CheckNew("new", user.Email, text); err != nil {
		return err
	}
	end, err := p.Attempts.Begin(ctx, user.Email, throttle.Client{Remote: a.Remote})
	if err != nil {
		return err
	}
	defer end()
	stored, err := p.Store.Password(authz.System(ctx, "password"), a.User)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	verified, err := p.Hasher.Verify(ctx, throttle.SourceOf(a.Remote), current, stored)
	if err != nil {
		return err
	}
	if !verified.Match {
		_, audited, err := p.Attempts.Refused(user.Email, throttle.Client{Remote: a.Remote})
		if audited {
			p.Audit.Record(caller.NewEntry(a, "password.refused", "user/"+string(a.User), catalog.OutcomeDeny))
		}
		if err != nil {
			return err
		}
		return errNotCurrent
	}
	hash, err := p.hash(ctx, text, originOf(a))
	if err != nil {
		return err
	}
	// The account may have been recovered since: then the verified password is worth nothing.
	switch err := p.Store.ReplacePassword(authz.System(ctx, "password"), a.User, stored, hash); {
	case errors.Is(err, catalog.ErrNotFound):
		return errNotCurrent
	case err != nil:
		return err
	}
	return p.changed(ctx, a.User, a.SessionID, originOf(a))
}
