package middleware

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/problem"
)

// HeaderRequestID is read from requests and set on every reply.
const HeaderRequestID = "X-Request-Id"

// maxRequestID bounds an id that a client chose.
const maxRequestID = 64

// RequestID gives the request an id: the client's own when it is short and
// plain, else a new one. Package problem finds it in the context.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(HeaderRequestID)
		if !plain(id) {
			id = uuid.NewString()
		}
		w.Header().Set(HeaderRequestID, id)
		next.ServeHTTP(w, r.WithContext(problem.WithRequest(r.Context(), id)))
	})
}

// plain allows what cannot be mistaken for anything else in a log or a header.
func plain(id string) bool {
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
