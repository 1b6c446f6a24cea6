package login

import (
	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/pages"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/password"
)

// addPasswords adds the use cases of passwords, and the pages.
func (l *Login) addPasswords(o Options, mails *mail.Queue) {
	attempts, hasher := throttle.NewAttempts(nil), password.New(password.Options{})
	l.Passwords = identity.Passwords{
		Store: o.Store, Hasher: hasher, Sessions: o.SignIns, Tokens: o.SignIns, Attempts: attempts, Audit: o.Audit,
	}
	l.Recovery = identity.Recovery{
		Passwords: l.Passwords, Tokens: o.SignIns, Members: o.Store,
		Use:  identity.PasswordAccess{Store: o.Store, Access: identity.Access{Store: o.Store}},
		Mail: mails, Audit: o.Audit, Sent: throttle.NewMailings(nil),
		PublicURL: o.Settings.PublicURL,
	}
	signIn := identity.SignIn{
		Store: o.Store, Hasher: hasher, Sessions: o.SignIns, Browsers: o.SignIns, Attempts: attempts, Audit: o.Audit,
		Known: identity.KnownBrowsers{Key: o.Remote.Keys.BrowserKey},
	}
	l.Pages = &pages.Pages{
		SignIns: signIn, Recovery: l.Recovery, Names: identity.Names{Store: o.Store},
		Joining: identity.Joining{Invitations: l.Invitations, Passwords: l.Passwords, SignIn: signIn},
		Cookies: browser.NewCookies(o.Settings.PublicURL),
	}
}
