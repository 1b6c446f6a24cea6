package pages

import (
	"net/http"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/problem"
)

// refusals are the texts about the reasons of refused single sign-ons: see [sso.RefusedError]. All
// others are about replies of the provider that are not valid.
var refusals = map[string]string{
	"provider_error":         "The identity provider refused it.",
	"code_refused":           "The identity provider refused it.",
	"email_missing":          "The identity provider did not name your e-mail address.",
	"email_not_verified":     "The identity provider has not verified your e-mail address.",
	"email_not_usable":       "Your e-mail address cannot be used on this server.",
	"email_domain_foreign":   "Your e-mail address belongs to none of the domains of the organisation.",
	"identity_not_confirmed": "It is not confirmed that the account with your e-mail address is yours.",
	"membership_refused":     "What the identity provider says about you cannot be stored.",
}

// Failed returns the page about an error with which a provider's redirect ends. again is a page at
// which the person starts again, or empty.
func (p *Pages) Failed(r *http.Request, err error, again string) browser.Document {
	found := problem.From(err)
	title, text := "Something went wrong", []string{found.Message, "Try again in a while."}
	switch {
	case found.Name == "invalid_state":
		title, text = "This page has expired", []string{
			"It took longer than ten minutes, was used already, or was started in another browser. Start again."}
	case found.Name == "sign_in_refused":
		title, text = "The sign-in was refused", []string{"The identity provider sent a reply that is not valid."}
		for _, detail := range found.Details {
			if known := refusals[detail.Message]; known != "" {
				text[0] = known
			}
			text = append(text, "If it happens again, tell an administrator of your organisation: "+detail.Message+".")
		}
	case found.Status < http.StatusInternalServerError && found.Status != http.StatusTooManyRequests:
		title, text = "This was refused", []string{found.Message}
		for _, detail := range found.Details {
			text = append(text, detail.Field+": "+detail.Message)
		}
	}
	shown := message{Text: text, RequestID: problem.RequestID(r.Context())}
	if again != "" {
		shown.Link, shown.Label = again, "Sign in"
	}
	d := compose(found.Status, "message", page{Title: title, Data: shown})
	if found.RetryAfter > 0 {
		d.Header.Set("Retry-After", strconv.Itoa(int((found.RetryAfter+time.Second-1)/time.Second)))
	}
	return d
}

// Linked returns the page about a new link to a provider.
func (p *Pages) Linked() browser.Document {
	return compose(http.StatusOK, "message", page{Title: "Linked", Data: message{
		Text: []string{"You are linked to the provider. You can close this page."},
	}})
}
