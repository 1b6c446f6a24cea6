package gcs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

type step = objstoretest.Step

// The replies of a scripted store, and the outcomes.
var lost, hang, raw = objstoretest.Lost, objstoretest.Hang, objstoretest.Raw

const written, exists, unknown, untouched = objstoretest.Written, objstoretest.Exists, objstoretest.Unknown, objstoretest.Untouched

// quick are limits with which a test does not wait.
var quick = gcs.Limits{Connect: time.Second, Idle: 300 * time.Millisecond, Backoff: time.Millisecond}

// steady are limits for a real store on a busy machine.
var steady = gcs.Limits{Connect: 2 * time.Second, Idle: 2 * time.Second, Backoff: time.Millisecond}

// answer is a reply with the error body of the JSON API.
func answer(status int, reason string) step { return refusal(status, reason, "secret of the store") }

func refusal(status int, reason, message string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, status, message, reason)
	}
}

// done is the reply to a write.
func done(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"name":"o","bucket":"bucket"}`)
}

// dialect is that of the JSON API.
var dialect = objstoretest.Dialect{
	Open:   func(t *testing.T, url string) objstore.Bucket { return quickBucket(t, url, 0) },
	Answer: answer, List: listing,
	Put: done, Delete: done, Exists: answer(412, "conditionNotMet"),
	Deferred: answer(429, "rateLimitExceeded"), DeferredRequests: 3, Throttled: answer(429, "rateLimitExceeded"),
	Failure: answer(500, "backendError"), Unavailable: answer(503, "backendError"),
	BadCredential: answer(401, "authError"), Denied: answer(403, "forbidden"),
	NoBucket: answer(404, "notFound"), NoObject: refusal(404, "notFound", "No such object: bucket/o"),
	Replaced: answer(412, "conditionNotMet"), NoRange: answer(416, "requestedRangeNotSatisfiable"),
	Resolution: time.Millisecond,
	Tag:        "X-Goog-Generation: 7",
	Conditional: func(t *testing.T, r *http.Request) {
		require.Equal(t, "0", r.URL.Query().Get("ifGenerationMatch"))
		require.Equal(t, "multipart", r.URL.Query().Get("uploadType"))
	},
	Resumed: func(t *testing.T, r *http.Request) { require.Equal(t, "7", r.URL.Query().Get("ifGenerationMatch")) },
}

// quickBucket returns a bucket in the store at url, with an authority of its own and limits that
// make no test wait. A partSize of 0 is the default.
func quickBucket(t *testing.T, url string, partSize int64) *gcs.Bucket {
	t.Helper()
	guard := gcstest.Server{Endpoint: url}.Guard(t)
	o := options(url, "bucket", guard.Key(t, "one"))
	o.Limits = quick
	o.Limits.PartSize = partSize
	return mustNew(t, o)
}

func TestPutIfAbsentOutcomes(t *testing.T) {
	dialect.RunPutIfAbsent(t, map[string]objstoretest.Refusal{
		"too many, as a refusal": {Reply: answer(403, "rateLimitExceeded"), Error: objstore.ErrUnavailable},
		"conflict":               {Reply: answer(409, "conflict"), Error: objstore.ErrUnavailable},
	}, map[string]objstoretest.WriteCase{
		"lost, body of reply lost": {Steps: []step{raw("HTTP/1.1 412 P\r\nContent-Length: 9\r\n\r\n{")},
			Outcome: exists, Error: objstore.ErrExists, Requests: 1},
		"no JSON": {Steps: []step{raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n<")},
			Outcome: unknown, Error: objstore.ErrUnknown, Requests: 1},
	})
}

func TestPlainWritesAreRepeated(t *testing.T) { dialect.RunPlainWrites(t) }

// TestParts: nothing is visible before the last part, and only the outcome of that request is in
// doubt. The parts go to the endpoint, whatever place the store names.
func TestParts(t *testing.T) {
	begin := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://169.254.169.254/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=x")
	}
	part := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Http-Status-Code-Override", "308")
	}
	for name, test := range map[string]struct {
		steps []step
		is    objstoretest.Outcome
		want  error
	}{
		"written":              {[]step{begin, part, part, done}, written, nil},
		"not begun":            {[]step{lost}, untouched, objstore.ErrUnavailable},
		"no bucket":            {[]step{answer(404, "notFound")}, untouched, objstore.ErrNoBucket},
		"part lost for ever":   {[]step{begin, part, lost}, untouched, objstore.ErrUnavailable},
		"part lost, then sent": {[]step{begin, lost, part, part, done}, written, nil},
		"part denied":          {[]step{begin, answer(403, "forbidden")}, untouched, objstore.ErrDenied},
		"end lost":             {[]step{begin, part, part, lost}, unknown, objstore.ErrUnknown},
		"end hangs":            {[]step{begin, part, part, hang}, unknown, objstore.ErrUnknown},
		"end refused":          {[]step{begin, part, part, answer(410, "gone")}, untouched, objstore.ErrUnavailable},
		"end lost, then done":  {[]step{begin, part, part, lost, done}, written, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := quickBucket(t, objstoretest.NewScript(t, test.steps...).URL, 256<<10)
			content := strings.Repeat("x", 2*256<<10+1)
			err := bucket.Put(t.Context(), "o", strings.NewReader(content), int64(len(content)))
			require.Equal(t, test.is, objstoretest.OutcomeOf(err), "%v", err)
			require.ErrorIs(t, err, test.want)
		})
	}
}

// TestPartsOfABadBody: an upload whose body is wrong is not finished.
func TestPartsOfABadBody(t *testing.T) {
	for _, size := range []int64{2*256<<10 + 2, 2 * 256 << 10, 256<<10 + 1} {
		store := objstoretest.NewScript(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=x")
			if r.Header.Get("Content-Range") != "" {
				w.Header().Set("X-Http-Status-Code-Override", "308")
			}
		})
		err := quickBucket(t, store.URL, 256<<10).Put(t.Context(), "o", strings.NewReader(strings.Repeat("x", 2*256<<10+1)), size)
		require.ErrorIs(t, err, objstore.ErrSize)
		for _, r := range store.Seen() {
			span := r.Header.Get("Content-Range")
			require.True(t, span == "" || strings.HasSuffix(span, "/*"), span)
		}
	}
}

func TestReadsOfABrokenStore(t *testing.T) {
	empty := listing("")
	dialect.RunBrokenReads(t, map[string]objstoretest.ReadCase{
		"missing, of few words": {Steps: []step{answer(404, "notFound"), empty}, Error: objstore.ErrNotFound},
		"missing, then broken":  {Steps: []step{answer(404, "notFound"), answer(403, "forbidden")}, Error: objstore.ErrDenied},
	})
}

func TestBodiesAreResumed(t *testing.T) { dialect.RunResumes(t) }

func TestRangesOfACarelessStore(t *testing.T) { dialect.RunRanges(t, nil) }

func listing(next string, names ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var items []map[string]string
		for _, name := range names {
			items = append(items, map[string]string{"name": name, "size": "1", "updated": "2026-01-01T00:00:00.123Z"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": items, "nextPageToken": next})
	}
}

func TestListings(t *testing.T) {
	dialect.RunListings(t, map[string]objstoretest.ListCase{
		"control character": {Steps: []step{listing("", "t/\x01", "t/a")}, Names: []string{"t/a"}},
	})
}

// TestNoAmbientCredentials: whatever the environment offers, requests carry the token of the key and
// go to the given place.
func TestNoAmbientCredentials(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a request to %s", r.URL)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer elsewhere.Close()
	host := strings.TrimPrefix(elsewhere.URL, "http://")
	for key, value := range map[string]string{
		"STORAGE_EMULATOR_HOST": host, "GCE_METADATA_HOST": host, "GOOGLE_APPLICATION_CREDENTIALS": "/dev/null",
		"GOOGLE_CLOUD_UNIVERSE_DOMAIN": "evil.example", "HTTP_PROXY": elsewhere.URL, "http_proxy": elsewhere.URL,
		"GOOGLE_API_USE_CLIENT_CERTIFICATE": "true", "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
	} {
		t.Setenv(key, value)
	}
	store := objstoretest.NewScript(t, done)
	bucket := quickBucket(t, store.URL, 0)
	require.NoError(t, bucket.PutIfAbsent(t.Context(), "o", nil))
	require.NoError(t, bucket.Delete(t.Context(), "o"))
	body, err := bucket.Get(t.Context(), "o")
	require.NoError(t, err)
	body.Close()
	require.Len(t, store.Seen(), 3)
	for _, r := range store.Seen() {
		require.Regexp(t, "^Bearer [0-9a-f-]{36}$", r.Header.Get("Authorization"))
	}
}

// TestDial: the caller decides which addresses are reached, that of the token URI included.
func TestDial(t *testing.T) {
	guard := gcstest.Server{Endpoint: "http://store.example"}.Guard(t)
	o := options("http://store.example", "bucket", guard.Key(t, "one"))
	o.Limits = quick
	var addresses []string
	o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		addresses = append(addresses, address)
		return nil, fmt.Errorf("secret address refused")
	}
	objstoretest.RequireUnsent(t, mustNew(t, o))
	require.Contains(t, guard.TokenURI, addresses[0])
}
