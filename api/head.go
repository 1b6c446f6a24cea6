package api

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
)

// headed are the paths of GET that answer HEAD too: what probes, browsers and
// monitors ask. None of them runs a statement.
var headed = []string{"/healthz", "/readyz", "/metrics", "/docs", "/docs/", "/docs/app.js", "/docs/style.css", "/v1/openapi.json", "/v1/me"}

// headRouter registers HEAD with GET for the paths of [headed]. The server leaves
// out the body.
type headRouter struct{ chi.Router }

// Get implements chi.Router.
func (r headRouter) Get(path string, h http.HandlerFunc) { r.MethodFunc(http.MethodGet, path, h) }

// Method implements chi.Router.
func (r headRouter) Method(method, path string, h http.Handler) {
	r.MethodFunc(method, path, h.ServeHTTP)
}

// MethodFunc implements chi.Router.
func (r headRouter) MethodFunc(method, path string, h http.HandlerFunc) {
	r.Router.MethodFunc(method, path, h)
	if method == http.MethodGet && slices.Contains(headed, path) {
		r.Router.MethodFunc(http.MethodHead, path, h)
	}
}
