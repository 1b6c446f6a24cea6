package middleware

import (
	"net/http"
	"strings"
)

// Headers sets the headers that forbid browsers to interpret a reply, other than to pass
// it to the script that requested it, and caches to store it. A handler may replace them,
// as the page at /docs does. If publicURL, the address of the server, is one of https, browsers are
// told to use nothing else for a year (RFC 6797).
func Headers(publicURL string) func(http.Handler) http.Handler {
	strict := strings.HasPrefix(publicURL, "https://")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			if strict {
				h.Set("Strict-Transport-Security", "max-age=31536000")
			}
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "no-store")
			h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
			h.Set("Referrer-Policy", "no-referrer")
			next.ServeHTTP(w, r)
		})
	}
}
