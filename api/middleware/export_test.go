package middleware

import (
	"context"
	"net/http"
	"time"

	"github.com/lakewarden/lakewarden/auth"
)

// Entries returns the number of the limiter's entries.
func (l *Limiter) Entries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.full)
}

// Entries returns how many counters are in use.
func (f *Failures) Entries() int { return f.limiter.Entries() + f.reports.Entries() }

// Count counts a refused credential that came from an address.
func (f *Failures) Count(remote string, refusal *auth.Refusal) time.Duration {
	ctx := context.WithValue(context.Background(), remoteKey{}, remote)
	wait, _ := f.count((&http.Request{}).WithContext(ctx), refusal)
	return wait
}
