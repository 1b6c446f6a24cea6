package middleware

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/lakewarden/lakewarden/api/problem"
)

// recorder remembers status and size of a reply. It keeps the abilities of the
// writer below it, Flush among them.
type recorder = chimiddleware.WrapResponseWriter

// record returns w itself when it records already.
func record(w http.ResponseWriter, r *http.Request) recorder {
	if known, ok := w.(recorder); ok {
		return known
	}
	return chimiddleware.NewWrapResponseWriter(w, r.ProtoMajor)
}

// outcome is the status under which a finished request counts: 499 when its
// client went away, 500 when the reply was cut off by us, else what was sent.
func outcome(r *http.Request, w recorder, cut bool) int {
	switch {
	case errors.Is(r.Context().Err(), context.Canceled):
		return problem.StatusClientClosed
	case cut:
		return http.StatusInternalServerError
	case w.Status() == 0:
		return http.StatusOK
	}
	return w.Status()
}

// unmatched is the route of requests that no route takes.
const unmatched = "unmatched"

// routeOf returns the template of the route that took the request. It is known
// only after the router has run.
func routeOf(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		if pattern := c.RoutePattern(); pattern != "" && pattern != "/*" {
			return pattern
		}
	}
	return unmatched
}

// methodOf keeps the number of label values bounded.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "OTHER"
}
