package identity

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth/session"
)

// Began ends the session of a browser's former cookie after a sign-in in this browser: see
// [session.Browsers.ReplaceBrowser]. If that fails, the new session ends.
func (s SignIn) Began(ctx context.Context, cookie string, by session.Session) error {
	return began(ctx, s.Browsers, s.Sessions, cookie, by)
}

// Began is [SignIn.Began].
func (s SSO) Began(ctx context.Context, cookie string, by session.Session) error {
	return began(ctx, s.Browsers, s.Sessions, cookie, by)
}

func began(ctx context.Context, browsers session.Browsers, sessions session.Sessions, cookie string, by session.Session) error {
	if cookie == "" {
		return nil
	}
	err := browsers.ReplaceBrowser(ctx, cookie, by)
	if err != nil {
		cleanup, cancel := caller.CleanupContext(ctx)
		defer cancel()
		err = errors.Join(err, sessions.RevokeSession(cleanup, by.ID))
	}
	return err
}
