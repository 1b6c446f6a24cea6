package api

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
)

// headPaths are the paths whose GET routes also answer HEAD, for probes, browsers and
// monitoring. None of them runs a statement.
var headPaths = []string{
	"/healthz", "/readyz", "/metrics", "/docs", "/docs/", "/docs/app.js", "/docs/style.css", "/v1/openapi.json", "/v1/me",
}

// headRouter registers HEAD in addition to GET for [headPaths]. The server omits the
// body.
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
	if method == http.MethodGet && slices.Contains(headPaths, path) {
		r.Router.MethodFunc(http.MethodHead, path, h)
	}
}
