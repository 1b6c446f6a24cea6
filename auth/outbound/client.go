package outbound

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The bounds of one request.
const (
	// RequestTime bounds a request with its reply.
	RequestTime = 10 * time.Second
	maxReply    = 1 << 20
)

// errTooLarge ends the reading of a reply.
var errTooLarge = errors.New("reply is larger than 1 MiB")

// Client returns a copy of base, or of a new client if base is nil, with the bounds of this
// package. A shorter timeout of base remains. Replies of more than 1 MiB end with an error
// and are never cut.
//
// Documents of the servers name the addresses of their endpoints, so a redirect has no
// legitimate use, and could lead to an address that was not checked.
func Client(base *http.Client) *http.Client {
	var own http.Client
	if base != nil {
		own = *base
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	if own.Timeout == 0 || own.Timeout > RequestTime {
		own.Timeout = RequestTime
	}
	transport := own.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	own.Transport = boundedReplies{transport}
	return &own
}

// boundedReplies ends replies after maxReply bytes with an error.
type boundedReplies struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b boundedReplies) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := b.base.RoundTrip(r)
	if err == nil {
		reply.Body = &boundedBody{ReadCloser: reply.Body, left: maxReply}
	}
	return reply, err
}

// boundedBody reads one byte more than is left, to tell the end of a reply from its cut.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
