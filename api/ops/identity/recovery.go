package identity

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// recoveryPurpose is the purpose of the one-time tokens that set a password. Their subject
// is the user's id.
const recoveryPurpose = "recovery"

// recoveryLife is how long a link works.
const recoveryLife = time.Hour

var (
	// ErrLink is returned for a link whose token does not exist, was used or withdrawn, or
	// has expired: 404. The person asks for a new link.
	ErrLink = fault.New("not_found", "link is not valid")
	// ErrMailBusy is returned if too many e-mails wait to be sent: 503. Retry later.
	ErrMailBusy = fault.New("server_busy", "too many e-mails are waiting")
)

// Mailer composes and sends e-mails in the background: a [mail.Queue].
type Mailer interface {
	Later(compose mail.Compose) bool
}

// PasswordUse decides whether a password is of use to a person.
type PasswordUse interface {
	// PasswordUsable reports whether a user may act in an organisation, or without one,
	// after a sign-in by password.
	PasswordUsable(ctx context.Context, user catalog.UserID) (bool, error)
}

// Members reads memberships.
type Members interface {
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
}

// Recovery sends links with which people set a new password. Everything that depends on
// the e-mail address happens in the background, after the reply.
type Recovery struct {
	Passwords Passwords
	Tokens    session.OneTimeTokens
	Members   Members
	// Use is nil if a password is of use to every person.
	Use   PasswordUse
	Mail  Mailer
	Audit Recorder
	// Sent limits the e-mails to one mailbox, and the entries of [Recovery.Audit].
	Sent *throttle.Mailings
	// PublicURL is the base of links.
	PublicURL string
}

// recoveryData is what a recovery token stands for.
type recoveryData struct {
	User catalog.UserID `json:"user"`
}

// Request sends a link to the account with an e-mail address, if it exists. It returns nil
// for every valid e-mail address.
func (r Recovery) Request(ctx context.Context, email string, from Origin) error {
	return r.request(ctx, "", "", email, from)
}

// RequestFor is Request in the name of an administrator, for members of an organisation.
func (r Recovery) RequestFor(ctx context.Context, org catalog.OrgID, email string) error {
	a, err := caller.In(ctx, org)
	if err != nil {
		return err
	}
	return r.request(ctx, org, a.User, email, originOf(a))
}

func (r Recovery) request(ctx context.Context, org catalog.OrgID, by catalog.UserID, email string, from Origin) error {
	email, err := mailbox(email)
	if err != nil {
		return err
	}
	texts := []string{"email", email}
	audited := true
	if org == "" { // what an administrator does is recorded always
		var limited string
		if limited, audited = r.Sent.Requested(email, from.Remote); limited != "" {
			texts = append(texts, "rate_limited", limited)
		}
	}
	queued := r.Mail.Later(func(ctx context.Context) (*mail.Message, error) { return r.compose(ctx, org, email) })
	if audited {
		entry := catalog.AuditEntry{Org: org, User: by, Action: "recovery.requested", Outcome: catalog.OutcomeAllow,
			RequestID: from.RequestID, Remote: from.Remote, Details: details(texts...)}
		if !queued {
			entry.Outcome = catalog.OutcomeError
		}
		r.Audit.Record(entry)
	}
	if !queued {
		return ErrMailBusy
	}
	return ctx.Err()
}

// compose returns the e-mail to a mailbox, or nil if it gets none: it belongs to no
// person or to no member of the organisation, a password is of no use to the person, or
// the mailbox got too many e-mails.
func (r Recovery) compose(ctx context.Context, org catalog.OrgID, email string) (*mail.Message, error) {
	ctx = authz.System(ctx, "recovery")
	user, err := r.Passwords.Store.UserByEmail(ctx, email)
	if err == nil && org != "" {
		_, err = r.Members.Membership(ctx, org, user.ID)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.Use != nil {
		usable, err := r.Use.PasswordUsable(ctx, user.ID)
		if err != nil || !usable {
			return nil, err
		}
	}
	if !r.Sent.Allow(user.Email) {
		return nil, nil
	}
	if err := r.Tokens.WithdrawTokens(ctx, recoveryPurpose, string(user.ID)); err != nil {
		return nil, err
	}
	token, err := r.Tokens.CreateToken(ctx, recoveryPurpose, string(user.ID), recoveryData{User: user.ID}, recoveryLife)
	if err != nil {
		return nil, err
	}
	message := mail.Recovery{Link: tokenLink(r.PublicURL, SetPasswordPath, token), Valid: "1 hour"}.Message(user.Email)
	return &message, nil
}

// Account returns the e-mail address of the account whose password a token sets, for the
// page that asks for the password. The token remains usable. It returns [ErrLink].
func (r Recovery) Account(ctx context.Context, token string) (email string, err error) {
	var data recoveryData
	ctx = authz.System(ctx, "recovery")
	if err := r.Tokens.ReadToken(ctx, recoveryPurpose, token, &data); err != nil {
		return "", linkError(err)
	}
	user, err := r.Passwords.Store.User(ctx, data.User)
	return user.Email, linkError(err)
}

// SetPassword sets the password of the account of a token, which is used up. The token
// remains usable if the rules refuse the password, or if it cannot be hashed because the
// server is busy. It returns [ErrLink].
func (r Recovery) SetPassword(ctx context.Context, token, text string, from Origin) error {
	email, err := r.Account(ctx, token)
	if err != nil {
		return err
	}
	if err := r.Passwords.CheckNew("new", email, text); err != nil {
		return err
	}
	hash, err := r.Passwords.hash(ctx, text, from)
	if err != nil {
		return err
	}
	var data recoveryData
	if err := r.Tokens.TakeToken(ctx, recoveryPurpose, token, &data); err != nil {
		return linkError(err)
	}
	return linkError(r.Passwords.store(ctx, data.User, hash, from))
}

// linkError replaces the errors of a missing token and of a removed user.
func linkError(err error) error {
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, catalog.ErrNotFound) {
		return ErrLink
	}
	return err
}
