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
	// Notice is how long the server goes on serving at the end while readiness
	// says no, so that a load balancer stops sending requests first.
	Notice time.Duration
	// Drain bounds the time that work in flight gets after that.
	Drain time.Duration
	// Beside ends other work while requests in flight are waited for, within the
	// same time. It can be nil.
	Beside func(context.Context) error
}

// Serve answers on l until ctx ends, then tells readiness, waits for requests
// in flight, and cuts off those that are still there after Drain.
func (s Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// Bodies and replies have no timeout here: see [middleware.Pace].
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

// drain ends the server and what goes on beside it.
func (s Server) drain(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, s.Drain)
	defer cancel()
	beside := make(chan error, 1)
	go func() {
		if s.Beside == nil {
			beside <- nil
			return
		}
		beside <- s.Beside(ctx)
	}()
	err := server.Shutdown(ctx)
	if err != nil {
		_ = server.Close()
	}
	return errors.Join(err, <-beside)
}
