package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// newKeyring opens the key file, and follows its changes and the key service that
// encrypts it. A nil clock means time.Now.
func newKeyring(
	ctx, background context.Context, settings config.Settings, store *authz.Store, clock func() time.Time,
	log *slog.Logger, registerer prometheus.Registerer, s *Service,
) (*secret.Keyring, error) {
	file, err := command.KeyFile(ctx, settings)
	if err != nil {
		return nil, err
	}
	file.Now = clock
	keyring, err := file.LoadFor(authz.System(ctx, "key file"), store)
	if err != nil {
		return nil, fmt.Errorf("key_file: %w", err)
	}
	confirmations := newKeyMetrics(registerer, keyring)
	s.every(background, secret.ConfirmEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, secret.ConfirmEvery)
		defer cancel()
		err := keyring.Confirm(ctx)
		switch {
		case err == nil:
			confirmations.WithLabelValues("confirmed").Inc()
		case background.Err() == nil:
			confirmations.WithLabelValues("failed").Inc()
			log.Warn("keys not confirmed", "error", err, "usable", keyring.Check() == nil)
		}
	})
	return keyring, nil
}

// newKeyMetrics registers a gauge for the keys, and returns a counter of their
// confirmations by outcome.
func newKeyMetrics(registerer prometheus.Registerer, keyring *secret.Keyring) *prometheus.CounterVec {
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
	return confirmations
}
