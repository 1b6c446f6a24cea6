package oauth2

import (
	"net/http"

	"github.com/lakewarden/lakewarden/api/problem"
)

// Errors makes a route report its errors in the format of OAuth: see [problem.WithOAuthBody].
func Errors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(problem.WithOAuthBody(r.Context())))
	})
}
