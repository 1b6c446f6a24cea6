package middleware

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// RateLimits are the limits of callers.
type RateLimits struct {
	// Caller limits each caller: an API key by itself, a person by organisation for all
	// tokens together, and requests without a principal by address.
	Caller *Limiter
	// Organisation limits all callers of one organisation together. Callers without one
	// have no such limit.
	Organisation *Limiter
}

// Handler refuses requests beyond a limit. A refused request counts for no limit. Every
// reply holds the policies, and the state of the limit that will be reached first.
func (l RateLimits) Handler(next http.Handler) http.Handler {
	ofCaller := l.Caller.policy()
	ofBoth := ofCaller + ", " + l.Organisation.policy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, organisation := callerOf(r)
		tightest, policy := l.Caller, ofCaller
		d := l.Caller.Take(caller)
		if organisation != "" {
			policy = ofBoth
			if d.Allowed {
				if all := l.Organisation.Take(organisation); !all.Allowed {
					l.Caller.giveBack(caller)
					d, tightest = all, l.Organisation
				} else if all.Remaining < d.Remaining {
					d, tightest = all, l.Organisation
				}
			}
		}
		h := w.Header()
		h.Set("RateLimit-Policy", policy)
		h.Set("RateLimit-Limit", strconv.Itoa(tightest.rate.Burst))
		h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
		h.Set("RateLimit-Reset", strconv.Itoa(int((d.Reset+time.Second-1)/time.Second)))
		if !d.Allowed {
			problem.Write(w, r, &problem.Refusal{Code: "rate_limited", RetryAfter: d.RetryAfter})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// policy describes the rate in a RateLimit-Policy header.
func (l *Limiter) policy() string {
	return strings.Join([]string{strconv.Itoa(l.rate.PerMinute), "w=60", "burst=" + strconv.Itoa(l.rate.Burst)}, ";")
}

// callerOf returns the names of the caller and its organisation in the limiters. A caller
// without a principal is named by the network of its address. The organisation is empty for
// a caller without one.
func callerOf(r *http.Request) (caller, organisation string) {
	p, err := auth.PrincipalFrom(r.Context())
	if err != nil {
		return "address " + Network(Remote(r)), ""
	}
	organisation = p.OrgID.String()
	caller = "user " + organisation + " " + p.UserID.String()
	if p.KeyID != nil {
		caller = "key " + p.KeyID.String()
	}
	if p.OrgID == uuid.Nil {
		organisation = ""
	}
	return caller, organisation
}
