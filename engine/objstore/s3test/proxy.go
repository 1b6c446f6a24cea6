package s3test

import (
	"testing"

	"github.com/lakewarden/lakewarden/engine/objstore/networktest"
)

// Proxy is the server at the address of a proxy that can disturb connections.
type Proxy struct {
	Server
	*networktest.Proxy
}

// Proxy starts a proxy in front of the server; it ends with the test.
func (s Server) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	proxy := networktest.Start(tb, s.Address)
	through := s
	through.Address, through.Endpoint = proxy.Listen, "http://"+proxy.Listen
	return &Proxy{Server: through, Proxy: proxy}
}
