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
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// newKeyring opens the key file, and follows its changes and the key service that
// encrypts it. A nil clock means time.Now.
func newKeyring(
	ctx, background context.Context, settings config.Settings, store *authz.Store, clock func() time.Time,
	log *slog.Logger, registerer prometheus.Registerer, parts *lifecycle.Group,
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
	metrics := secret.NewMetrics(registerer, keyring)
	parts.Every(background, secret.ConfirmEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, secret.ConfirmEvery)
		defer cancel()
		err := keyring.Confirm(ctx)
		if err != nil && background.Err() != nil {
			return
		}
		if err != nil {
			log.Warn("keys not confirmed", "error", err, "usable", keyring.Check() == nil)
		}
		metrics.Confirmed(err)
	})
	return keyring, nil
}
