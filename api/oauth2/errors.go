package oauth2

import (
	"net/http"

	"github.com/lakewarden/lakewarden/api/problem"
)

// Errors has the errors of a route written as clients of OAuth expect them; see
// [problem.WithOAuthBody].
func Errors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(problem.WithOAuthBody(r.Context())))
	})
}
