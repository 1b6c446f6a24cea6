package identity_test

import (
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m, trustTestServers) }

// trustTestServers makes the process trust the certificate of the servers of httptest, which is the
// same for all of them.
func trustTestServers() (tearDown func(), err error) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	file, err := os.CreateTemp("", "certificate-*.pem")
	if err != nil {
		return nil, err
	}
	err = errors.Join(pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), file.Close(),
		os.Setenv("SSL_CERT_FILE", file.Name()))
	return func() { _ = os.Remove(file.Name()) }, err
}

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
