package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricsHaveAnAddressOfTheirOwnOnRequest(t *testing.T) {
	require.Equal(t, 200, startServer(t, nil).admin.call("GET", "/metrics", nil).status)

	s := startServer(t, func(c *settings) { c.MetricsAddr = "127.0.0.1:0" })
	s.admin.call("GET", "/metrics", nil).problem(t, 404)
	address := ""
	for line := range strings.Lines(s.log.String()) {
		var entry struct{ Msg, Address string }
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == "serving metrics" {
			address = entry.Address
		}
	}
	there := &client{t: t, url: "http://" + address}
	r := there.call("GET", "/metrics", nil)
	require.Equal(t, 200, r.status)
	require.Contains(t, string(r.body), "lakewarden_http_request_seconds")
	for _, path := range []string{"/", "/healthz", "/v1/openapi.json", "/v1/me"} {
		require.Equal(t, 404, there.call("GET", path, nil).status, path)
	}
	require.Equal(t, 405, there.call("POST", "/metrics", nil).status)
	s.stop()
	_, err := net.Dial("tcp", address)
	require.Error(t, err, "it ends with the server")
	http.DefaultClient.CloseIdleConnections()

	c := testConfig(t)
	c.MetricsAddr = "9090"
	require.ErrorContains(t, c.Verify(), "metrics_addr: must be host:port")
}
