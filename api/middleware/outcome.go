package middleware

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/lakewarden/lakewarden/api/problem"
)

// recorder records the status and the size of a reply. It has the optional interfaces of
// the underlying writer, such as http.Flusher.
type recorder = chimiddleware.WrapResponseWriter

// record returns w if it is a recorder, and a recorder of w otherwise.
func record(w http.ResponseWriter, r *http.Request) recorder {
	if known, ok := w.(recorder); ok {
		return known
	}
	return chimiddleware.NewWrapResponseWriter(w, r.ProtoMajor)
}

// outcome returns the status under which a finished request is counted: 499 if its client
// disconnected, that of the error if the server cut off the reply, else the status that was sent.
func outcome(r *http.Request, w recorder, cut bool) int {
	switch {
	case errors.Is(r.Context().Err(), context.Canceled):
		return problem.StatusClientClosed
	case cut:
		return problem.From(problem.Cause(r.Context())).Status // 500 if the handler recorded none
	case w.Status() == 0:
		return http.StatusOK
	}
	return w.Status()
}

// unmatched is the route of requests that match no route.
const unmatched = "unmatched"

// routeOf returns the template of the route that matched the request. It is known only
// after the router has run.
func routeOf(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		if pattern := c.RoutePattern(); pattern != "" && pattern != "/*" {
			return pattern
		}
	}
	return unmatched
}

// methodOf returns the method, or "OTHER" for unknown methods, so that the number of
// label values is bounded.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "OTHER"
}
