package pages

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/session"
)

// signInData is the data of the sign-in page.
type signInData struct {
	Email    string
	ReturnTo string
	// SSO reports whether the page offers single sign-on.
	SSO bool
	// SignedIn is the address of the person who is signed in, or empty. SignOut is the token of
	// the form that signs out.
	SignedIn, SignOut string
}

func (p *Pages) showSignIn(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p.renderSignIn(w, r, formFailure{status: http.StatusOK}, query.Get("login_hint"),
		cmp.Or(identity.ReturnTo(query.Get("return_to")), identity.CallbackOf(query.Get("state"))))
}

func (p *Pages) renderSignIn(w http.ResponseWriter, r *http.Request, f formFailure, email, next string) {
	if len(email) > maxEmail {
		email = ""
	}
	retryAfter(w, f.wait)
	data := signInData{Email: email, ReturnTo: next, SSO: p.SSO != nil}
	shown := page{Title: "Sign in", Problems: f.problems, Token: p.formToken(w, r, identity.SignInPath), Action: identity.SignInPath}
	if data.SignedIn = p.signedInAs(r); data.SignedIn != "" {
		data.SignOut = p.formToken(w, r, identity.SignOutPath)
	}
	shown.Data = data
	render(w, f.status, "signin", shown)
}

// signedInAs returns the address of the person who is signed in, or "".
func (p *Pages) signedInAs(r *http.Request) string {
	of, ok := p.SignedIn(r)
	if !ok {
		return ""
	}
	email, _, err := p.Names.Names(r.Context(), of.User, uuid.Nil)
	if err != nil {
		return ""
	}
	return email
}

// maxEmail bounds an e-mail address that a page shows, in bytes.
const maxEmail = 254

// signIn signs in by password. If the person gave none, or it is wrong, and the domain of
// the e-mail address has an identity provider, the browser goes there.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	email, password, next := r.PostForm.Get("email"), r.PostForm.Get("password"), identity.ReturnTo(r.PostForm.Get("return_to"))
	if password == "" || r.PostForm.Has("sso") {
		if !p.startSSO(w, r, email, next) {
			p.renderSignIn(w, r, formFailure{
				status: http.StatusUnprocessableEntity, problems: []fieldProblem{p.missingPassword(r)},
			}, email, next)
		}
		return
	}
	from := originOf(r)
	from.Known = p.Cookies.Read(r, browser.Known)
	in, err := p.SignIns.Password(r.Context(), email, password, from)
	if err == nil {
		p.signedIn(w, r, in, next)
		return
	}
	f, ok := failureOf(err, nil)
	switch {
	case !ok:
		p.fail(w, r, err)
	case f.status == http.StatusUnprocessableEntity && f.problems[0].Field == "" && p.startSSO(w, r, email, next):
	default:
		p.renderSignIn(w, r, f, email, next)
	}
}

// missingPassword returns the problem of a form without a password.
func (p *Pages) missingPassword(r *http.Request) fieldProblem {
	if r.PostForm.Has("sso") {
		return fieldProblem{"email", "No single sign-on is known for this address. Sign in with a password."}
	}
	return fieldProblem{"password", "Enter your password."}
}

// startSSO sends the browser to the identity provider of an e-mail domain. It
// reports false, and writes nothing, if there is none.
func (p *Pages) startSSO(w http.ResponseWriter, r *http.Request, email, next string) bool {
	if p.SSO == nil {
		return false
	}
	target, err := p.SSO.BeginAtProvider(r.Context(), email, cmp.Or(next, identity.SignedInPath))
	if err != nil {
		if f, ok := failureOf(err, nil); ok {
			p.renderSignIn(w, r, f, email, next)
		} else {
			p.fail(w, r, err)
		}
		return true
	}
	if u, err := url.Parse(target); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	http.SetCookie(w, p.Cookies.New(browser.State, identity.StateOf(target), identity.StateLife))
	p.goOn(w, "Single sign-on", "You sign in at your organisation.", target)
	return true
}

// signedIn ends the sign-in that the browser had before, sets the cookie of the new one and continues at next, or at the page for people
// who are signed in: the form to sign out needs the new cookie, so another request shows
// it.
func (p *Pages) signedIn(w http.ResponseWriter, r *http.Request, in identity.SignedIn, next string) {
	if err := p.SignIns.Began(r.Context(), p.Cookies.Read(r, browser.SignedIn), in.Session); err != nil {
		p.fail(w, r, err)
		return
	}
	http.SetCookie(w, p.Cookies.New(browser.SignedIn, in.Cookie, 0))
	if in.Known != "" {
		http.SetCookie(w, p.Cookies.New(browser.Known, in.Known, identity.KnownBrowserLife))
	}
	p.goOn(w, "Signed in", "You are signed in.", cmp.Or(next, identity.SignedInPath))
}

// goOn shows a page that leads the browser to a URL. A redirect would be blocked if the URL
// is on another server: the content security policy of the page with the form allows
// redirects to the server itself only.
func (p *Pages) goOn(w http.ResponseWriter, title, text, target string) {
	render(w, http.StatusOK, "message", page{Title: title, Continue: target, Data: message{
		Text: []string{text}, Link: target, Label: "Continue",
	}})
}

// showSignedIn shows that the browser is signed in, and offers to sign out.
func (p *Pages) showSignedIn(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.SignedIn(r); !ok {
		http.Redirect(w, r, identity.SignInPath, http.StatusSeeOther)
		return
	}
	text := "You are signed in. You can close this page."
	if email := p.signedInAs(r); email != "" {
		text = "You are signed in as " + email + ". You can close this page."
	}
	render(w, http.StatusOK, "message", page{
		Title: "Signed in", Token: p.formToken(w, r, identity.SignOutPath), Action: identity.SignOutPath,
		Data: message{Text: []string{text}, SignOut: true},
	})
}

// signOut ends the browser's session.
func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	if err := p.SignIns.Out(r.Context(), p.Cookies.Read(r, browser.SignedIn), originOf(r)); err != nil {
		p.fail(w, r, err)
		return
	}
	http.SetCookie(w, p.Cookies.Delete(browser.SignedIn))
	http.SetCookie(w, p.Cookies.New(browser.Form, session.NewSecret(), 0))
	http.Redirect(w, r, identity.SignedOutPath, http.StatusSeeOther)
}

func (p *Pages) showSignedOut(w http.ResponseWriter, _ *http.Request) {
	p.showMessage(w, http.StatusOK, "Signed out", message{
		Text: []string{"This browser is signed out. Programs that you gave access stay signed in."}, Link: identity.SignInPath, Label: "Sign in",
	})
}
