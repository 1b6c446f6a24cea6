package pages

import (
	"net/http"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
)

// setPasswordData is the data of the page that sets a password.
type setPasswordData struct{ Email, Link string }

// newPasswordNames maps fields of the use cases to those of the form.
var newPasswordNames = map[string]string{"new": "password"}

// maxLinkToken bounds the token of a link, in bytes.
const maxLinkToken = 200

func (p *Pages) showRecover(w http.ResponseWriter, r *http.Request) {
	p.renderRecover(w, r, formFailure{status: http.StatusOK}, "")
}

func (p *Pages) renderRecover(w http.ResponseWriter, r *http.Request, f formFailure, email string) {
	render(w, f.status, "recover", page{
		Title: "Set a new password", Problems: f.problems, Token: p.formToken(w, r, identity.RecoverPath), Action: identity.RecoverPath,
		Data: email,
	})
}

// recover sends a link. The page is the same for every valid e-mail address.
func (p *Pages) recover(w http.ResponseWriter, r *http.Request) {
	email := r.PostForm.Get("email")
	if err := p.Recovery.Request(r.Context(), email, originOf(r)); err != nil {
		if f, ok := failureOf(err, nil); ok {
			p.renderRecover(w, r, f, email[:min(len(email), maxEmail)])
		} else {
			p.fail(w, r, err)
		}
		return
	}
	p.showMessage(w, http.StatusOK, "Check your e-mail", message{Text: []string{
		"If an account with this address can use a password, an e-mail with a link is on its way. The link works for an hour.",
	}})
}

func (p *Pages) showSetPassword(w http.ResponseWriter, r *http.Request) {
	p.renderSetPassword(w, r, formFailure{status: http.StatusOK}, r.URL.Query().Get("token"))
}

// renderSetPassword shows the form for the account of a link. The link remains usable.
func (p *Pages) renderSetPassword(w http.ResponseWriter, r *http.Request, f formFailure, link string) {
	if link == "" || len(link) > maxLinkToken {
		p.fail(w, r, identity.ErrLink)
		return
	}
	email, err := p.Recovery.Account(r.Context(), link)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	render(w, f.status, "password", page{
		Title: "Set a new password", Problems: f.problems, Token: p.formToken(w, r, identity.SetPasswordPath), Action: identity.SetPasswordPath,
		Data: setPasswordData{Email: email, Link: link},
	})
}

func (p *Pages) setPassword(w http.ResponseWriter, r *http.Request) {
	link := r.PostForm.Get("token")
	password, f := newPassword(r)
	if f.problems != nil || len(link) > maxLinkToken {
		p.renderSetPassword(w, r, f, link)
		return
	}
	if err := p.Recovery.SetPassword(r.Context(), link, password, originOf(r)); err != nil {
		if f, ok := failureOf(err, newPasswordNames); ok {
			p.renderSetPassword(w, r, f, link)
		} else {
			p.fail(w, r, err)
		}
		return
	}
	http.SetCookie(w, p.Cookies.Delete(browser.SignedIn)) // its session has ended
	p.showMessage(w, http.StatusOK, "Password set", message{
		Text: []string{"The new password is set, and you are signed out everywhere."}, Link: identity.SignInPath, Label: "Sign in",
	})
}

// newPassword returns the new password of a form, which is typed twice.
func newPassword(r *http.Request) (string, formFailure) {
	password := r.PostForm.Get("password")
	switch {
	case password == "":
		return "", formFailure{status: http.StatusUnprocessableEntity, problems: []fieldProblem{{"password", "Enter a password."}}}
	case password != r.PostForm.Get("repeat"):
		return "", formFailure{status: http.StatusUnprocessableEntity, problems: []fieldProblem{{"repeat", "The two passwords differ."}}}
	}
	return password, formFailure{}
}
