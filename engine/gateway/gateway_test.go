package gateway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bucketName = "cfg-0a1b"

// mustGateway serves until the test ends.
func mustGateway(tb testing.TB, opts gateway.Options) *gateway.Gateway {
	tb.Helper()
	g, err := gateway.New(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, g.Close()) })
	return g
}

// mustGrant opens the given folders of one store and begins a statement that
// lasts as long as the test.
func mustGrant(tb testing.TB, g *gateway.Gateway, store objstore.Bucket, prefixes ...string) *gateway.Grant {
	tb.Helper()
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: store, Prefixes: prefixes})
	require.NoError(tb, err)
	tb.Cleanup(grant.Begin(context.Background()))
	return grant
}

// client is Amazon's own, without repetitions.
func client(tb testing.TB, grant *gateway.Grant) *s3.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return s3.New(s3.Options{
		BaseEndpoint:     aws.String("http://" + grant.Endpoint),
		Region:           grant.Region,
		UsePathStyle:     true,
		Credentials:      credentials.NewStaticCredentialsProvider(grant.AccessKey, grant.SecretKey, ""),
		RetryMaxAttempts: 1,
		HTTPClient:       &http.Client{Transport: transport},
	})
}

func mustPut(tb testing.TB, store objstore.Bucket, name string, content []byte) {
	tb.Helper()
	require.NoError(tb, store.Put(context.Background(), name, bytes.NewReader(content), int64(len(content))))
}

// text returns n bytes, of which every eight contain their own position.
func text(n int) []byte {
	var out []byte
	for i := 0; len(out) < n; i += 8 {
		out = binary.BigEndian.AppendUint64(out, uint64(i)*0x9E3779B97F4A7C15)
	}
	return out[:n]
}

// get reads a range; an empty one is the whole object.
func get(ctx context.Context, c *s3.Client, name, byteRange string) ([]byte, error) {
	in := &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String(name)}
	if byteRange != "" {
		in.Range = aws.String(byteRange)
	}
	out, err := c.GetObject(ctx, in)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// within fails a test that waits too long instead of hanging it.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// counters are the values of one collector by the values of its labels.
func counters(tb testing.TB, registry prometheus.Gatherer, name string) map[string]float64 {
	tb.Helper()
	families, err := registry.Gather()
	require.NoError(tb, err)
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			if family.GetName() == name {
				out[strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return out
}

func nonzero(values map[string]float64) map[string]float64 {
	maps.DeleteFunc(values, func(_ string, v float64) bool { return v == 0 })
	return values
}
