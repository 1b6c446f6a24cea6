package middleware

import (
	"net/http"
	"strings"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// maxBearer bounds a token before anybody looks at it.
const maxBearer = 8 << 10

// Authenticate lets only requests with an accepted bearer credential through,
// and puts the principal into their context. failures, when not nil, limits
// refused credentials by the peer's address, so that guessing is slow and
// cheap to turn away.
func Authenticate(authenticator auth.Authenticator, failures *Limiter) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bearer, err := bearerOf(r.Header)
			if err != nil {
				problem.Write(w, r, err)
				return
			}
			if failures != nil {
				if d := failures.Peek(remoteHost(r)); !d.Allowed {
					problem.Write(w, r, &problem.Refusal{Code: "rate_limited", RetryAfter: d.RetryAfter})
					return
				}
			}
			p, err := authenticator.Authenticate(r.Context(), bearer)
			if err != nil {
				if failures != nil && problem.From(err).Status == http.StatusUnauthorized {
					failures.Take(remoteHost(r))
				}
				problem.Write(w, r, err)
				return
			}
			p.RequestID = problem.RequestID(r.Context())
			if who, ok := r.Context().Value(callerKey{}).(*caller); ok {
				who.principal = &p
			}
			next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), p)))
		})
	}
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
	if token == "" || len(token) > maxBearer || strings.ContainsFunc(token, outsideToken) {
		return "", auth.ErrMalformed
	}
	return token, nil
}

// outsideToken reports a character that RFC 6750's b64token does not have.
func outsideToken(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", c)
}
