package s3

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestLargeObjectsAreCopiedInParts lowers the size from which the protocol needs parts.
func TestLargeObjectsAreCopiedInParts(t *testing.T) {
	server := s3test.Start(t)
	open := func() *Bucket {
		bucket, err := New(Options{
			Bucket: server.Bucket(t), Region: s3test.Region, Endpoint: server.Endpoint, PathStyle: true,
			Credential: Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bucket.Close()) })
		bucket.copyLimit = 5 << 20
		return bucket
	}
	from, to := open(), open()
	content := strings.Repeat("0123456789abcdef", 12<<16) + "end"
	objstoretest.MustPut(t, from, "a/large+ä", content)
	copied, err := objstore.Copy(t.Context(), to, "b/large", from, objstore.Object{Name: "a/large+ä", Size: int64(len(content))})
	require.NoError(t, err)
	require.True(t, copied)
	require.True(t, content == objstoretest.MustGet(t, to, "b/large"))
	_, err = objstore.Copy(t.Context(), to, "b/large", from, objstore.Object{Name: "a/large+ä", Size: int64(len(content))})
	require.ErrorIs(t, err, objstore.ErrExists)
	for upload, err := range to.Uploads(t.Context(), "") {
		t.Errorf("an upload is left: %s %v", upload.Name, err)
	}
}

// TestPartsAreOfOneVersionOfTheSource replaces the source of a copy before its second part.
func TestPartsAreOfOneVersionOfTheSource(t *testing.T) {
	server := s3test.Start(t)
	store, err := url.Parse(server.Endpoint)
	require.NoError(t, err)
	open := func(bucket, endpoint string) *Bucket {
		b, err := New(Options{
			Bucket: bucket, Region: s3test.Region, Endpoint: endpoint, PathStyle: true,
			Credential: Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		b.copyLimit = 5 << 20
		return b
	}
	origin := open(server.Bucket(t), server.Endpoint)
	size := int64(12 << 20)
	objstoretest.MustPut(t, origin, "o", strings.Repeat("a", int(size)))
	replace := sync.OnceFunc(func() {
		if err := origin.Put(t.Context(), "o", strings.NewReader(strings.Repeat("b", int(size))), size); err != nil {
			t.Error(err)
		}
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(store)
		r.Out.Host = r.In.Host // which is signed
		if r.In.URL.Query().Get("partNumber") == "2" {
			replace()
		}
	}})
	t.Cleanup(proxy.Close)
	from, to := open(origin.name, proxy.URL), open(server.Bucket(t), proxy.URL)

	_, err = objstore.Copy(t.Context(), to, "o", from, objstore.Object{Name: "o", Size: size})
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.Empty(t, objstoretest.MustList(t, to, ""))
	for upload, err := range to.Uploads(t.Context(), "") {
		t.Errorf("an upload is left: %s %v", upload.Name, err)
	}
	// Listed before it was replaced by one of another size.
	_, err = objstore.Copy(t.Context(), to, "o", from, objstore.Object{Name: "o", Size: size + 1})
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	_, err = objstore.Copy(t.Context(), to, "o", from, objstore.Object{Name: "o", Size: size})
	require.NoError(t, err)
	require.True(t, strings.Repeat("b", int(size)) == objstoretest.MustGet(t, to, "o"))
}

// TestCopiesNeedTheRightsOfTheSource copies with a key that may read everything, from a bucket that was
// opened with a key that may not.
func TestCopiesNeedTheRightsOfTheSource(t *testing.T) {
	server := s3test.Start(t)
	name, poor := server.Bucket(t), "poor"+rand.Text()[:8]
	open := func(bucket, key, secret string) *Bucket {
		b, err := New(Options{
			Bucket: bucket, Region: s3test.Region, Endpoint: server.Endpoint, PathStyle: true,
			Credential: Credential{AccessKeyID: key, SecretAccessKey: secret},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	rich := open(name, s3test.AccessKeyID, s3test.SecretAccessKey)
	objstoretest.MustPut(t, rich, "o", "content")
	from, to := open(name, poor, server.User(t, poor, s3test.RoleUser)), open(server.Bucket(t), s3test.AccessKeyID, s3test.SecretAccessKey)
	_, err := objstore.Copy(t.Context(), to, "o", from, objstore.Object{Name: "o", Size: 7})
	require.ErrorIs(t, err, objstore.ErrDenied)
	require.Empty(t, objstoretest.MustList(t, to, ""))
	copied, err := objstore.Copy(t.Context(), to, "o", rich, objstore.Object{Name: "o", Size: 7})
	require.NoError(t, err)
	require.True(t, copied)
}
