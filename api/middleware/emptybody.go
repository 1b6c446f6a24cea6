package middleware

import (
	"net/http"
	"slices"

	"github.com/lakewarden/lakewarden/api/problem"
)

// EmptyBodies drops the body of replies whose status has none in the interface
// (405 and 413), whoever wrote them.
func EmptyBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&bodyless{ResponseWriter: w}, r)
	})
}

// bodyless passes everything on until an empty status is sent.
type bodyless struct {
	http.ResponseWriter
	sent, drop bool
}

// WriteHeader decides, at the first final status, whether a body follows.
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

// Write drops or passes on.
func (b *bodyless) Write(data []byte) (int, error) {
	b.sent = true
	if b.drop {
		return len(data), nil
	}
	return b.ResponseWriter.Write(data)
}

// Flush passes on where the writer below can.
func (b *bodyless) Flush() {
	b.sent = true
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}

// Unwrap serves [http.ResponseController].
func (b *bodyless) Unwrap() http.ResponseWriter { return b.ResponseWriter }
