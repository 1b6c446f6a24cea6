package azure_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

type step = objstoretest.Step

// The replies of a scripted store, and the outcomes.
var lost, hang, raw = objstoretest.Lost, objstoretest.Hang, objstoretest.Raw

const written, exists, unknown, untouched = objstoretest.Written, objstoretest.Exists, objstoretest.Unknown, objstoretest.Untouched

// quick are limits with which a test does not wait.
var quick = azure.Limits{Connect: time.Second, Idle: 300 * time.Millisecond, Backoff: time.Millisecond}

// steady are limits for a real store on a busy machine.
var steady = azure.Limits{Connect: 2 * time.Second, Idle: 2 * time.Second, Backoff: time.Millisecond}

// answer is a reply with the error code and the error body of Azure.
func answer(status int, code string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		if code != "" {
			w.Header().Set("X-Ms-Error-Code", code)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>secret of the store</Message></Error>`, code)
	}
}

func created(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }

func accepted(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

// dialect is that of Azure.
var dialect = objstoretest.Dialect{
	Open:   func(t *testing.T, url string) objstore.Bucket { return quickBucket(t, url) },
	Answer: answer, List: listing,
	Put: created, Delete: accepted, Exists: answer(409, "BlobAlreadyExists"),
	Deferred: answer(429, ""), DeferredRequests: 3, Throttled: answer(429, ""),
	Failure: answer(500, "InternalError"), Unavailable: answer(503, "ServerBusy"),
	BadCredential: answer(403, "AuthenticationFailed"), Denied: answer(403, "AuthorizationFailure"),
	NoBucket: answer(404, "ContainerNotFound"), NoObject: answer(404, "BlobNotFound"),
	Replaced: answer(412, "ConditionNotMet"), NoRange: answer(416, "InvalidRange"),
	Resolution: time.Second,
	Tag:        `ETag: "one"`,
	Conditional: func(t *testing.T, r *http.Request) {
		require.Equal(t, "*", r.Header.Get("If-None-Match"))
		require.Equal(t, "BlockBlob", r.Header.Get("X-Ms-Blob-Type"))
		require.Empty(t, r.Header.Get("Expect"))
	},
	Resumed: func(t *testing.T, r *http.Request) { require.Equal(t, `"one"`, r.Header.Get("If-Match")) },
}

// quickBucket returns a bucket in the store at url, with limits that make no test wait.
func quickBucket(t *testing.T, url string) *azure.Bucket {
	t.Helper()
	o := options(url, "container")
	o.Limits = quick
	return mustNew(t, o)
}

func script(t *testing.T, steps ...step) (*azure.Bucket, *objstoretest.Script) {
	t.Helper()
	store := objstoretest.NewScript(t, steps...)
	return quickBucket(t, store.URL), store
}

func TestPutIfAbsentOutcomes(t *testing.T) {
	dialect.RunPutIfAbsent(t, map[string]objstoretest.Refusal{
		"permission":       {Reply: answer(403, "AuthorizationPermissionMismatch"), Error: objstore.ErrDenied},
		"unauthorised":     {Reply: answer(401, ""), Error: objstore.ErrCredential},
		"immutable":        {Reply: answer(409, "BlobImmutableDueToPolicy"), Error: objstore.ErrDenied},
		"another conflict": {Reply: answer(409, "PendingCopyOperation"), Error: objstore.ErrUnavailable},
		"container goes":   {Reply: answer(409, "ContainerBeingDeleted"), Error: objstore.ErrNoBucket},
	}, map[string]objstoretest.WriteCase{
		"lost, by the condition": {Steps: []step{answer(412, "ConditionNotMet")}, Outcome: exists, Error: objstore.ErrExists, Requests: 1},
	})
}

func TestPlainWritesAreRepeated(t *testing.T) { dialect.RunPlainWrites(t) }

// TestBlocks: nothing is visible before the list of blocks is committed, and only the outcome of
// that request is in doubt.
func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		want  error
		is    objstoretest.Outcome
	}{
		"written":               {[]step{created}, nil, written},
		"block lost for ever":   {[]step{created, lost}, objstore.ErrUnavailable, untouched},
		"block denied":          {[]step{created, answer(403, "AuthorizationFailure")}, objstore.ErrDenied, untouched},
		"list lost":             {[]step{created, created, created, lost}, objstore.ErrUnknown, unknown},
		"list hangs":            {[]step{created, created, created, hang}, objstore.ErrUnknown, unknown},
		"list refused":          {[]step{created, created, created, answer(400, "InvalidBlockList")}, objstore.ErrUnavailable, untouched},
		"block lost, then sent": {[]step{lost, created}, nil, written},
	} {
		t.Run(name, func(t *testing.T) {
			store := objstoretest.NewScript(t, test.steps...)
			o := options(store.URL, "container")
			o.Limits = quick
			o.Limits.PartSize = 4
			err := mustNew(t, o).Put(t.Context(), "o", strings.NewReader("0123456789"), 10)
			require.Equal(t, test.is, objstoretest.OutcomeOf(err), "%v", err)
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestReadsOfABrokenStore(t *testing.T) {
	dialect.RunBrokenReads(t, map[string]objstoretest.ReadCase{
		"archived": {Steps: []step{answer(409, "BlobArchived")}, Error: objstore.ErrUnavailable},
	})
}

func TestBodiesAreResumed(t *testing.T) { dialect.RunResumes(t) }

func TestRangesOfACarelessStore(t *testing.T) {
	const head = "HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\nContent-Range: "
	dialect.RunRanges(t, map[string]objstoretest.RangeCase{
		"beyond, as a range": {Reply: raw(head + "bytes 2-1/2\r\n\r\n")},
		"empty reply within": {Reply: raw(head + "bytes 2-1/9\r\n\r\n"), Refused: true},
	})
}

// TestReplacedWhileSized: a range that counts from the end is of one content.
func TestReplacedWhileSized(t *testing.T) {
	sized := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", "10")
	}
	replaced := answer(412, "ConditionNotMet")
	part := raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\nContent-Range: bytes 8-9/10\r\n\r\nxy")
	bucket, store := script(t, sized, replaced, sized, part)
	body, err := bucket.GetRange(t.Context(), "o", -2, -1)
	require.NoError(t, err)
	content, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, "xy", string(content))
	require.Len(t, store.Seen(), 4)
	require.Equal(t, `"one"`, store.Seen()[3].Header.Get("If-Match"))

	bucket, _ = script(t, sized, replaced, sized, replaced, sized, replaced)
	_, err = bucket.GetRange(t.Context(), "o", -2, -1)
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.NotErrorIs(t, err, objstore.ErrExists)
}

func listing(next string, names ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, `<?xml version="1.0"?><EnumerationResults><Blobs>`)
		for _, name := range names {
			kind := ""
			if strings.HasSuffix(name, "folder") {
				kind = "<ResourceType>directory</ResourceType>"
			}
			_, _ = fmt.Fprintf(w, `<Blob><Name>%s</Name><Properties><Last-Modified>Wed, 21 Oct 2026 07:28:00 GMT</Last-Modified>`+
				`<Content-Length>1</Content-Length>%s</Properties></Blob>`, name, kind)
		}
		_, _ = fmt.Fprintf(w, `</Blobs><NextMarker>%s</NextMarker></EnumerationResults>`, next)
	}
}

func TestListings(t *testing.T) {
	dialect.RunListings(t, map[string]objstoretest.ListCase{
		"folders as objects": {Steps: []step{listing("", "t/a", "t/folder", "t/folder/b")}, Names: []string{"t/a", "t/folder/b"}},
	})
}

// TestListingsStart: the service is asked to begin at a name that both its order and that of bytes
// put before all wanted names; one that ignores it costs requests only.
func TestListingsStart(t *testing.T) {
	for _, test := range []struct {
		after   string
		shallow bool
		start   string
		limit   string
	}{
		{"t/b", false, "t/b", ""},
		{"t/b/c", false, "t/b/c", ""},
		{"t/b/c", true, "t/b", ""},
		{"t/é\uFFFDx", false, "t/é", ""},
		{"t/\U0001F600", false, "", ""},
		{"s", false, "", ""},
		{"", false, "", ""},
		{"u", false, "", "1"},
	} {
		bucket, store := script(t, listing("", "t/a", "t/b"), listing("", "t/b"))
		var names []string
		for object, err := range bucket.List(t.Context(), "t/", objstore.ListOptions{StartAfter: test.after, Shallow: test.shallow}) {
			require.NoError(t, err)
			names = append(names, object.Name)
		}
		for _, name := range names {
			require.Greater(t, name, test.after)
		}
		query := store.Seen()[0].URL.Query()
		require.Equal(t, test.start, query.Get("startFrom"), test.after)
		require.Equal(t, test.limit, query.Get("maxresults"), test.after)
	}
}

// TestNoAmbientCredentials: whatever the environment offers, requests are signed with the given key,
// go to the given place, and are not logged.
func TestNoAmbientCredentials(t *testing.T) {
	for key, value := range map[string]string{
		"AZURE_STORAGE_ACCOUNT_KEY": "ambient",
		"AZURE_CLIENT_ID":           "ambient", "AZURE_TENANT_ID": "ambient", "AZURE_CLIENT_SECRET": "ambient",
		"AZURE_AUTHORITY_HOST": "http://127.0.0.1:1", "IDENTITY_ENDPOINT": "http://127.0.0.1:1", "IDENTITY_HEADER": "ambient",
		"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1", "AZURE_SDK_GO_LOGGING": "all",
	} {
		t.Setenv(key, value)
	}
	bucket, store := script(t, accepted)
	require.NoError(t, bucket.Delete(t.Context(), "o"))
	require.Contains(t, store.Seen()[0].Header.Get("Authorization"), "SharedKey "+azuretest.Account+":")
}

// TestDial: the caller decides which addresses are reached.
func TestDial(t *testing.T) {
	o := options("http://store.example", "bucket")
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("secret address refused")
	}
	o.Limits = quick
	objstoretest.RequireUnsent(t, mustNew(t, o))
}
