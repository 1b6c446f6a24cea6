package throttle

import (
	"net/netip"
	"time"

	"github.com/lakewarden/lakewarden/auth/password"
)

// tally counts the events that anybody can cause, by account, remote address and network,
// and limits their audit entries: entries are permanent, and a flood would delay those of
// everybody else. Each event within the rates gets an entry. Beyond a rate, one event a
// minute gets one. A tally is safe for concurrent use.
type tally struct{ accounts, remotes, networks, entries *meter }

// newTally returns empty counters; accounts is the meter of accounts.
func newTally(now func() time.Time, accounts *meter) tally {
	return tally{
		accounts: accounts, remotes: newMeter(now, 60, time.Second), networks: newMeter(now, 300, 200*time.Millisecond),
		entries: newMeter(now, 1, time.Minute),
	}
}

// add counts an event of an account, or of none if account is empty. wait is how long it
// takes until no rate is exceeded. limited is "network", "address" or "account", the
// broadest that exceeds its rate, or empty: one network has few entries however many
// accounts it names. audited reports whether the audit log gets an entry.
func (t tally) add(account, remote string) (wait time.Duration, limited string, audited bool) {
	var excess string
	for _, name := range []struct {
		kind, value string
		meter       *meter
	}{{"account", account, t.accounts}, {"address", remoteRange(remote), t.remotes}, {"network", networkOf(remote), t.networks}} {
		if name.value == "" {
			continue
		}
		if over := name.meter.add(name.value); over > 0 {
			wait, limited = max(wait, over), name.kind
			excess = name.kind + " " + name.value
		}
	}
	return wait, limited, limited == "" || t.entries.take(excess)
}

// Refusals limits the audit entries about refusals and other events that anybody can cause.
// It is safe for concurrent use. Each replica counts by itself.
type Refusals struct{ tally tally }

// NewRefusals returns empty counters. If now is nil, [time.Now] is used.
func NewRefusals(now func() time.Time) *Refusals {
	if now == nil {
		now = time.Now
	}
	return &Refusals{newTally(now, newMeter(now, 20, 30*time.Second))}
}

// Add counts an event of an account, or of none if account is empty. audited reports
// whether the audit log gets an entry, and limited is "network", "address" or "account" if
// that has too many.
func (r *Refusals) Add(account, remote string) (limited string, audited bool) {
	_, limited, audited = r.tally.add(account, remote)
	return limited, audited
}

// remoteRange returns the remote addresses that one client is assumed to control: an IPv4
// address, or the /64 prefix of an IPv6 address.
func remoteRange(remote string) string { return prefixOf(remote, 32, 64) }

// networkOf returns the network that one provider is assumed to control.
func networkOf(remote string) string { return prefixOf(remote, 24, 48) }

// SourceOf returns the source of the hashes that a remote address asks for.
func SourceOf(remote string) password.Source {
	return password.Source{Network: networkOf(remote), Client: remoteRange(remote)}
}

func prefixOf(remote string, v4, v6 int) string {
	parsed, err := netip.ParseAddr(remote)
	if err != nil {
		return remote
	}
	bits := v6
	if parsed = parsed.Unmap().WithZone(""); parsed.Is4() {
		bits = v4
	}
	prefix, _ := parsed.Prefix(bits) // fits both kinds of addresses
	return prefix.String()
}
