package s3

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// newTransport bounds the duration of every step of a request. There is no proxy, and HTTP/2 is
// off, because one connection for all requests would share one deadline.
func newTransport(dial func(context.Context, string, string) (net.Conn, error), l Limits) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, l.Connect)
			defer cancel()
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &idleConn{Conn: conn, idle: l.Idle}, nil
		},
		TLSHandshakeTimeout:   l.Connect,
		ResponseHeaderTimeout: l.Idle,
		// This is shorter than the deadline of idleConn, which must not end a connection that was
		// just taken from the pool.
		IdleConnTimeout:     l.Idle / 2,
		MaxIdleConnsPerHost: 64,
		MaxIdleConns:        64,
		DisableCompression:  true,
	}
}

// idleConn ends a connection without progress.
type idleConn struct {
	net.Conn
	idle time.Duration
}

// Read implements net.Conn.
func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn. It also extends the deadline of the reader that waits for the reply.
func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// fate records the outcomes of the attempts of one operation.
type fate struct {
	mu sync.Mutex
	// open reports that an attempt left this machine and was not refused. It may have taken effect,
	// whatever the reply to a later one was.
	open bool
	// status is that of the last reply, or 0 if the last attempt had none.
	status int
}

type fateKey struct{}

// withFate returns a context that records the fate of its requests.
func withFate(ctx context.Context) (context.Context, *fate) {
	f := &fate{}
	return context.WithValue(ctx, fateKey{}, f), f
}

func (f *fate) mayHaveLanded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *fate) lastStatus() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// watched is a transport that records the fate of requests.
type watched struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	f, ok := r.Context().Value(fateKey{}).(*fate)
	if !ok {
		return w.inner.RoundTrip(r)
	}
	var sent atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	}))
	resp, err := w.inner.RoundTrip(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = 0
	if err == nil {
		f.status = resp.StatusCode
	}
	if err == nil && !refused(resp.StatusCode) || err != nil && sent.Load() {
		f.open = true
	}
	return resp, err
}

// refused reports whether a status means that the request had no effect. A server error does not,
// nor does a timeout of a proxy.
func refused(status int) bool {
	switch status {
	case http.StatusRequestTimeout, 499:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return status >= 300 && status < 500
}
