package write

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// Metrics counts the outcomes of writes as their callers learn them. Reading metrics needs no
// credential, so no metric depends on hidden rows otherwise. The number of files that a check
// of keys reads does, so it is not a metric.
type Metrics struct {
	commits *prometheus.CounterVec
	denials *prometheus.CounterVec
}

// NewMetrics registers lakewarden_delta_commits_total{op,outcome} and
// lakewarden_policy_denials_total{path}.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_delta_commits_total", Help: "Writes of rows by what they came to.",
		}, []string{"op", "outcome"}),
		denials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_policy_denials_total", Help: "Writes that the caller's row filter refused.",
		}, []string{"path"}),
	}
	registerer.MustRegister(m.commits, m.denials)
	return m
}

// ended counts a write. Rows that the caller may not write are no failure of the server.
func (m *Metrics) ended(op string, err error) {
	var rows *dml.RowsError
	outcome := "failed"
	switch {
	case err == nil:
		outcome = "committed"
	case errors.Is(err, delta.ErrCommitUnknown):
		outcome = "unknown"
	case errors.Is(err, delta.ErrConflict):
		outcome = "conflict"
	case errors.Is(err, dml.ErrHiddenMatch), errors.As(err, &rows):
		outcome = "refused"
	}
	m.commits.WithLabelValues(op, outcome).Inc()
	if errors.Is(err, dml.ErrHiddenMatch) || rows != nil && rows.Kind == dml.BrokenFilter {
		m.denials.WithLabelValues(op).Inc()
	}
}
