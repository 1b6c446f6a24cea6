package middleware

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// maxBearer is the length above which a token is refused unread.
const maxBearer = 8 << 10

// Authenticate refuses requests without an accepted bearer credential, and puts the
// principal of others into their context.
//
// Every credential is verified before any failure is counted, so failures of other
// clients never cause a valid credential to be refused, even behind a proxy. If
// failures is not nil, it counts refused credentials; beyond its rate the reply is
// 429. If refused is not nil, it is called for each refusal that is answered with 401,
// and once a minute for each name whose refusals are answered with 429. limited then
// holds the kinds of those names: address, prefix, account.
func Authenticate(authenticator auth.Authenticator, failures *Failures,
	refused func(r *http.Request, refusal *auth.Refusal, limited []string)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bearer, err := bearerOf(r.Header)
			if err != nil { // no token was presented
				problem.Write(w, r, err)
				return
			}
			p, err := authenticator.Authenticate(r.Context(), bearer)
			if refusal := refusalOf(err); refusal != nil {
				var wait time.Duration
				var limited []string
				if failures != nil {
					wait, limited = failures.Count(Remote(r), refusal)
				}
				if refused != nil && (wait == 0 || limited != nil) {
					refused(r, refusal, limited)
				}
				if wait > 0 {
					problem.Write(w, r, &problem.Refusal{Code: "rate_limited", RetryAfter: wait})
					return
				}
			}
			if err != nil {
				problem.Write(w, r, err)
				return
			}
			p.RequestID, p.Remote = problem.RequestID(r.Context()), Remote(r)
			if who, ok := r.Context().Value(callerKey{}).(*caller); ok {
				who.principal = &p
			}
			next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), p)))
		})
	}
}

// refusalOf returns nil unless err refuses the credential.
func refusalOf(err error) *auth.Refusal {
	var refusal *auth.Refusal
	if errors.As(err, &refusal) || !errors.Is(err, auth.ErrUnauthenticated) {
		return refusal
	}
	return &auth.Refusal{Cause: err}
}

// bearerOf reads the one bearer credential of a request. A credential anywhere
// else, such as the query, does not count.
func bearerOf(h http.Header) (string, error) {
	values := h.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", problem.ErrNoCredential
	case len(values) > 1:
		return "", auth.ErrMalformed
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", problem.ErrNoCredential
	}
	token = strings.Trim(token, " ")
	if token == "" || len(token) > maxBearer || strings.ContainsFunc(token, invalidInToken) {
		return "", auth.ErrMalformed
	}
	return token, nil
}

// invalidInToken reports whether RFC 6750 excludes a character from b64token.
func invalidInToken(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", c)
}
