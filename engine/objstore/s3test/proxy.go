package s3test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Proxy forwards connections between a client and the server, and can disturb them.
type Proxy struct {
	Server
	tb    testing.TB
	inner *toxiproxy.Proxy
}

// Proxy starts a proxy in front of the server; it ends with the test.
func (s Server) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	host := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	inner := toxiproxy.NewProxy(host, "s3", "127.0.0.1:0", s.Address)
	if err := inner.Start(); err != nil {
		tb.Fatalf("start a proxy: %v", err)
	}
	tb.Cleanup(inner.Stop)
	through := s
	through.Address, through.Endpoint = inner.Listen, "http://"+inner.Listen
	return &Proxy{Server: through, tb: tb, inner: inner}
}

// Disturb adds a toxic of toxiproxy, such as "latency", "timeout",
// "reset_peer", "slicer" or "limit_data". upstream is the direction to the
// server. Heal removes it.
func (p *Proxy) Disturb(kind string, upstream bool, attributes map[string]any) {
	p.tb.Helper()
	stream := "downstream"
	if upstream {
		stream = "upstream"
	}
	body, err := json.Marshal(map[string]any{"name": kind, "type": kind, "stream": stream, "toxicity": 1, "attributes": attributes})
	if err == nil {
		_, err = p.inner.Toxics.AddToxicJson(strings.NewReader(string(body)))
	}
	if err != nil {
		p.tb.Fatalf("disturb with %s: %v", kind, err)
	}
}

// Heal removes all disturbances.
func (p *Proxy) Heal() { p.inner.Toxics.ResetToxics(context.Background()) }
