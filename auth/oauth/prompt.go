package oauth

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth/session"
)

// Prompts returns the values of the parameter prompt that the server supports. The server shows
// the page of consent for all of them but none.
func Prompts() []string { return []string{"none", "login", "consent", "select_account"} }

// signedInSince is a parameter of the server's own links to the authorization endpoint: the earliest
// time at which the person may have signed in, in microseconds since 1970. It replaces prompt and
// max_age in the link that a person follows after signing in. Otherwise the person would be asked to
// sign in again and again.
const signedInSince = "signed_in_since"

// signInRule is what a request demands of the sign-in at the browser: OpenID Connect Core 1.0
// §3.1.2.1.
type signInRule struct {
	// silent reports that no page may be shown.
	silent bool
	// since is the earliest time at which the person may have signed in; zero means any.
	since time.Time
}

// signInRuleOf parses the parameters prompt, max_age and [signedInSince].
func signInRuleOf(query url.Values, now time.Time) (a signInRule, err error) {
	prompts := strings.Fields(query.Get("prompt"))
	for _, prompt := range prompts {
		switch prompt {
		case "none":
			a.silent = true
		case "login", "select_account":
			a.since = now
		case "consent":
		default:
			return a, fosite.ErrInvalidRequest.WithHint("The parameter prompt has an unknown value.")
		}
	}
	if a.silent && len(prompts) > 1 {
		return a, fosite.ErrInvalidRequest.WithHint("The value none of the parameter prompt excludes other values.")
	}
	if text := query.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return a, fosite.ErrInvalidRequest.WithHint("The parameter max_age must be a number of seconds.")
		}
		a.since = later(a.since, now.Add(-time.Duration(seconds)*time.Second))
	}
	if text := query.Get(signedInSince); text != "" {
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return a, fosite.ErrInvalidRequest.WithHint("The parameter signed_in_since must be a time in microseconds.")
		}
		a.since = later(a.since, time.UnixMicro(micros))
	}
	return a, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// satisfied reports whether a session of the browser is recent enough.
func (a signInRule) satisfied(of session.Session) bool { return !of.CreatedAt.Before(a.since) }

// afterSignIn returns the query with which a request continues after the person has signed in.
func (a signInRule) afterSignIn(u *url.URL) string {
	if a.since.IsZero() {
		return u.RawQuery
	}
	rest := u.Query()
	prompts := slices.DeleteFunc(strings.Fields(rest.Get("prompt")), func(p string) bool { return p == "login" || p == "select_account" })
	rest.Set("prompt", strings.Join(prompts, " "))
	if len(prompts) == 0 {
		rest.Del("prompt")
	}
	rest.Del("max_age")
	rest.Set(signedInSince, strconv.FormatInt(a.since.UnixMicro(), 10))
	return rest.Encode()
}
