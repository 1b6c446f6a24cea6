package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server serves a handler, and drains it when it shuts down.
type Server struct {
	Handler http.Handler
	Health  *Health
	Logger  *slog.Logger
	// Notice is how long the server continues to serve after readiness fails, so that
	// load balancers stop sending requests first.
	Notice time.Duration
	// Drain is how long requests in flight may take after Notice.
	Drain time.Duration
	// Shutdown stops other work while requests in flight finish, within the same time. It
	// may be nil.
	Shutdown func(context.Context) error
}

// Serve serves requests on l until ctx ends. It then makes readiness fail, waits for
// requests in flight, and aborts those that still run after Drain.
func (s Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// Bodies and replies have no timeout here: see [middleware.Pace].
		// The limit of the request line and headers is much larger than the middleware's,
		// which sends the API's own error: net/http answers 431 in a form of its own.
		MaxHeaderBytes: 256 << 10,
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
	s.Logger.Info("draining", "notice", s.Notice.String(), "timeout", s.Drain.String())
	select {
	case err := <-failed:
		return err
	case <-time.After(s.Notice):
	}
	err := s.drain(context.WithoutCancel(ctx), server)
	if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
		return serveErr
	}
	return err
}

// drain shuts down the server, and the other work with it.
func (s Server) drain(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, s.Drain)
	defer cancel()
	stopped := make(chan error, 1)
	go func() {
		if s.Shutdown == nil {
			stopped <- nil
			return
		}
		stopped <- s.Shutdown(ctx)
	}()
	err := server.Shutdown(ctx)
	if err != nil {
		_ = server.Close()
	}
	return errors.Join(err, <-stopped)
}
