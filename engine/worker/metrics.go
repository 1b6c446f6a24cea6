package worker

import "github.com/prometheus/client_golang/prometheus"

// reason is the reason why a process ended.
type reason string

// The reasons. The empty one is for a process that ended by itself.
const (
	reasonCrash        reason = "crash"
	reasonIdle         reason = "idle"
	reasonClosed       reason = "closed"
	reasonMemory       reason = "memory"
	reasonUnresponsive reason = "unresponsive"
	reasonProtocol     reason = "protocol"
	reasonStart        reason = "start"
)

type metrics struct {
	starts prometheus.Counter
	ends   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, e *Engine) *metrics {
	m := &metrics{
		starts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lakewarden_worker_starts_total", Help: "Worker processes started.",
		}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_worker_ends_total", Help: "Worker processes ended, by reason.",
		}, []string{"reason"}),
	}
	for _, r := range []reason{reasonCrash, reasonIdle, reasonClosed, reasonMemory, reasonUnresponsive, reasonProtocol, reasonStart} {
		m.ends.WithLabelValues(string(r))
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.starts, m.ends,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lakewarden_workers", Help: "Worker processes alive.",
		}, func() float64 { return float64(len(e.processes.all())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lakewarden_worker_resident_bytes", Help: "Memory of all worker processes without what they share.",
		}, func() float64 {
			var sum int64
			for _, p := range e.processes.all() {
				sum += p.resident()
			}
			return float64(sum)
		}))
	return m
}
