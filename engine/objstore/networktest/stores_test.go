package networktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The links of a proxy that cut a connection off wait for each other.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// root is an empty bucket at a server.
type root struct {
	// address is where requests with the credential are sent.
	address string
	// open opens the bucket through an address.
	open func(address string, limits remote.Limits) (bucket, error)
	// parts is the size of parts that the store accepts.
	parts int64
}

// bucket is a bucket that can be closed.
type bucket interface {
	objstore.Bucket
	Close() error
}

// roots make an empty bucket of every store over HTTP.
var roots = map[string]func(*testing.T) root{
	"s3": func(t *testing.T) root {
		server := s3test.Start(t)
		name := server.Bucket(t)
		return root{server.Address, func(address string, limits remote.Limits) (bucket, error) {
			return s3.New(s3.Options{
				Bucket: name, Region: s3test.Region, Endpoint: "http://" + address, PathStyle: true, Limits: limits,
				Credential: s3.Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
			})
		}, 5 << 20}
	},
	"azure": func(t *testing.T) root {
		server := azuretest.Start(t)
		name := server.Container(t)
		return root{server.Address, func(address string, limits remote.Limits) (bucket, error) {
			return azure.New(azure.Options{
				Account: azuretest.Account, Container: name, Endpoint: server.Through(address).Endpoint, Limits: limits,
				Credential: azure.Credential{AccountKey: azuretest.Key},
			})
		}, 256 << 10}
	},
	"gcs": func(t *testing.T) root {
		server := gcstest.Start(t)
		guard := server.Guard(t)
		name, key := server.Bucket(t), guard.Key(t, "one")
		return root{strings.TrimPrefix(guard.Endpoint, "http://"), func(address string, limits remote.Limits) (bucket, error) {
			return gcs.New(gcs.Options{
				Bucket: name, Endpoint: "http://" + address, Credential: gcs.Credential{ServiceAccountKey: key}, Limits: limits,
			})
		}, 256 << 10}
	},
}

// quick are limits with which a test does not wait.
var quick = remote.Limits{Connect: time.Second, Idle: 300 * time.Millisecond, Backoff: time.Millisecond}

// steady are limits that a real store on a busy machine keeps.
var steady = remote.Limits{Connect: time.Minute, Idle: time.Minute, Backoff: time.Millisecond}

// at opens the bucket through an address until the end of the test.
func (r root) at(t *testing.T, address string, limits remote.Limits) objstore.Bucket {
	t.Helper()
	b, err := r.open(address, limits)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// direct opens the bucket without a proxy.
func (r root) direct(t *testing.T) objstore.Bucket { return r.at(t, r.address, remote.Limits{}) }

// each runs a test for every store.
func each(t *testing.T, test func(*testing.T, func(*testing.T) root)) {
	for name, start := range roots {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}
