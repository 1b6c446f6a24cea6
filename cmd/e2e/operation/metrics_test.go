package operation_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMetricsCanHaveTheirOwnAddress(t *testing.T) {
	require.Equal(t, 200, harness.Start(t, nil).Admin.Call("GET", "/metrics", nil).Status)

	s := harness.Start(t, func(c *harness.Settings) { c.MetricsAddr = "127.0.0.1:0" })
	s.Admin.Call("GET", "/metrics", nil).Problem(t, 404)
	there := &harness.Client{T: t, URL: s.MetricsURL(t)}
	r := there.Call("GET", "/metrics", nil)
	require.Equal(t, 200, r.Status)
	require.Contains(t, string(r.Body), "lakewarden_http_request_seconds")
	for _, path := range []string{"/", "/healthz", "/v1/openapi.json", "/v1/me"} {
		require.Equal(t, 404, there.Call("GET", path, nil).Status, path)
	}
	require.Equal(t, 405, there.Call("POST", "/metrics", nil).Status)
	s.Stop()
	_, err := net.Dial("tcp", strings.TrimPrefix(there.URL, "http://"))
	require.Error(t, err, "it ends with the server")
	http.DefaultClient.CloseIdleConnections()

	c := harness.DefaultSettings(t)
	c.MetricsAddr = "9090"
	require.ErrorContains(t, c.Verify(), "metrics_addr: must be host:port")
}
