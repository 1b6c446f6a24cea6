package analysis

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/wording"
	"github.com/lakewarden/lakewarden/engine/llm"
)

// Metrics measures analyses and the models that word them.
type Metrics struct {
	seconds      *prometheus.HistogramVec
	modelSeconds *prometheus.HistogramVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	repairs      *prometheus.CounterVec
	references   *prometheus.CounterVec
}

// NewMetrics registers the metrics lakewarden_analysis_….
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.01, 3, 11)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lakewarden_analysis_seconds", Help: "Time of analyses.", Buckets: buckets,
		}, []string{"action", "engine", "outcome"}),
		modelSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lakewarden_analysis_model_seconds", Help: "Time that models took to word an answer.", Buckets: buckets,
		}, []string{"family", "outcome"}),
		tokens:     counter("lakewarden_analysis_model_tokens_total", "Tokens that models read (in) and wrote (out).", "family", "direction"),
		cost:       counter("lakewarden_analysis_model_cost_dollars_total", "Cost of models with a configured price.", "family"),
		repairs:    counter("lakewarden_analysis_model_repairs_total", "Replies of models that had to be asked for again.", "family"),
		references: counter("lakewarden_analysis_model_dropped_references_total", "References that models invented.", "family"),
	}
	registerer.MustRegister(m.seconds, m.modelSeconds, m.tokens, m.cost, m.repairs, m.references)
	return m
}

// The values of the label engine.
const (
	engineBuiltin = "builtin"
	engineModel   = "model"
)

func (m *Metrics) ran(action analysis.Action, model string, took time.Duration, err error) {
	outcome, engine := "ok", engineBuiltin
	if err != nil {
		outcome = "error"
	}
	if model != "" {
		engine = engineModel
	}
	m.seconds.WithLabelValues(string(action), engine, outcome).Observe(took.Seconds())
}

func (m *Metrics) worded(family string, took time.Duration, text wording.Text, cost int64, err error) {
	m.modelSeconds.WithLabelValues(family, outcomeOf(err)).Observe(took.Seconds())
	m.tokens.WithLabelValues(family, "in").Add(float64(text.InputTokens))
	m.tokens.WithLabelValues(family, "out").Add(float64(text.OutputTokens))
	m.cost.WithLabelValues(family).Add(float64(cost) / 1e6)
	m.repairs.WithLabelValues(family).Add(float64(text.Repairs))
	m.references.WithLabelValues(family).Add(float64(text.DroppedReferences))
}

// outcomeOf names the outcome of a model in metrics.
func outcomeOf(err error) string {
	for _, o := range []struct {
		err  error
		name string
	}{{llm.ErrRejected, "rejected"}, {llm.ErrLimited, "limited"}, {llm.ErrUnavailable, "unavailable"}, {llm.ErrMalformed, "malformed"}} {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	if err != nil {
		return "error"
	}
	return "ok"
}
