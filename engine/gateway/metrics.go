package gateway

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the gateway's collectors. No label contains a name of a user, a configuration or an
// object.
type metrics struct {
	requests *prometheus.CounterVec
	grants   prometheus.Gauge
	blocks   *prometheus.CounterVec
	bytes    *prometheus.GaugeVec
	upstream prometheus.Counter
	sent     prometheus.Counter
	lost     *prometheus.CounterVec
}

// newMetrics panics if the collectors are registered already, which is a programming error.
func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	return &metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_gateway_requests_total",
			Help: "Requests of engine sessions by operation and outcome. Outcomes ok, missing and ended are expected; aborted broke off after its " +
				"first bytes.",
		}, []string{"op", "outcome"}),
		grants: auto.NewGauge(prometheus.GaugeOpts{
			Name: "lakewarden_gateway_grants",
			Help: "Keys of engine sessions that are valid now.",
		}),
		blocks: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_gateway_cache_blocks_total",
			Help: "Blocks by where they came from: memory and disk are hits, joined was being read already, store is a miss or read-ahead.",
		}, []string{"source"}),
		bytes: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lakewarden_gateway_cache_bytes",
			Help: "Bytes of cached blocks by tier.",
		}, []string{"tier"}),
		upstream: auto.NewCounter(prometheus.CounterOpts{
			Name: "lakewarden_gateway_upstream_bytes_total",
			Help: "Bytes of objects read from stores.",
		}),
		sent: auto.NewCounter(prometheus.CounterOpts{
			Name: "lakewarden_gateway_sent_bytes_total",
			Help: "Bytes of objects sent to engine sessions.",
		}),
		lost: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_gateway_cache_lost_total",
			Help: "Blocks that the disk tier could not keep or give back: busy (not written, the disk is slow), failed, damaged.",
		}, []string{"reason"}),
	}
}

// outcomeOf returns the label of a response.
func outcomeOf(refused *refusal) string {
	switch {
	case refused == nil:
		return "ok"
	case refused == refuseMissing:
		return "missing"
	case refused == refuseStore:
		return "failed"
	case refused == refuseEnded:
		return "ended"
	case refused.status == http.StatusForbidden, refused.status == http.StatusMethodNotAllowed:
		return "denied"
	}
	return "invalid"
}
