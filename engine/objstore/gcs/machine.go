package gcs

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Machine tells where this machine gets the tokens of its own identity, be it that of an instance or
// of a workload. The platform on which the server runs sets it.
type Machine struct {
	// Metadata is the host, and optionally the port, of the metadata server; empty is its link-local
	// address.
	Metadata string
	// Dial opens the connections to Metadata; nil is the system's dialer.
	Dial remote.Dial
}

// tokens returns the tokens of the machine.
func (m Machine) tokens(limits Limits) *remote.Tokens {
	transport := remote.NewTransport(m.Dial, limits)
	client := remote.NewClient(transport)
	return remote.NewTokens(func(ctx context.Context) (remote.Token, error) {
		defer transport.CloseIdleConnections()
		return remote.Exchange(ctx, client, limits, m.request)
	})
}

// request is that of the metadata server.
func (m Machine) request(ctx context.Context) (*http.Request, error) {
	address := url.URL{
		Scheme: "http", Host: cmp.Or(m.Metadata, "169.254.169.254"), Path: "/computeMetadata/v1/instance/service-accounts/default/token",
		RawQuery: url.Values{"scopes": {scope}}.Encode(),
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Metadata-Flavor", "Google")
	return r, nil
}
