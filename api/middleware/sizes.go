package middleware

import (
	"errors"
	"net/http"
	"time"

	"github.com/lakewarden/lakewarden/api/problem"
)

// The default sizes, in bytes.
const (
	DefaultMaxURL    = 8 << 10
	DefaultMaxHeader = 16 << 10
	DefaultMaxBody   = 32 << 20
)

// Sizes bounds the size of requests. Larger requests get a 413 without a body. The zero
// value uses the defaults.
type Sizes struct {
	// URL bounds the path and the query as sent, in bytes.
	URL int
	// Header bounds the names and values of all header fields together. The server's own
	// limit must be larger, because its reply does not have the API's form.
	Header int
	// Body bounds the body, in bytes.
	Body int64
	// Streams reports whether a request's body is a stream, whose operation limits its
	// size. If Streams is nil, no body is a stream.
	Streams func(*http.Request) bool
}

var errTooLarge = errors.New("request too large")

// Handler applies the limits. A body of unknown length is cut off at the limit; reading
// beyond it returns an [http.MaxBytesError].
func (s Sizes) Handler(next http.Handler) http.Handler {
	url, header, body := or(s.URL, DefaultMaxURL), or(s.Header, DefaultMaxHeader), or(s.Body, int64(DefaultMaxBody))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bounded := s.Streams == nil || !s.Streams(r)
		if len(r.RequestURI) > url || headerSize(r.Header) > header || (bounded && r.ContentLength > body) {
			w.Header().Set("Connection", "close") // the rest of the body is not read
			problem.Write(w, r, &problem.Refusal{Code: "payload_too_large", Cause: errTooLarge})
			return
		}
		if bounded && r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, body)
		}
		next.ServeHTTP(w, r)
	})
}

// headerSize returns the size of names, values and separators as sent.
func headerSize(h http.Header) int {
	size := 0
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

func or[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
