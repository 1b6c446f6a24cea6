package engines_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/engines"
)

func TestLoopbackIsExceptedFromProxies(t *testing.T) {
	for _, c := range []struct{ upper, lower, want string }{
		{"", "", "127.0.0.1"}, {"a.org", "", "a.org,127.0.0.1"}, {"", "b.org", "b.org,127.0.0.1"},
	} {
		t.Setenv("NO_PROXY", c.upper)
		t.Setenv("no_proxy", c.lower)
		require.NoError(t, engines.ExceptLoopback())
		require.Equal(t, c.want, os.Getenv("NO_PROXY"))
		require.Equal(t, c.want, os.Getenv("no_proxy"))
	}
}
