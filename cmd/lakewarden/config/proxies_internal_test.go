package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
)

func TestTrustedProxiesAreAddressesAndNetworks(t *testing.T) {
	t.Setenv("LAKEWARDEN_TRUSTED_PROXIES", "10.0.0.0/8, 192.0.2.9,2001:db8::/32,::ffff:192.0.2.10")
	config := loaded(t)
	got, err := config.Proxies()
	require.NoError(t, err)
	require.Equal(t, middleware.TrustedProxies{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.9/32"), netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("192.0.2.10/32"),
	}, got)
	for _, bad := range []string{"all", "10.0.0.0/33", "proxy.example", "fe80::1%eth0", "::ffff:10.0.0.0/104", ""} {
		config.TrustedProxies = []string{"10.0.0.1", bad}
		require.ErrorContains(t, config.Verify(), "trusted_proxies[1]: must be an address or a network", bad)
	}
}
