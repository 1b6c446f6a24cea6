package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and times requests.
type Metrics struct {
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics registers lakewarden_http_request_seconds{route,method,status} and
// lakewarden_http_requests_in_flight. Like prometheus, it panics if they are already
// registered.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lakewarden_http_request_seconds",
			Help:    "Time from a request's arrival to the end of its reply. Status 499 is a client that went away.",
			Buckets: []float64{.0001, .0002, .0003, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lakewarden_http_requests_in_flight",
			Help: "Requests that are being served.",
		}),
	}
	registerer.MustRegister(m.seconds, m.inFlight)
	return m
}

// Handler observes every request once, including one that panics.
func (m *Metrics) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := record(w, r)
		cut := true
		m.inFlight.Inc()
		defer func() {
			m.inFlight.Dec()
			m.seconds.WithLabelValues(routeOf(r), methodOf(r), strconv.Itoa(outcome(r, rec, cut))).
				Observe(time.Since(start).Seconds())
		}()
		next.ServeHTTP(rec, r)
		cut = false
	})
}
