package middleware

import (
	"hash/maphash"
	"net/netip"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/auth"
)

// DefaultFailureRate is the rate of refused credentials allowed for each address, each
// prefix and each account.
var DefaultFailureRate = Rate{PerMinute: 60, Burst: 60}

// failureSlots bounds the memory of [Failures], however many names a flood of requests
// uses.
const failureSlots = 1 << 16

// Failures counts refused credentials by the address that sent them, by their prefix and
// by the account that they claim.
//
// Names share a fixed number of slots by a randomly seeded hash. If two names share a
// slot, one of them reaches its limit early and gets 429 instead of 401. An accepted
// credential is never counted and never refused. Failures is safe for concurrent use.
type Failures struct {
	limiter *Limiter
	reports *Limiter // limits reports about names that exceed the rate
	seed    maphash.Seed
}

// NewFailures returns empty counters. If now is nil, [time.Now] is used.
func NewFailures(rate Rate, now func() time.Time) *Failures {
	return &Failures{limiter: NewLimiter(rate, now), reports: NewLimiter(Rate{PerMinute: 1, Burst: 1}, now), seed: maphash.MakeSeed()}
}

// Count counts a refused credential that came from an address. It returns how long the
// client has to wait if one of the credential's names exceeds the rate, else 0. limited
// holds the kinds of the names that exceed it and were not reported within the last
// minute.
//
// A door that verifies credentials of its own, such as secrets of clients, counts the
// refused ones here and names the account in the refusal.
func (f *Failures) Count(remote string, refusal *auth.Refusal) (wait time.Duration, limited []string) {
	for _, name := range []struct{ kind, value string }{
		{"address", Network(remote)}, {"prefix", refusal.Prefix}, {"account", refusal.Account},
	} {
		if name.value == "" && name.kind != "address" {
			continue
		}
		slot := strconv.FormatUint(maphash.String(f.seed, name.kind+" "+name.value)%failureSlots, 10)
		d := f.limiter.Take(slot)
		wait = max(wait, d.RetryAfter)
		if !d.Allowed && f.reports.Take(slot).Allowed {
			limited = append(limited, name.kind)
		}
	}
	return wait, limited
}

// Network returns the address range that one client is assumed to control: an IPv4
// address, or the /64 prefix of an IPv6 address.
func Network(remote string) string {
	address, err := netip.ParseAddr(remote)
	if err != nil || address.Is4() {
		return remote
	}
	prefix, _ := address.Prefix(64) // fits every IPv6 address
	return prefix.String()
}
