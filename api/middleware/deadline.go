package middleware

import (
	"context"
	"net/http"
	"time"
)

// readGrace is how long after its context a request's body stays readable, so
// that the context's own error is the one that is reported.
const readGrace = time.Second

// Deadline bounds the time of requests that are no streams: their context ends
// after d, and a body that has not arrived by then is given up.
func Deadline(d time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), d)
			defer cancel()
			// The server clears it before the connection's next request. A writer
			// that cannot do it belongs to a test.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d + readGrace))
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}
