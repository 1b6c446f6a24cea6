package secret

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts the confirmations of a keyring. It is safe for concurrent use.
type Metrics struct{ confirmations *prometheus.CounterVec }

// NewMetrics registers a gauge for the keys of a keyring, and the counter.
func NewMetrics(registerer prometheus.Registerer, keyring *Keyring) Metrics {
	confirmations := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lakewarden_keys_confirmations_total",
		Help: "Attempts to read the key file again, and to let the key service open it.",
	}, []string{"outcome"})
	for _, outcome := range []string{"confirmed", "failed"} {
		confirmations.WithLabelValues(outcome)
	}
	usable := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lakewarden_keys_usable",
		Help: "1 while stored secrets can be opened, and 0 once the key service has not confirmed their keys for too long.",
	}, func() float64 {
		if keyring.Check() != nil {
			return 0
		}
		return 1
	})
	registerer.MustRegister(confirmations, usable)
	return Metrics{confirmations}
}

// Confirmed counts a call of [Keyring.Confirm] by its error.
func (m Metrics) Confirmed(err error) {
	outcome := "confirmed"
	if err != nil {
		outcome = "failed"
	}
	m.confirmations.WithLabelValues(outcome).Inc()
}
