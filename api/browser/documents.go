package browser

import (
	"net/http"
	"strings"
)

// Document is a page as a reply.
type Document struct {
	Status int
	Header http.Header
	Body   []byte
}

// Navigates reports whether a browser shows the reply to a request to a person. Programs, and
// scripts of pages, do not ask for HTML.
func Navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return strings.HasPrefix(strings.TrimSpace(first), "text/html")
}
