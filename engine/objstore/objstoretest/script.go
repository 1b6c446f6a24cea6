package objstoretest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Step is one reply of a Script.
type Step = http.HandlerFunc

// Script is a store that gives its steps in turn, the last one forever.
type Script struct {
	// URL is its address.
	URL string

	mu    sync.Mutex
	steps []Step
	seen  []*http.Request
}

// NewScript starts a store that ends with the test.
func NewScript(tb testing.TB, steps ...Step) *Script {
	tb.Helper()
	s := &Script{steps: steps}
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeHTTP implements http.Handler.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	next := s.steps[min(len(s.seen), len(s.steps)-1)]
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	next(w, r)
}

// Seen returns the requests so far.
func (s *Script) Seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[:len(s.seen):len(s.seen)]
}

// Lost takes the request and breaks the connection off.
func Lost(w http.ResponseWriter, r *http.Request) { Raw("")(w, r) }

// Hang receives the request and does not reply until the client has disconnected.
func Hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Raw sends bytes and closes the connection.
func Raw(text string) Step {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, text)
			conn.Close()
		}
	}
}

// Stalls sends half of a body and waits.
func Stalls(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "10")
	w.Header().Set("ETag", `"one"`)
	_, _ = io.WriteString(w, "half ")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// Redirect leads to another path of the store.
func Redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://"+r.Host+"/elsewhere", http.StatusTemporaryRedirect)
}

// Outcome is what the caller of a write learns.
type Outcome string

// The outcomes.
const (
	Written   Outcome = "written"
	Exists    Outcome = "exists"
	Unknown   Outcome = "unknown"
	Untouched Outcome = "nothing was written"
)

// OutcomeOf returns the outcome that an error of a write tells.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Written
	case errors.Is(err, objstore.ErrUnknown):
		return Unknown
	case errors.Is(err, objstore.ErrExists):
		return Exists
	}
	return Untouched
}
