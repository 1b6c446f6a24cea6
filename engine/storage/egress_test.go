package storage_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/storage"
)

// resolver answers each look-up with the next list, the last one forever.
func resolver(lists ...[]string) func(context.Context, string) ([]netip.Addr, error) {
	asked := 0
	return func(context.Context, string) ([]netip.Addr, error) {
		list := lists[min(asked, len(lists)-1)]
		asked++
		var out []netip.Addr
		for _, text := range list {
			out = append(out, netip.MustParseAddr(text))
		}
		return out, nil
	}
}

// identities are addresses that serve a machine its credentials: they are refused whatever the
// operator allows.
var identities = []string{
	"169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1",
	"168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
	"64:ff9b::a83f:8110", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "::a9fe:a9fe",
}

func TestEgressRefusesWhatIsNotPublic(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.170.2",
		"0.0.0.0", "0.1.2.3", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::7f00:1",
		"fe80::1", "fc00::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "64:ff9b::a83f:8110", "64:ff9b:1::a9fe:a9fe",
		"2002:a9fe:a9fe::1", "::a9fe:a9fe", "ff02::1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "fec0::1",
	} {
		for _, list := range [][]string{{address}, {"93.184.216.34", address}} {
			egress := storage.Egress{Lookup: resolver(list)}
			require.ErrorIs(t, egress.Check(t.Context(), "https://store.example"), storage.ErrEndpointRefused, "%v", list)
			_, err := egress.DialContext(t.Context(), "tcp", "store.example:443")
			require.ErrorIs(t, err, storage.ErrEndpointRefused, "%v", list)
			require.NotContains(t, err.Error(), address)
			open := storage.Egress{Lookup: resolver(list), AllowPrivate: true}
			if slices.Contains(identities, address) {
				require.ErrorIs(t, open.Check(t.Context(), "http://store.example"), storage.ErrEndpointRefused, "%v", list)
			} else {
				require.NoError(t, open.Check(t.Context(), "http://store.example"), "%v", list)
			}
		}
	}
	for _, address := range []string{"93.184.216.34", "52.219.0.1", "2606:2800:220:1::1", "::ffff:93.184.216.34", "172.32.0.1",
		"100.128.0.1"} {
		egress := storage.Egress{Lookup: resolver([]string{address})}
		require.NoError(t, egress.Check(t.Context(), "https://store.example:9000"), address)
		require.ErrorIs(t, egress.Check(t.Context(), "http://store.example"), storage.ErrEndpointRefused, "without TLS")
	}
}

// TestEgressWithTheSystemsResolver: the many ways to write an address.
func TestEgressWithTheSystemsResolver(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
		"[fe80::1%25lo]", "169.254.169.254"} {
		err := storage.Egress{}.Check(t.Context(), "https://"+host)
		require.True(t, errors.Is(err, storage.ErrEndpointRefused) || errors.Is(err, storage.ErrEndpointUnknown), "%s: %v", host, err)
	}
	for _, bad := range []string{"", "https://", "store.example", "://", "file:///etc/passwd", "https:///x"} {
		require.ErrorIs(t, storage.Egress{}.Check(t.Context(), bad), storage.ErrEndpointRefused, bad)
	}
}

// TestEgressPinsTheAddress: a name that resolves to another address for the connection than for the
// check is refused.
func TestEgressPinsTheAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)

	egress := storage.Egress{Lookup: resolver([]string{"93.184.216.34"}, []string{"127.0.0.1"})}
	require.NoError(t, egress.Check(t.Context(), "https://store.example:"+port))
	_, err = egress.DialContext(t.Context(), "tcp", "store.example:"+port)
	require.ErrorIs(t, err, storage.ErrEndpointRefused)

	open := storage.Egress{AllowPrivate: true, Lookup: resolver([]string{"::ffff:127.0.0.1"}, []string{"93.184.216.34"})}
	conn, err := open.DialContext(t.Context(), "tcp", "store.example:"+port)
	require.NoError(t, err, "the name is resolved once")
	require.NoError(t, conn.Close())

	none := storage.Egress{Lookup: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host: secret") }}
	err = none.Check(t.Context(), "https://store.example")
	require.ErrorIs(t, err, storage.ErrEndpointUnknown)
	require.NotContains(t, err.Error(), "secret")
}
