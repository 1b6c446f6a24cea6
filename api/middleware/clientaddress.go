package middleware

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The headers in which a proxy names the client.
const (
	headerXForwardedFor = "X-Forwarded-For"
	headerForwarded     = "Forwarded"
)

// TrustedProxies holds the networks of proxies that may name the client whose requests
// they forward. The zero value trusts no proxy.
type TrustedProxies []netip.Prefix

type remoteKey struct{}

// Handler determines the client's address once, for the access log, the rate limits and
// the audit log. [Remote] returns it.
func (t TrustedProxies) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), remoteKey{}, t.client(r))))
	})
}

// Remote returns the address of the request's client, without a port.
func Remote(r *http.Request) string {
	if known, ok := r.Context().Value(remoteKey{}).(string); ok {
		return known
	}
	return TrustedProxies(nil).client(r)
}

// client returns the address of the nearest hop that is not a trusted proxy. Each hop
// appends to the headers, so they are read from the right, and only while the hop that
// wrote an entry is trusted. If the two headers name different clients, the client
// itself sent one of them, and both are ignored.
func (t TrustedProxies) client(r *http.Request) string {
	peer, ok := parseHop(r.RemoteAddr)
	if !ok {
		return r.RemoteAddr // not a network address: a test or a Unix socket
	}
	plain, standard := r.Header.Values(headerXForwardedFor), r.Header.Values(headerForwarded)
	a := t.walk(peer, plain, parseHop)
	b := t.walk(peer, standard, parseForwarded)
	switch {
	case len(plain) == 0:
		a = b
	case len(standard) > 0 && a != b:
		a = peer
	}
	return a.String()
}

// walk follows a header's entries from the right, from trusted hop to trusted
// hop, and returns the address where it ends.
func (t TrustedProxies) walk(hop netip.Addr, lines []string, parse func(string) (netip.Addr, bool)) netip.Addr {
	for _, line := range slices.Backward(lines) {
		for {
			if !t.trusts(hop) {
				return hop
			}
			i := strings.LastIndexByte(line, ',')
			next, ok := parse(strings.Trim(line[i+1:], " \t"))
			if !ok {
				return hop
			}
			hop = next
			if i < 0 {
				break
			}
			line = line[:i]
		}
	}
	return hop
}

func (t TrustedProxies) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(t, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseForwarded reads the node of one element of a Forwarded header (RFC 7239). Elements
// are split at every comma: addresses contain none, and a quotation mark that the client
// left open must not hide what a proxy appended.
func parseForwarded(element string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(element, ";") {
		name, node, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !strings.EqualFold(name, "for") {
			continue
		}
		if len(node) >= 2 && node[0] == '"' && node[len(node)-1] == '"' {
			node = node[1 : len(node)-1]
		}
		return parseHop(node)
	}
	return netip.Addr{}, false
}

// parseHop parses an address with or without a port. The result is unmapped and has no
// zone, so that equal addresses compare equal.
func parseHop(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	} else if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}
