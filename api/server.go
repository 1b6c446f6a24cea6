package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server serves a handler and drains it on the way out.
type Server struct {
	Handler http.Handler
	Health  *Health
	Logger  *slog.Logger
	// Drain bounds the time that requests in flight get at the end.
	Drain time.Duration
}

// Serve answers on l until ctx ends, then tells readiness, waits for requests
// in flight, and cuts off those that are still there after Drain.
func (s Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // no operation takes a stream
		IdleTimeout:       2 * time.Minute,
		// Larger than what the middleware takes, which answers in its own way.
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Health.draining.Store(true)
	s.Logger.Info("draining", "timeout", s.Drain.String())
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	err := server.Shutdown(drain)
	if err != nil {
		_ = server.Close()
	}
	if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
		return serveErr
	}
	return err
}
