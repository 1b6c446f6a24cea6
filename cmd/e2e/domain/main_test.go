package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Short names of what JSON bodies and tables consist of.
type (
	object = map[string]any
	list   = []any
	column = harness.Column
)

// everywhere runs a test on the shared server, and on a server with its catalog in Postgres
// and its tables in S3.
func everywhere(t *testing.T, test func(t *testing.T, s *harness.Server)) {
	t.Parallel()
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		test(t, harness.Shared(t))
	})
	t.Run("postgres and s3", func(t *testing.T) {
		t.Parallel()
		test(t, harness.Start(t, func(c *harness.Settings) { c.Catalog, c.Store = "postgres", "s3" }))
	})
}

// refused makes a request that must fail with a status and a code.
func refused(t testing.TB, c *harness.Client, status int, code, method, path string, body any) []string {
	t.Helper()
	r := c.Call(method, path, body)
	got, fields := r.Problem(t, status)
	require.Equal(t, code, got, "%s", r.Body)
	return fields
}

// ids returns the ids of allowed values by their texts.
func ids(values any) map[string]string {
	out := map[string]string{}
	for _, v := range values.(list) {
		out[v.(object)["value"].(string)] = v.(object)["id"].(string)
	}
	return out
}

// texts returns the texts of allowed values.
func texts(values any) []string {
	out := []string{}
	for _, v := range values.(list) {
		out = append(out, v.(object)["value"].(string))
	}
	return out
}
