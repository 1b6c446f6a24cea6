package middleware

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
)

// missingProxyRequests is after how many requests [MissingProxies] logs.
const missingProxyRequests = 20

// MissingProxies logs once that the setting of trusted proxies is probably missing: if many requests in
// a row come from one private address, and each names a client for which it was forwarded, although the
// address is not a trusted proxy. All clients then count as one, in rate limits and in the audit log.
func (t TrustedProxies) MissingProxies(log *slog.Logger) func(http.Handler) http.Handler {
	var mu sync.Mutex
	var last netip.Addr
	var count int
	note := func(peer netip.Addr) {
		mu.Lock()
		defer mu.Unlock()
		if peer != last {
			if count >= missingProxyRequests {
				return // logged
			}
			last, count = peer, 0
		}
		if count++; count == missingProxyRequests {
			log.Warn("requests are forwarded by a proxy that is not trusted, so all clients count as one: set LAKEWARDEN_TRUSTED_PROXIES",
				"address", peer.String())
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			forwarded := r.Header.Get(headerXForwardedFor) != "" || r.Header.Get(headerForwarded) != ""
			if peer, ok := parseHop(r.RemoteAddr); forwarded && ok && (peer.IsPrivate() || peer.IsLoopback()) && !t.trusts(peer) {
				note(peer)
			}
			next.ServeHTTP(w, r)
		})
	}
}
