package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// FuzzTarget signs the target that it is given: no spelling reveals an object or a name outside of
// the prefix, and none is an internal error.
func FuzzTarget(f *testing.F) {
	for _, target := range []string{"/cfg-0a1b/t/a.parquet", "/cfg-0a1b/t/../hidden", "/cfg-0a1b/t/%2e%2e/hidden?x-id=GetObject",
		"//cfg-0a1b//t//a",
		"/cfg-0a1b?list-type=2&prefix=t/&delimiter=/", "/cfg-0a1b/?list-type=2&prefix=t/&start-after=t/a&max-keys=1&encoding-type=url",
		"/cfg-0a1b/?list-type=2&prefix=t%2F&continuation-token=aGlkZGVu", "/cfg-other/hidden", "/cfg-0a1b/t%2fa.parquet",
		"/cfg-0a1b/t/_last_checkpoint"} {
		f.Add(target, "bytes=0-1")
		f.Add(target, "")
	}
	store, other := mem.New(), mem.New()
	mustPut(f, store, "t/a.parquet", []byte("visible"))
	mustPut(f, store, "t/b/c.txt", []byte("visible"))
	for _, name := range []string{"hidden", "t.hidden", "t2/hidden", "hidden.parquet"} {
		mustPut(f, store, name, []byte(hidden))
		mustPut(f, other, name, []byte(hidden))
	}
	g, err := gateway.New(gateway.Options{})
	require.NoError(f, err)
	f.Cleanup(func() { _ = g.Close() })
	foreign, err := g.Grant(gateway.Location{Bucket: "cfg-other", Identity: "two", Store: other, Prefixes: []string{""}})
	require.NoError(f, err)
	foreign.Begin(context.Background())
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: store, Prefixes: []string{"t"}})
	require.NoError(f, err)
	grant.Begin(context.Background())
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	key := aws.Credentials{AccessKeyID: grant.AccessKey, SecretAccessKey: grant.SecretKey}

	f.Fuzz(func(t *testing.T, target, byteRange string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || u.Opaque != "" {
			t.Skip("no server is given this")
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = u
		if byteRange != "" {
			r.Header.Set("Range", byteRange)
		}
		r.Header.Set("X-Amz-Content-Sha256", emptyDigest)
		sign := r.Clone(t.Context())
		sign.URL.RawPath = httpbinding.EscapePath(u.Path, false)
		require.NoError(t, signer.SignHTTP(t.Context(), key, sign, emptyDigest, "s3", grant.Region, time.Now()))
		r.Header = sign.Header
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		require.Less(t, w.Code, 500)
		if w.Code < 300 {
			require.Equal(t, strings.Count(w.Body.String(), "<Key>"), strings.Count(w.Body.String(), "<Key>t/"))
			require.NotEqual(t, hidden, w.Body.String())
			require.True(t, strings.Contains(w.Body.String(), "ListBucketResult") || strings.Contains("visible", w.Body.String()), w.Body.String())
		}
		require.NoError(t, grant.Cause())
	})
}
