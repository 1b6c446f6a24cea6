package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/catalog"
)

// Confirmations binds subjects of identity providers for their own users: [binding.Confirmations].
type Confirmations interface {
	Pending(ctx context.Context, r binding.Request) (p binding.Proposal, own bool, err error)
	Confirm(ctx context.Context, r binding.Request) (binding.Proposal, error)
	ConfirmToken(ctx context.Context, token string, r binding.Request) (binding.Proposal, error)
}

// confirmData is the data of the page on which people confirm who they are at an identity
// provider. If Issuer is empty, the page asks for a token of the provider.
type confirmData struct {
	Issuer, Subject, Claimed string
	Organisation, Email      string
}

// confirmation returns what the use cases need of a request.
func (p *Pages) confirmation(r *http.Request) binding.Request {
	from := originOf(r)
	return binding.Request{Proposal: p.Cookies.Read(r, browser.Proposal), Browser: p.Cookies.Read(r, browser.SignedIn),
		Remote: from.Remote, RequestID: from.RequestID}
}

// confirmForm names the form, whose token is bound to the proposal that the page shows.
func (p *Pages) confirmForm(r *http.Request) string {
	return identity.ConfirmPath + " " + p.Cookies.Read(r, browser.Proposal)
}

func (p *Pages) showConfirm(w http.ResponseWriter, r *http.Request) {
	p.renderConfirm(w, r, formFailure{status: http.StatusOK})
}

// renderConfirm shows what the browser may confirm. It tells nothing of the account that has the
// address, unless the browser is signed in there.
func (p *Pages) renderConfirm(w http.ResponseWriter, r *http.Request, f formFailure) {
	pending, own, err := p.Confirmations.Pending(r.Context(), p.confirmation(r))
	of, signedIn := p.SignedIn(r)
	var data confirmData
	switch {
	case errors.Is(err, binding.ErrNothing) && !signedIn:
		p.SignIn(w, r, identity.ConfirmPath, "")
		return
	case errors.Is(err, binding.ErrNothing):
	case err != nil:
		p.fail(w, r, err)
		return
	case !own:
		p.showMessage(w, http.StatusForbidden, "This sign-in is not confirmed", message{
			Text: []string{
				"You signed in at " + pending.Issuer + " with the address " + pending.Email + ". An account has this address, and it is not yet " +
					"confirmed that the account is yours.",
				"Sign in here with the password of the account, and confirm it. Without a password, ask an administrator of your organisation, " +
					"or whoever runs this server.",
			},
			Link: identity.SignInPath + "?" + url.Values{"return_to": {identity.ConfirmPath}}.Encode(), Label: "Sign in with a password",
		})
		return
	default:
		data.Issuer, data.Subject, data.Claimed = pending.Issuer, pending.Subject, pending.Email
		org, err := uuid.Parse(string(pending.Org))
		if err == nil {
			data.Email, data.Organisation, err = p.Names.Names(r.Context(), of.User, org)
		}
		if err != nil {
			p.fail(w, r, err)
			return
		}
	}
	render(w, f.status, "confirm", page{
		Title: "Confirm who you are", Problems: f.problems, Token: p.formToken(w, r, p.confirmForm(r)), Action: identity.ConfirmPath, Data: data,
	})
}

// confirm binds the subject that the page has shown, or that of a token.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request) {
	if err := p.readFormOf(w, r, p.confirmForm(r)); err != nil {
		p.refuseForm(w, err)
		return
	}
	var done binding.Proposal
	var err error
	if r.PostForm.Has("token") {
		done, err = p.Confirmations.ConfirmToken(r.Context(), strings.TrimSpace(r.PostForm.Get("token")), p.confirmation(r))
	} else {
		done, err = p.Confirmations.Confirm(r.Context(), p.confirmation(r))
	}
	if f, ok := failureOf(err, nil); ok {
		p.renderConfirm(w, r, f)
		return
	}
	const ask = "Ask an administrator of your organisation."
	switch {
	case err == nil:
		http.SetCookie(w, p.Cookies.Delete(browser.Proposal))
		next := url.Values{"login_hint": {done.Email}}
		if to := identity.ReturnTo(done.ReturnTo); to != "" && to != identity.ConfirmPath {
			next.Set("return_to", to)
		}
		p.showMessage(w, http.StatusOK, "Confirmed", message{
			Text: []string{"Your account is now bound to " + done.Subject + " at " + done.Issuer + "."},
			Link: identity.SignInPath + "?" + next.Encode(), Label: "Sign in there",
		})
	case errors.Is(err, binding.ErrNothing):
		p.showMessage(w, http.StatusBadRequest, "There is nothing to confirm", message{
			Text: []string{"The sign-in was confirmed already, or is too long ago. Sign in again."}, Link: identity.SignInPath, Label: "Sign in",
		})
	case errors.Is(err, binding.ErrOther):
		p.showMessage(w, http.StatusForbidden, "This is another account", message{
			Text: []string{"You are not signed in with the account that has this address. Nothing was changed."},
			Link: identity.SignInPath + "?" + url.Values{"return_to": {identity.ConfirmPath}}.Encode(), Label: "Sign in",
		})
	case errors.Is(err, catalog.ErrNotFound):
		p.showMessage(w, http.StatusForbidden, "You are not a member", message{Text: []string{"Nothing was changed. " + ask}})
	case errors.Is(err, catalog.ErrExists):
		p.showMessage(w, http.StatusConflict, "This is somebody else", message{Text: []string{"Nothing was changed. " + ask}})
	default:
		p.fail(w, r, err)
	}
}
