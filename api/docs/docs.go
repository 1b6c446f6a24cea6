package docs

import (
	"embed"
	"net/http"

	"github.com/go-chi/chi/v5"
)

//go:embed page.html app.js style.css
var files embed.FS

// policy lets the page run its own script and style and talk to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// Routes adds the page at /docs and its files below it.
func Routes(r chi.Router) {
	r.Get("/docs", http.RedirectHandler("/docs/", http.StatusPermanentRedirect).ServeHTTP)
	for path, name := range map[string]string{"/docs/": "page.html", "/docs/app.js": "app.js", "/docs/style.css": "style.css"} {
		r.Get(path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, name) })
	}
}

func serve(w http.ResponseWriter, r *http.Request, name string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, files, name)
}
