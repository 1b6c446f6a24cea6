package middleware

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/lakewarden/lakewarden/api/problem"
)

// NotFound answers requests for paths that match no route.
func NotFound(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, &problem.Refusal{Code: "not_found"})
}

// MethodNotAllowed answers requests for paths that match a route with another method. It
// replies with an empty 405 whose Allow header lists the methods of the path in routes.
func MethodNotAllowed(routes chi.Routes) http.HandlerFunc {
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions}
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath // as the router does
		if path == "" {
			path = r.URL.Path
		}
		var allowed []string
		for _, method := range methods {
			if routes.Match(chi.NewRouteContext(), method, path) {
				allowed = append(allowed, method)
			}
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem.Write(w, r, &problem.Refusal{Code: "method_not_allowed"})
	}
}
