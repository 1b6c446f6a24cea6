package middleware_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wrapper = func(http.Handler) http.Handler

// serve sends one request through the wrappers, outermost first, on a router.
func serve(r *http.Request, handler http.HandlerFunc, wrappers ...wrapper) *httptest.ResponseRecorder {
	router := chi.NewMux()
	router.Use(middleware.RequestID)
	router.Use(wrappers...)
	router.NotFound(middleware.NotFound)
	router.MethodNotAllowed(middleware.MethodNotAllowed(router))
	router.HandleFunc("/v1/tables/{table}/rows", handler)
	router.Get("/v1/read", handler)
	router.Post("/v1/read", handler)
	w := httptest.NewRecorder()
	router.ServeHTTP(w, r)
	return w
}

func get(t *testing.T, target string) *http.Request {
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

// requireProblem checks the four members and returns them.
func requireProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) problem.Body {
	t.Helper()
	require.Equal(t, status, w.Code)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &members), w.Body.String())
	require.Len(t, members, 4)
	var body problem.Body
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, code, body.Code)
	require.Equal(t, w.Header().Get("X-Request-Id"), body.RequestID)
	require.NotEmpty(t, body.RequestID)
	require.NotNil(t, body.Details)
	return body
}

// sink is the target of a log that a test can read.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.buf.Write(p) }

func (s *sink) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.buf.String() }

func (s *sink) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(s, nil)) }

func (s *sink) lines(t *testing.T) (lines []map[string]any) {
	for line := range strings.Lines(s.String()) {
		var members map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &members))
		lines = append(lines, members)
	}
	return lines
}
