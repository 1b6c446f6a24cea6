package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// RateLimit limits each caller to the limiter's rate: an API key by itself, a person by
// organisation for all tokens together, and requests without a principal by address.
// Every reply holds the remaining number of calls.
func RateLimit(limiter *Limiter) func(http.Handler) http.Handler {
	policy := strconv.Itoa(limiter.rate.PerMinute) + ";w=60;burst=" + strconv.Itoa(limiter.rate.Burst)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d := limiter.Take(callerOf(r))
			h := w.Header()
			h.Set("RateLimit-Policy", policy)
			h.Set("RateLimit-Limit", strconv.Itoa(limiter.rate.Burst))
			h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
			h.Set("RateLimit-Reset", strconv.Itoa(int((d.Reset+time.Second-1)/time.Second)))
			if !d.Allowed {
				problem.Write(w, r, &problem.Refusal{Code: "rate_limited", RetryAfter: d.RetryAfter})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func callerOf(r *http.Request) string {
	p, err := auth.PrincipalFrom(r.Context())
	switch {
	case err != nil:
		return "address " + Remote(r)
	case p.KeyID != nil:
		return "key " + p.KeyID.String()
	}
	return "user " + p.OrgID.String() + " " + p.UserID.String()
}
