package identity

import (
	"net/url"
	"regexp"
	"strings"
)

// The paths to which the server leads browsers. The doors serve them.
const (
	SignInPath      = "/signin"
	SignOutPath     = "/signout"
	SignedInPath    = "/signed-in"
	SignedOutPath   = "/signed-out"
	RecoverPath     = "/recover"
	SetPasswordPath = "/set-password"
	InvitationPath  = "/accept-invitation"
	// ConfirmPath is where members confirm who they are at an identity provider.
	ConfirmPath = "/confirm-identity"
	// AuthorizePath is the authorization endpoint.
	AuthorizePath = "/oauth2/authorize"
	// SSOCallbackPath is where identity providers lead browsers back.
	SSOCallbackPath = "/v1/auth/sso/callback"
	// LinkCallbackPath is where providers of storage lead browsers back.
	LinkCallbackPath = "/v1/auth/provider/callback"
)

// tokenLink returns the URL of a page with the token of a link in an e-mail.
func tokenLink(publicURL, path, token string) string {
	return publicURL + path + "?token=" + url.QueryEscape(token)
}

// maxReturnTo bounds an authorization request, in bytes.
const maxReturnTo = 6 << 10

// CallbackOf returns the path and query at which a browser continues after it has signed in at the
// server's own page for a program that began the sign-in by [SSO.Begin]. It returns "" for a text
// that does not have the form of a state.
func CallbackOf(state string) string {
	if !stateForm.MatchString(state) {
		return ""
	}
	return SSOCallbackPath + "?state=" + state
}

var stateForm = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// ReturnTo returns the path and query at which a browser continues after a sign-in, or "" for a
// text that is neither [ConfirmPath], an authorization request of this server nor a result of
// [CallbackOf].
func ReturnTo(text string) string {
	if text == ConfirmPath {
		return text
	}
	if state, ok := strings.CutPrefix(text, SSOCallbackPath+"?state="); ok && CallbackOf(state) != "" {
		return text
	}
	if len(text) > maxReturnTo || !strings.HasPrefix(text, AuthorizePath+"?") ||
		strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' || c == '#' }) {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Path != AuthorizePath {
		return ""
	}
	return text
}
