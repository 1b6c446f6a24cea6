package app

import (
	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/pages"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/password"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// people holds the use cases of passwords, and the pages.
type people struct {
	passwords identity.Passwords
	recovery  identity.Recovery
	pages     *pages.Pages
}

func newPeople(
	settings config.Settings, store *authz.Store, signIns *signin.Store, mails *mail.Queue, auditor *caller.Auditor,
	invitations identity.Invitations,
) people {
	attempts, hasher := throttle.NewAttempts(nil), password.New(password.Options{})
	passwords := identity.Passwords{
		Store: store, Hasher: hasher, Sessions: signIns, Tokens: signIns, Attempts: attempts, Audit: auditor,
	}
	recovery := identity.Recovery{
		Passwords: passwords, Tokens: signIns, Members: store,
		Use:  identity.PasswordAccess{Store: store, Access: identity.Access{Store: store}},
		Mail: mails, Audit: auditor, Sent: throttle.NewMailings(nil),
		PublicURL: settings.PublicURL,
	}
	signIn := identity.SignIn{
		Store: store, Hasher: hasher, Sessions: signIns, Browsers: signIns, Attempts: attempts, Audit: auditor,
	}
	return people{passwords: passwords, recovery: recovery, pages: &pages.Pages{
		SignIns: signIn, Recovery: recovery, Names: identity.Names{Store: store},
		Joining: identity.Joining{Invitations: invitations, Passwords: passwords, SignIn: signIn},
		Cookies: browser.NewCookies(settings.PublicURL),
	}}
}
