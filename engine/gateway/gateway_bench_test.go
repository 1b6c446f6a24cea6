package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// BenchmarkWarmRange reads ranges that are in memory, or on disk only, over one
// connection.
func BenchmarkWarmRange(b *testing.B) {
	const size = 64 << 20
	inner := mem.New()
	mustPut(b, inner, "a.parquet", text(size))
	for _, tier := range []string{"memory", "disk"} {
		opts := gateway.Options{}
		if tier == "disk" {
			opts = gateway.Options{Dir: b.TempDir(), MemoryBytes: 4 << 20}
		}
		grant := mustGrant(b, mustGateway(b, opts), inner, "")
		for _, length := range []int{8 << 10, 1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%dKiB", tier, length>>10), func(b *testing.B) {
				transport := &http.Transport{ReadBufferSize: 256 << 10}
				defer transport.CloseIdleConnections()
				signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
				key := aws.Credentials{AccessKeyID: grant.AccessKey, SecretAccessKey: grant.SecretKey}
				buffer := make([]byte, 256<<10)
				read := func(start int) {
					req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+grant.Endpoint+"/"+bucketName+"/a.parquet", nil)
					require.NoError(b, err)
					req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", start, start+length-1))
					req.Header.Set("X-Amz-Content-Sha256", emptyDigest)
					require.NoError(b, signer.SignHTTP(req.Context(), key, req, emptyDigest, "s3", grant.Region, time.Now()))
					resp, err := transport.RoundTrip(req)
					require.NoError(b, err)
					require.Equal(b, http.StatusPartialContent, resp.StatusCode)
					n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buffer)
					require.NoError(b, err)
					require.EqualValues(b, length, n)
					require.NoError(b, resp.Body.Close())
				}
				for start := 0; start < size; start += length {
					read(start)
				}
				b.SetBytes(int64(length))
				b.ReportAllocs()
				start := 0
				for b.Loop() {
					read(start)
					start = (start + length) % size
				}
			})
		}
	}
}
