package middleware

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/problem"
)

// HeaderRequestID is the header of the request id. It is read from requests and set on
// every reply.
const HeaderRequestID = "X-Request-Id"

// maxRequestID is the maximum length of an id from a client.
const maxRequestID = 64

// RequestID gives the request an id: the client's own if it is short and plain, else a
// new one. [problem.RequestID] returns it from the context.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(HeaderRequestID)
		if !isPlain(id) {
			id = uuid.NewString()
		}
		w.Header().Set(HeaderRequestID, id)
		next.ServeHTTP(w, r.WithContext(problem.WithRequest(r.Context(), id)))
	})
}

// isPlain reports whether an id consists of characters that are safe in logs and headers.
func isPlain(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}
