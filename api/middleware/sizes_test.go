package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
)

func readAll(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		problem.Write(w, r, err)
		return
	}
	ok(w, r)
}

func TestSizesAtTheLimitAndOneBeyond(t *testing.T) {
	limits := middleware.Sizes{URL: 40, Header: 60, Body: 10,
		Streams: func(r *http.Request) bool { return r.Header.Get("Content-Type") == "text/csv" }}
	send := func(target, contentType, header string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, body)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if header != "" {
			r.Header.Set("X-A", header)
		}
		return serve(r, readAll, middleware.EmptyBodies, limits.Handler)
	}
	unknownLength := func(n int) io.Reader { return io.MultiReader(strings.NewReader(strings.Repeat("x", n))) }
	for name, c := range map[string]struct {
		reply  *httptest.ResponseRecorder
		status int
	}{
		"url at the limit":           {send("/v1/read?q="+strings.Repeat("x", 28), "", "", nil), 200},
		"url beyond":                 {send("/v1/read?q="+strings.Repeat("x", 30), "", "", nil), 413},
		"header at the limit":        {send("/v1/read", "", strings.Repeat("x", 53), nil), 200},
		"header beyond":              {send("/v1/read", "", strings.Repeat("x", 54), nil), 413},
		"body at the limit":          {send("/v1/read", "", "", strings.NewReader(strings.Repeat("x", 10))), 200},
		"body beyond":                {send("/v1/read", "", "", strings.NewReader(strings.Repeat("x", 11))), 413},
		"unknown length at limit":    {send("/v1/read", "", "", unknownLength(10)), 200},
		"unknown length beyond":      {send("/v1/read", "", "", unknownLength(11)), 413},
		"streams have no body limit": {send("/v1/read", "text/csv", "", unknownLength(1000)), 200},
	} {
		require.Equal(t, c.status, c.reply.Code, name)
		if c.status == 413 {
			require.Zero(t, c.reply.Body.Len(), name)
			require.Empty(t, c.reply.Header().Get("Content-Type"), name)
			require.NotEmpty(t, c.reply.Header().Get("X-Request-Id"), name)
		}
	}
}

func TestEmptyBodiesWhoeverWritesThem(t *testing.T) {
	for status, empty := range map[int]bool{405: true, 413: true, 400: false, 200: false, 404: false} {
		w := serve(get(t, "/v1/read"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			n, err := io.WriteString(w, `{"title":"x"}`)
			require.NoError(t, err)
			require.Equal(t, 13, n)
		}, middleware.EmptyBodies)
		require.Equal(t, status, w.Code)
		require.Equal(t, empty, w.Body.Len() == 0, status)
		require.Equal(t, empty, w.Header().Get("Content-Type") == "", status)
	}
}

func TestUnmatchedRequests(t *testing.T) {
	requireProblem(t, serve(get(t, "/v1/nothing"), ok), 404, "not_found")
	w := serve(httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v1/read", nil), ok)
	require.Equal(t, 405, w.Code)
	require.Equal(t, "GET, POST", w.Header().Get("Allow"))
	require.Zero(t, w.Body.Len())
}

func TestHeaders(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Referrer-Policy", "same-origin")
		ok(w, r)
	}
	w := serve(get(t, "/v1/read"), handler, middleware.Headers("http://localhost:8080"))
	require.Empty(t, w.Header().Get("Strict-Transport-Security"))
	secure := serve(get(t, "/v1/read"), handler, middleware.Headers("https://lake.example"))
	require.Equal(t, "max-age=31536000", secure.Header().Get("Strict-Transport-Security"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "same-origin", w.Header().Get("Referrer-Policy"), "a handler may replace one")
}
