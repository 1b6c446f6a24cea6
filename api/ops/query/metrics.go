package query

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics times the phases of statements.
type Metrics struct{ seconds *prometheus.HistogramVec }

// The phases of a statement.
const (
	phaseGuard   = "guard"   // parse and check
	phaseResolve = "resolve" // tables, logs, policies
	phasePlan    = "plan"    // rewrite and print
	phaseQueue   = "queue"   // wait for a session
	phaseStart   = "start"   // attach, filter, first rows
	phaseTotal   = "total"   // until the last row was read
)

// NewMetrics registers lakewarden_query_seconds{phase}.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "lakewarden_query_seconds", Help: "Time of statements by phase.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 3, 12),
	}, []string{"phase"})}
	registerer.MustRegister(m.seconds)
	return m
}

// lap times one phase after the other.
type lap struct {
	metrics *Metrics
	since   time.Time
}

func (m *Metrics) start() *lap { return &lap{metrics: m, since: time.Now()} }

// done ends a phase and begins the next.
func (l *lap) done(phase string) {
	now := time.Now()
	l.metrics.seconds.WithLabelValues(phase).Observe(now.Sub(l.since).Seconds())
	l.since = now
}
