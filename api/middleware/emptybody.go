package middleware

import (
	"net/http"
	"slices"

	"github.com/lakewarden/lakewarden/api/problem"
)

// EmptyBodies drops the body of replies with a status of [problem.EmptyStatuses] (405 and
// 413), whichever handler wrote them.
func EmptyBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&bodyless{ResponseWriter: w}, r)
	})
}

// bodyless drops what is written after an empty status.
type bodyless struct {
	http.ResponseWriter
	sent, drop bool
}

// WriteHeader decides at the first final status whether the reply has a body.
func (b *bodyless) WriteHeader(status int) {
	if !b.sent && status >= http.StatusOK {
		b.sent = true
		if b.drop = slices.Contains(problem.EmptyStatuses, status); b.drop {
			b.Header().Del("Content-Type")
			b.Header().Set("Content-Length", "0")
		}
	}
	b.ResponseWriter.WriteHeader(status)
}

// Write writes data, or drops it if the reply has no body.
func (b *bodyless) Write(data []byte) (int, error) {
	b.sent = true
	if b.drop {
		return len(data), nil
	}
	return b.ResponseWriter.Write(data)
}

// Flush flushes the underlying writer if it can.
func (b *bodyless) Flush() {
	b.sent = true
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}

// Unwrap returns the underlying writer for [http.ResponseController].
func (b *bodyless) Unwrap() http.ResponseWriter { return b.ResponseWriter }
