package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// ErrCredential is returned for an e-mail address and a password that do not belong
// together, whether or not the e-mail address is known: 401.
var ErrCredential = fault.New("unauthenticated", "e-mail address or password is wrong")

// browserLife is how long a browser stays signed in.
const browserLife = 12 * time.Hour

// noUser is an id that no user has.
var noUser = catalog.UserID(uuid.Nil.String())

// SignIn signs people in by password, and out. It verifies each password before it counts
// refusals, so that no number of wrong ones locks an account. An unknown e-mail address
// costs as much work as a known one: the same calls of the store and one verification.
type SignIn struct {
	Store    PasswordStore
	Hasher   Hasher
	Sessions session.Sessions
	Browsers session.Browsers
	Attempts *throttle.Attempts
	Known    KnownBrowsers
	Audit    Recorder
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// SignedIn is the result of a sign-in.
type SignedIn struct {
	Session session.Session
	// Cookie is the secret with which the browser proves the session.
	Cookie string
	// Known is the new mark of the browser, for [Origin.Known] of later sign-ins.
	Known string
}

// Password signs a person in. It returns [ErrCredential], a [throttle.TooManyError] in its place
// after too many refusals, or [password.ErrBusy] and the like if too many sign-ins wait.
func (s SignIn) Password(ctx context.Context, email, text string, from Origin) (SignedIn, error) {
	email, err := mailbox(email)
	if err != nil {
		return SignedIn{}, err
	}
	client := throttle.Client{Remote: from.Remote, Browser: s.Known.ID(from.Known, email)}
	end, err := s.Attempts.Begin(ctx, email, client)
	if err != nil {
		return SignedIn{}, err
	}
	defer end()
	system := authz.System(ctx, "sign in")
	user, stored, err := s.account(system, email)
	if err != nil {
		return SignedIn{}, err
	}
	if len(text) > maxPassword { // no account has such a password
		text, stored = text[:maxPassword], ""
	}
	verified, err := s.Hasher.Verify(ctx, throttle.SourceOf(from.Remote), text, stored)
	if err != nil {
		return SignedIn{}, err
	}
	if !verified.Match {
		return SignedIn{}, s.refuse(email, user.ID, client, from)
	}
	in, err := s.start(system, user.ID, stored)
	if errors.Is(err, ErrCredential) { // the password was changed meanwhile
		return SignedIn{}, s.refuse(email, user.ID, client, from)
	}
	if err != nil {
		return SignedIn{}, err
	}
	in.Known = s.Known.Mark(email)
	s.record(user.ID, "sign_in", catalog.OutcomeAllow, from, "method", string(session.MethodPassword), "session", in.Session.ID.String())
	if verified.Outdated {
		s.rehash(system, user.ID, text, stored, from)
	}
	return in, nil
}

// maxPassword bounds the bytes of a password that is hashed. No valid password is longer
// in any form.
const maxPassword = 4 * password.MaxBytes

// account returns the person with an e-mail address and the hash of the password. Both are
// empty if there is none, after the same calls.
func (s SignIn) account(ctx context.Context, email string) (catalog.User, string, error) {
	user, err := s.Store.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return user, "", err
	}
	id := user.ID
	if err != nil {
		id = noUser
	}
	stored, err := s.Store.Password(ctx, id)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return user, "", err
	}
	return user, stored, nil
}

// start creates the session and the browser's cookie. A new password ends all sessions
// that exist when it is set. So the hash is compared once more after the session exists:
// no session that began with the former password survives.
func (s SignIn) start(ctx context.Context, user catalog.UserID, stored string) (in SignedIn, err error) {
	id, err := uuid.Parse(string(user))
	if err != nil {
		return in, err
	}
	in.Session, err = s.Sessions.CreateSession(ctx, session.Session{
		User: id, Method: session.MethodPassword, ExpiresAt: clock(s.Now).Add(browserLife),
	})
	if err != nil {
		return in, err
	}
	current, err := s.Store.Password(ctx, user)
	if err == nil && current != stored {
		err = ErrCredential
	}
	if err == nil {
		in.Cookie, err = s.Browsers.CreateBrowser(ctx, in.Session.ID)
	}
	if err != nil {
		cleanup, cancel := caller.CleanupContext(ctx)
		defer cancel()
		return SignedIn{}, errors.Join(err, s.Sessions.RevokeSession(cleanup, in.Session.ID))
	}
	return in, nil
}

// rehash replaces a hash with one of the current costs, unless the password was changed
// meanwhile. A failure is not one of the sign-in: the next one tries again.
func (s SignIn) rehash(ctx context.Context, user catalog.UserID, text, stored string, from Origin) {
	hash, err := s.Hasher.Hash(ctx, throttle.SourceOf(from.Remote), text)
	if err != nil {
		return
	}
	_ = s.Store.ReplacePassword(ctx, user, stored, hash)
}

// refuse counts a refused credential and records it, unless there is a flood of them.
func (s SignIn) refuse(email string, user catalog.UserID, client throttle.Client, from Origin) error {
	limited, audited, err := s.Attempts.Refused(email, client)
	texts := []string{"method", string(session.MethodPassword), "email", email}
	if limited != "" {
		texts = append(texts, "rate_limited", limited)
	}
	if audited {
		s.record(user, "sign_in.refused", catalog.OutcomeDeny, from, texts...)
	}
	if err != nil {
		return err
	}
	return ErrCredential
}

func (s SignIn) record(user catalog.UserID, action string, outcome catalog.Outcome, from Origin, texts ...string) {
	entry := catalog.AuditEntry{User: user, Action: action, Outcome: outcome, RequestID: from.RequestID, Remote: from.Remote,
		Details: details(texts...)}
	if user != "" {
		entry.Resource = "user/" + string(user)
	}
	s.Audit.Record(entry)
}

// Browser returns the live session of a browser's cookie, or [session.ErrNotFound].
func (s SignIn) Browser(ctx context.Context, cookie string) (session.Session, error) {
	if cookie == "" {
		return session.Session{}, session.ErrNotFound
	}
	return s.Browsers.Browser(ctx, cookie)
}

// Out ends the session of a browser's cookie. A cookie without a live session is no error.
func (s SignIn) Out(ctx context.Context, cookie string, from Origin) error {
	found, err := s.Browser(ctx, cookie)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(s.Sessions.RevokeSession(ctx, found.ID), s.Browsers.DeleteBrowser(ctx, cookie)); err != nil {
		return err
	}
	s.record(catalog.UserID(found.User.String()), "sign_out", catalog.OutcomeAllow, from, "session", found.ID.String())
	return nil
}
