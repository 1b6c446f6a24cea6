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
