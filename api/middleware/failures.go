package middleware

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/auth"
)

// DefaultFailureRate is how often a credential may be refused for each address,
// each prefix and each account.
var DefaultFailureRate = Rate{PerMinute: 60, Burst: 60}

// failureSlots bounds the memory of [Failures], whatever names a flood invents.
const failureSlots = 1 << 16

// Failures counts refused credentials by the address that they came from, by the
// prefix that they begin with and by the account that they claim.
//
// Names share a fixed number of slots by a hash that is seeded at random. Two
// names in one slot make one of them reach its limit early, which costs nothing
// but a 429 in the place of a 401: a credential that is accepted is never
// counted and never refused. Safe for concurrent use.
type Failures struct {
	limiter *Limiter
	seed    maphash.Seed
}

// NewFailures returns counters without entries; now nil means [time.Now].
func NewFailures(rate Rate, now func() time.Time) *Failures {
	return &Failures{limiter: NewLimiter(rate, now), seed: maphash.MakeSeed()}
}

// count counts a refused credential of a request. It returns how long to wait
// when one of its names is beyond the rate, else 0.
func (f *Failures) count(r *http.Request, refusal *auth.Refusal) (wait time.Duration) {
	names := []string{"address " + network(Remote(r))}
	if refusal.Prefix != "" {
		names = append(names, "prefix "+refusal.Prefix)
	}
	if refusal.Account != "" {
		names = append(names, "account "+refusal.Account)
	}
	for _, name := range names {
		slot := maphash.String(f.seed, name) % failureSlots
		wait = max(wait, f.limiter.Take(strconv.FormatUint(slot, 10)).RetryAfter)
	}
	return wait
}

// network is what one client can be expected to hold of the addresses: an IPv4
// address, or 64 bits of an IPv6 address.
func network(remote string) string {
	address, err := netip.ParseAddr(remote)
	if err != nil || address.Is4() {
		return remote
	}
	prefix, _ := address.Prefix(64) // fits every IPv6 address
	return prefix.String()
}
