package remote

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewTransport returns a transport that bounds the duration of every step of a request. A nil dial
// is the system's dialer. There is no proxy, and HTTP/2 is off, because one connection for all
// requests would share one deadline.
func NewTransport(dial Dial, l Limits) *http.Transport {
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

// NewClient returns a client over a transport. It does not follow redirects.
func NewClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
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
