package operation_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestProbesAcceptHead checks that probes answer HEAD requests, which many load balancers
// and monitors send.
func TestProbesAcceptHead(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.MetricsAddr = "127.0.0.1:0" })
	apart := harness.Start(t, nil)
	for _, path := range []string{"/healthz", "/readyz", "/docs/", "/docs/app.js", "/v1/openapi.json", "/v1/me"} {
		got, head := s.Admin.Call("GET", path, nil), s.Admin.Call("HEAD", path, nil)
		require.Equal(t, http.StatusOK, head.Status, path)
		require.Empty(t, head.Body, path)
		require.Equal(t, got.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
		require.Contains(t, strings.Split(s.Admin.Call("PUT", path, nil).Header.Get("Allow"), ", "), "HEAD", path)
	}
	require.Equal(t, http.StatusOK, apart.Admin.Call("HEAD", "/metrics", nil).Status)
	require.Equal(t, http.StatusNotFound, s.Admin.Call("HEAD", "/metrics", nil).Status)
	nobody := s.Client("", "").Call("HEAD", "/v1/me", nil)
	require.Equal(t, http.StatusUnauthorized, nobody.Status)
	require.Empty(t, nobody.Body)
}

// TestHeadRunsNoStatement checks that HEAD is refused where GET would run a statement.
func TestHeadRunsNoStatement(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	o := s.Admin.Await(s.Admin.Start("SELECT 1"))
	for _, path := range []string{s.TablePath("t") + "/rows", s.TablePath("t") + "/violations", "/v1/operations/" + o["id"].(string) +
		"/result"} {
		r := s.Admin.Call("HEAD", path, nil)
		require.Equal(t, http.StatusMethodNotAllowed, r.Status, path)
		require.NotContains(t, r.Header.Get("Allow"), "HEAD", path)
	}
}
