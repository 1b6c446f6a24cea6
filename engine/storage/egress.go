package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// Egress decides which addresses of the network a storage configuration may
// lead this server to. Without it, whoever makes a configuration could talk to
// the server's own network, or read its cloud identity from the metadata
// address. The zero value allows public addresses only.
type Egress struct {
	// AllowPrivate lifts the rule, and allows endpoints without TLS. Addresses
	// that tell a machine its own credentials stay refused: no store is there.
	AllowPrivate bool
	// Lookup resolves a host name; nil is the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Check decides about an endpoint's URL at the moment it is configured:
// ErrEndpointRefused, ErrEndpointUnknown. What the name means later is decided
// by DialContext.
func (e Egress) Check(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%w: not a URL", ErrEndpointRefused)
	}
	if u.Scheme != "https" && !e.AllowPrivate {
		return fmt.Errorf("%w: not https", ErrEndpointRefused)
	}
	_, err = e.resolve(ctx, u.Hostname())
	return err
}

// DialContext connects to a host by the addresses that were judged: the name is
// resolved once, so that it cannot mean something else a moment later. It fits
// net/http.
func (e Egress) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := e.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, ip := range addresses {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// resolve returns the addresses of a host. One refused address refuses the
// name: it would be tried sooner or later.
func (e Egress) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	lookup := e.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addresses, err := lookup(ctx, host)
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, ctxErr
	}
	if err != nil || len(addresses) == 0 {
		return nil, ErrEndpointUnknown
	}
	for i, ip := range addresses {
		addresses[i] = ip.Unmap()
		if metadata(addresses[i]) || !e.AllowPrivate && !public(addresses[i]) {
			return nil, fmt.Errorf("%w: not a public address", ErrEndpointRefused)
		}
	}
	return addresses, nil
}

// special are ranges that net/netip takes for ordinary ones and that lead into
// this or another private network, or are set aside.
var special = func() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"168.63.129.16/32", // the host of a virtual machine in Azure
		// IPv6 that carries an IPv4 address inside, and documentation.
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "2001:db8::/32", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}()

// metadata reports addresses at which clouds serve a machine's identity: those
// of its own link, and the few that lie elsewhere.
func metadata(ip netip.Addr) bool {
	if ip.IsLinkLocalUnicast() {
		return true
	}
	switch ip.String() {
	case "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254":
		return true
	}
	return embedded(ip).IsLinkLocalUnicast()
}

// embedded is the IPv4 address that a translating IPv6 address leads to, or the
// zero address.
func embedded(ip netip.Addr) netip.Addr {
	if !netip.MustParsePrefix("64:ff9b::/96").Contains(ip) {
		return netip.Addr{}
	}
	bytes := ip.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Zone() != "" {
		return false
	}
	for _, prefix := range special {
		if prefix.Contains(ip) {
			return false
		}
	}
	return true
}
