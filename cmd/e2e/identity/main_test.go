package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.TrustTestServers) }

// Short names of what JSON bodies consist of.
type (
	object = map[string]any
	list   = []any
)

// refused calls an operation and checks the status and the code of the refusal.
func refused(t *testing.T, c *harness.Client, status int, code, method, path string, body any) {
	t.Helper()
	got, _ := c.Call(method, path, body).Problem(t, status)
	require.Equal(t, code, got, "%s %s", method, path)
}
