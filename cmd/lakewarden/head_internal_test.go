package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProbesMayAskWithHead: many load balancers and monitors do.
func TestProbesMayAskWithHead(t *testing.T) {
	s := startServer(t, func(c *settings) { c.MetricsAddr = "127.0.0.1:0" })
	apart := startServer(t, nil)
	for _, path := range []string{"/healthz", "/readyz", "/docs/", "/docs/app.js", "/v1/openapi.json", "/v1/me"} {
		got, head := s.admin.call("GET", path, nil), s.admin.call("HEAD", path, nil)
		require.Equal(t, http.StatusOK, head.status, path)
		require.Empty(t, head.body, path)
		require.Equal(t, got.header.Get("Content-Type"), head.header.Get("Content-Type"), path)
		require.Contains(t, strings.Split(s.admin.call("PATCH", path, nil).header.Get("Allow"), ", "), "HEAD", path)
	}
	require.Equal(t, http.StatusOK, apart.admin.call("HEAD", "/metrics", nil).status)
	require.Equal(t, http.StatusNotFound, s.admin.call("HEAD", "/metrics", nil).status)
	nobody := s.client("", "").call("HEAD", "/v1/me", nil)
	require.Equal(t, http.StatusUnauthorized, nobody.status)
	require.Empty(t, nobody.body)
}

// TestHeadRunsNoStatement: rows are made to be read.
func TestHeadRunsNoStatement(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	o := s.admin.await(s.admin.start("SELECT 1"))
	for _, path := range []string{s.tablePath("t") + "/rows", s.tablePath("t") + "/violations", "/v1/operations/" + o["id"].(string) + "/result"} {
		r := s.admin.call("HEAD", path, nil)
		require.Equal(t, http.StatusMethodNotAllowed, r.status, path)
		require.NotContains(t, r.header.Get("Allow"), "HEAD", path)
	}
}
