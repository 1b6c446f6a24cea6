package storage_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestNoConfigurationExistsBeforeItsStoreAccepts checks, while a store is tested, that the catalog has
// no configuration for it: a server that is killed then leaves none that was never tested.
func TestNoConfigurationExistsBeforeItsStoreAccepts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.AllowPrivateEndpoints = true })
	count := func() int { return len(s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)) }
	before := count()
	require.Positive(t, before)
	var tested, untested atomic.Int64
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tested.Add(1)
		untested.Add(int64(count() - before))
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(store.Close)
	code, _ := s.Admin.Call("POST", harness.ConfigsPath, object{
		"configName": "untested", "kind": "s3", "bucket": "bucket", "region": s3test.Region, "endpoint": store.URL,
		"accessKeyId": "key", "secretAccessKey": "secret",
	}).Problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "credential_rejected", code)
	require.Positive(t, tested.Load())
	require.Zero(t, untested.Load())
	require.Equal(t, before, count())
}
