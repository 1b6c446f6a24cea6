package identity

import (
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
)

// Origin identifies the client of a request and the request, for counters of refusals and
// for the audit log.
type Origin struct {
	// Remote is the network address of the client.
	Remote string
	// RequestID links audit entries to the request.
	RequestID string
	// Known is the mark of a browser in which somebody signed in before; see [KnownBrowsers].
	Known string
}

// originOf returns the origin of a caller's request.
func originOf(a caller.Identity) Origin { return Origin{Remote: a.Remote, RequestID: a.RequestID} }

// clock returns the time of a clock; nil means [time.Now].
func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}
