package middleware

import (
	"net/http"

	"github.com/lakewarden/lakewarden/api/problem"
)

// ResourceMetadata lets replies to refused credentials name the document at url; see
// [problem.WithResourceMetadata].
func ResourceMetadata(url string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(problem.WithResourceMetadata(r.Context(), url)))
		})
	}
}
