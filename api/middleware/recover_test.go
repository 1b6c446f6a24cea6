package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
)

func TestPanicIsA500AndTheServerContinues(t *testing.T) {
	var log sink
	for _, reason := range []any{"SECRET", io.EOF, []int{1}, struct{}{}} {
		w := serve(get(t, "/v1/read"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("X-Half-Made", "1")
			panic(reason)
		}, middleware.AccessLog(log.logger()), middleware.Recover(log.logger()))
		requireProblem(t, w, 500, "internal_error")
		require.NotContains(t, w.Body.String(), "SECRET")
		require.Empty(t, w.Header().Get("X-Half-Made"))
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
	first := log.lines(t)[0]
	require.Equal(t, "panic", first["msg"])
	require.NotEmpty(t, first["request_id"])
	require.Contains(t, first["stack"], "recover_test.go")
}

// An incomplete reply must not look complete to the client.
func TestAPanicAfterBytesCutsTheConnection(t *testing.T) {
	var log sink
	router := chi.NewMux()
	router.Use(middleware.RequestID, middleware.AccessLog(log.logger()), middleware.EmptyBodies, middleware.Recover(log.logger()))
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("boom")
	})
	server := httptest.NewServer(router)
	defer server.Close()
	for range 2 {
		resp, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, "half", string(body))
	}
}
