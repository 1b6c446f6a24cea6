package docs

import (
	"embed"
	"net/http"
)

//go:embed page.html app.js style.css
var files embed.FS

// policy lets the page run its own script and style and talk to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at its root and the page's files below it. Mount it
// with the prefix stripped.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "page.html") })
	mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "app.js") })
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "style.css") })
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, name string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, files, name)
}
