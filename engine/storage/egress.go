package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// Egress decides which network addresses a storage configuration may make this server connect to.
// Without it, the author of a configuration could reach the server's own network, or read its cloud
// identity from the metadata address. The zero value allows public addresses only.
type Egress struct {
	// AllowPrivate allows private addresses, and endpoints without TLS. Addresses that serve a
	// machine's own credentials remain refused: no store has them.
	AllowPrivate bool
	// Lookup resolves a host name; nil is the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Check checks an endpoint's URL when it is configured: ErrEndpointRefused, ErrEndpointUnknown.
// DialContext checks the addresses to which the name resolves later.
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

// DialContext connects to an address that it has checked. It resolves the name once, so that the
// name cannot resolve to a different address between the check and the connection. It can be used
// with net/http.
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

// resolve returns the addresses of a host. If one address is refused, the name is refused: a
// connection would use it sooner or later.
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

// special are ranges that net/netip treats as ordinary although they lead into this or another
// private network, or are reserved.
var special = func() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"168.63.129.16/32", // Azure's virtual machine host
		// IPv6 addresses that embed an IPv4 address, and documentation.
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "2001:db8::/32", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}()

// identityServices are the addresses outside of the link-local ranges at which clouds serve a machine's
// identity.
var identityServices = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
	netip.MustParsePrefix("fd00:ec2::/32"), // all services of AWS for an instance, and for a container
	netip.MustParsePrefix("fd20:ce::254/128"),
}

// metadata reports whether clouds serve a machine's identity at the address, or at the IPv4 address to
// which it leads.
func metadata(ip netip.Addr) bool {
	if ip.IsLinkLocalUnicast() {
		return true
	}
	for _, service := range identityServices {
		if service.Contains(ip) {
			return true
		}
	}
	inner, ok := embedded(ip)
	return ok && metadata(inner)
}

var (
	translated      = netip.MustParsePrefix("64:ff9b::/96")
	translatedHere  = netip.MustParsePrefix("64:ff9b:1::/48") // translated by this network
	sixToFour       = netip.MustParsePrefix("2002::/16")
	compatibleWith4 = netip.MustParsePrefix("::/96")
)

// embedded returns the IPv4 address to which an IPv6 address leads, if it leads to one.
func embedded(ip netip.Addr) (inner netip.Addr, ok bool) {
	bytes := ip.As16()
	switch {
	case ip.Is4():
		return inner, false
	case translated.Contains(ip), translatedHere.Contains(ip), compatibleWith4.Contains(ip):
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	}
	return inner, false
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
