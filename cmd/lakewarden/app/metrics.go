package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// operatorMetrics returns the registry of metrics whose values depend on the contents of tables:
// that of all metrics if they are served to operators only, and otherwise one that is not served.
// Everybody may read /metrics at the address of the API.
func operatorMetrics(address string, registry *prometheus.Registry) *prometheus.Registry {
	if address == "" {
		return prometheus.NewRegistry()
	}
	return registry
}

// serveMetrics serves /metrics on a separate address, if one is set. It ends with the
// service, after the drain, so that metrics show the drain.
func serveMetrics(ctx context.Context, address string, registry *prometheus.Registry, log *slog.Logger, parts *lifecycle.Group) error {
	if address == "" {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("metrics_addr: %w", err)
	}
	server := &http.Server{
		Handler: api.MetricsHandler(registry), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // always returns an error
	}()
	parts.OnClose(func(context.Context) error {
		err := server.Close()
		<-done
		return err
	})
	log.Info("serving metrics", "address", l.Addr().String())
	return nil
}
