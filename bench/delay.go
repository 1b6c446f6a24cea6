package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// delayProxy delays every request to an HTTP server by a fixed time, as a network
// does. It does not limit the throughput, and requests do not wait for each other.
type delayProxy struct {
	url       string
	server    *http.Server
	transport *http.Transport
	done      chan struct{}
}

// startDelay starts a proxy to target, the URL of a server.
func startDelay(ctx context.Context, target string, delay time.Duration) (*delayProxy, error) {
	upstream, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", target, err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &delayProxy{
		url: "http://" + listener.Addr().String(),
		// A signed request must not be changed, and a reader with many connections
		// gets as many.
		transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256},
		done:      make(chan struct{}),
	}
	// Requests that their reader cancelled are not logged.
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	forward := &httputil.ReverseProxy{
		Transport: p.transport,
		ErrorLog:  quiet,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Host = r.In.Host // part of the signed request
		},
	}
	p.server = &http.Server{Handler: held(forward, delay), ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(listener) // returns only after Close
	}()
	return p, nil
}

func held(next http.Handler, delay time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// Close ends the proxy and its connections.
func (p *delayProxy) Close() error {
	err := p.server.Close()
	<-p.done
	p.transport.CloseIdleConnections()
	return err
}
