package middleware_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
)

func TestDeadlineEndsTheContext(t *testing.T) {
	w := serve(get(t, "/v1/read"), func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		problem.Write(w, r, context.Cause(r.Context()))
	}, middleware.Deadline(time.Millisecond))
	requireProblem(t, w, 503, "unavailable")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
}

// A client that never finishes its body cannot hold a handler.
func TestDeadlineGivesUpASlowBody(t *testing.T) {
	read := make(chan error, 1)
	server := httptest.NewServer(middleware.Deadline(time.Millisecond)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	select {
	case err := <-read:
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
	case <-time.After(30 * time.Second):
		t.Fatal("the body was waited for")
	}
}
