package sessions

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	wait      prometheus.Histogram
	slowEnded prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, p *Pool) *metrics {
	m := &metrics{wait: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "lakewarden_session_queue_seconds", Help: "Time a statement waited for its turn.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	}), slowEnded: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lakewarden_slow_statements_ended_total", Help: "Statements with slow clients that ended because others waited for their turns.",
	})}
	if reg == nil {
		return m
	}
	gauge := func(name, help string, labels prometheus.Labels, f func(Stats) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name, Help: help, ConstLabels: labels,
		}, func() float64 { return f(p.Stats()) }))
	}
	const name, help = "lakewarden_sessions", "Engine sessions by state."
	gauge(name, help, prometheus.Labels{"state": "running"}, func(s Stats) float64 { return float64(s.Running) })
	gauge(name, help, prometheus.Labels{"state": "queued"}, func(s Stats) float64 { return float64(s.Queued) })
	gauge(name, help, prometheus.Labels{"state": "idle"}, func(s Stats) float64 { return float64(s.Idle) })
	gauge("lakewarden_engine_memory_bytes", "Memory leased to running statements.", nil,
		func(s Stats) float64 { return float64(s.HeldBytes) })
	reg.MustRegister(m.wait, m.slowEnded)
	return m
}

func (m *metrics) queued(d time.Duration) { m.wait.Observe(d.Seconds()) }
