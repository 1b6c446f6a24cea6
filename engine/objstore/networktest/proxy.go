package networktest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Proxy forwards connections to a server, and can disturb them.
type Proxy struct {
	// Listen is its host and port.
	Listen string

	tb    testing.TB
	inner *toxiproxy.Proxy
}

// Start starts a proxy in front of the server at an address; it ends with the test.
func Start(tb testing.TB, address string) *Proxy {
	tb.Helper()
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics write to the global logger
	host := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	inner := toxiproxy.NewProxy(host, "store", "127.0.0.1:0", address)
	if err := inner.Start(); err != nil {
		tb.Fatalf("start a proxy: %v", err)
	}
	tb.Cleanup(inner.Stop)
	return &Proxy{Listen: inner.Listen, tb: tb, inner: inner}
}

// Disturb adds a toxic of toxiproxy, such as "latency", "timeout", "reset_peer", "slicer" or
// "limit_data". upstream is the direction to the server. Heal removes it.
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
