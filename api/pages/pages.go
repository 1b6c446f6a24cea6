package pages

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth/session"
)

// SignIns signs people in by password, and out: [identity.SignIn].
type SignIns interface {
	Password(ctx context.Context, email, password string, from identity.Origin) (identity.SignedIn, error)
	Browser(ctx context.Context, cookie string) (session.Session, error)
	Began(ctx context.Context, cookie string, by session.Session) error
	Out(ctx context.Context, cookie string, from identity.Origin) error
}

// Recovery sets forgotten passwords: [identity.Recovery].
type Recovery interface {
	Request(ctx context.Context, email string, from identity.Origin) error
	Account(ctx context.Context, token string) (email string, err error)
	SetPassword(ctx context.Context, token, password string, from identity.Origin) error
}

// SingleSignOn starts sign-ins at the identity providers of organisations: [identity.SSO].
type SingleSignOn interface {
	BeginAtProvider(ctx context.Context, email, returnTo string) (authorizationURL string, err error)
}

// Pages serves the pages. It is safe for concurrent use.
type Pages struct {
	SignIns  SignIns
	Recovery Recovery
	Names    Names
	Joining  Joining
	// SSO is nil on a server without single sign-on.
	SSO           SingleSignOn
	Confirmations Confirmations
	Cookies       browser.Cookies
}

// Routes adds the pages.
func (p *Pages) Routes(r chi.Router) {
	r.Get(identity.SignInPath, p.showSignIn)
	r.Post(identity.SignInPath, p.posted(p.signIn))
	r.Post(identity.SignOutPath, p.posted(p.signOut))
	r.Get(identity.SignedInPath, p.showSignedIn)
	r.Get(identity.SignedOutPath, p.showSignedOut)
	r.Get(identity.RecoverPath, p.showRecover)
	r.Post(identity.RecoverPath, p.posted(p.recover))
	r.Get(identity.SetPasswordPath, p.showSetPassword)
	r.Post(identity.SetPasswordPath, p.posted(p.setPassword))
	r.Get(identity.InvitationPath, p.showInvitation)
	r.Post(identity.InvitationPath, p.posted(p.acceptInvitation))
	r.Get(identity.ConfirmPath, p.showConfirm)
	r.Post(identity.ConfirmPath, p.confirm)
}

// SignedIn returns the session of the browser. It implements a part of oauth.Pages.
func (p *Pages) SignedIn(r *http.Request) (session.Session, bool) {
	found, err := p.SignIns.Browser(r.Context(), p.Cookies.Read(r, browser.SignedIn))
	return found, err == nil
}

// SignIn sends the browser to the page at which the person signs in, and which continues
// at returnTo. It implements a part of oauth.Pages.
func (p *Pages) SignIn(w http.ResponseWriter, r *http.Request, returnTo, hint string) {
	query := url.Values{"return_to": {returnTo}}
	if hint != "" {
		query.Set("login_hint", hint)
	}
	http.Redirect(w, r, identity.SignInPath+"?"+query.Encode(), http.StatusSeeOther)
}

// originOf returns the origin of a request.
func originOf(r *http.Request) identity.Origin {
	return identity.Origin{Remote: middleware.Remote(r), RequestID: problem.RequestID(r.Context())}
}
