package stores

import (
	"net/http"
	"time"

	"github.com/lakewarden/lakewarden/engine/storage"
)

// EgressClient returns a client for addresses that users supply. It reaches those that egress
// allows, and uses no proxy, which would connect for it.
func EgressClient(egress storage.Egress) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: egress.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}
