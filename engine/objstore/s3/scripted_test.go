package s3_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
)

// step is one reply of a scripted store.
type step func(w http.ResponseWriter, r *http.Request)

// answer is a reply with the error body of S3.
func answer(status int, code string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if code != "" {
			_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>secret of the store</Message></Error>`, code)
		}
	}
}

func done(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("ETag", `"e"`)
	w.WriteHeader(http.StatusOK)
}

// lost takes the request and breaks the connection off.
func lost(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// hang receives the request and does not reply until the client has disconnected.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// raw sends bytes and closes the connection.
func raw(text string) step {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, text)
			conn.Close()
		}
	}
}

// scripted is a store that gives the steps in turn, the last one forever.
type scripted struct {
	mu    sync.Mutex
	steps []step
	seen  []*http.Request
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	next := s.steps[min(len(s.seen), len(s.steps)-1)]
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	next(w, r)
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// quick are limits with which a test does not wait.
var quick = s3.Limits{Connect: time.Second, Idle: 300 * time.Millisecond, Backoff: time.Millisecond}

func script(t *testing.T, steps ...step) (*s3.Bucket, *scripted) {
	t.Helper()
	store := &scripted{steps: steps}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	o := options(server.URL, "bucket")
	o.Limits = quick
	return mustNew(t, o), store
}

// outcomes are the distinct outcomes of a write for its caller.
const (
	written   = "written"
	exists    = "exists"
	unknown   = "unknown"
	untouched = "nothing was written"
)

func outcomeOf(err error) string {
	switch is := func(target error) bool { return strings.Contains(fmt.Sprint(err), target.Error()) }; {
	case err == nil:
		return written
	case is(objstore.ErrUnknown):
		return unknown
	case is(objstore.ErrExists):
		return exists
	}
	return untouched
}

// TestPutIfAbsentOutcomes: a definite answer is given only when the store gave
// one to this very request, and nothing is sent again behind the caller's back.
func TestPutIfAbsentOutcomes(t *testing.T) {
	conflict := answer(409, "ConditionalRequestConflict")
	for name, test := range map[string]struct {
		steps    []step
		want     string
		family   error
		requests int
	}{
		"created":                   {[]step{done}, written, nil, 1},
		"lost":                      {[]step{answer(412, "PreconditionFailed")}, exists, objstore.ErrExists, 1},
		"lost, body of reply lost":  {[]step{answer(412, "")}, exists, objstore.ErrExists, 1},
		"conflict, then created":    {[]step{conflict, conflict, done}, written, nil, 3},
		"conflict, then lost":       {[]step{conflict, answer(412, "PreconditionFailed")}, exists, objstore.ErrExists, 2},
		"conflict, then reply lost": {[]step{conflict, lost, answer(412, "PreconditionFailed")}, unknown, objstore.ErrUnknown, 2},
		"storm of conflicts":        {[]step{conflict}, untouched, objstore.ErrUnavailable, 8},
		"reply lost after success, a retry would say 412": {[]step{lost, answer(412, "PreconditionFailed")}, unknown, objstore.ErrUnknown, 1},
		"no reply":                 {[]step{hang}, unknown, objstore.ErrUnknown, 1},
		"500":                      {[]step{answer(500, "InternalError"), done}, unknown, objstore.ErrUnknown, 1},
		"503":                      {[]step{answer(503, "ServiceUnavailable"), done}, unknown, objstore.ErrUnknown, 1},
		"slow down":                {[]step{answer(503, "SlowDown"), done}, unknown, objstore.ErrUnknown, 1},
		"a proxy lost patience":    {[]step{answer(504, "")}, unknown, objstore.ErrUnknown, 1},
		"another proxy":            {[]step{answer(408, "")}, unknown, objstore.ErrUnknown, 1},
		"half a reply":             {[]step{raw("HTTP/1.1 200 O")}, unknown, objstore.ErrUnknown, 1},
		"no HTTP at all":           {[]step{raw("220 mail.example ready\r\n")}, unknown, objstore.ErrUnknown, 1},
		"denied":                   {[]step{answer(403, "AccessDenied")}, untouched, objstore.ErrDenied, 1},
		"credential":               {[]step{answer(403, "InvalidAccessKeyId")}, untouched, objstore.ErrCredential, 1},
		"expired":                  {[]step{answer(400, "ExpiredToken")}, untouched, objstore.ErrCredential, 1},
		"no bucket":                {[]step{answer(404, "NoSuchBucket")}, untouched, objstore.ErrUnavailable, 1},
		"another region":           {[]step{answer(301, "PermanentRedirect")}, untouched, objstore.ErrUnavailable, 1},
		"the condition is unknown": {[]step{answer(501, "NotImplemented")}, untouched, objstore.ErrUnavailable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, store := script(t, test.steps...)
			err := bucket.PutIfAbsent(t.Context(), "t/_delta_log/0.json", []byte("commit"))
			require.Equal(t, test.want, outcomeOf(err), "%v", err)
			require.Equal(t, test.requests, store.count())
			if test.family != nil {
				require.ErrorIs(t, err, test.family)
				require.NotContains(t, err.Error(), "secret of the store")
				require.NotContains(t, err.Error(), "127.0.0.1")
			}
			if test.want == unknown {
				require.NotErrorIs(t, err, objstore.ErrUnavailable, "which promises that nothing was written")
			}
			for _, r := range store.seen {
				require.Equal(t, "*", r.Header.Get("If-None-Match"))
			}
		})
	}
}

// TestPlainWritesAreRepeated: a put of the same content and a delete may be sent
// twice, yet an attempt that may have landed stays unknown.
func TestPlainWritesAreRepeated(t *testing.T) {
	ctx := context.Background()
	put := func(b *s3.Bucket) error { return b.Put(ctx, "o", strings.NewReader("x"), 1) }
	remove := func(b *s3.Bucket) error { return b.Delete(ctx, "o") }
	for name, test := range map[string]struct {
		steps    []step
		want     string
		requests int
	}{
		"503, then done":         {[]step{answer(503, "SlowDown"), done}, written, 2},
		"reply lost, then done":  {[]step{lost, done}, written, 2},
		"503 forever":            {[]step{answer(503, "SlowDown")}, unknown, 3},
		"500, then denied":       {[]step{answer(500, ""), answer(403, "AccessDenied")}, unknown, 2},
		"a hang is not repeated": {[]step{hang}, unknown, 1},
		"denied":                 {[]step{answer(403, "AccessDenied")}, untouched, 1},
	} {
		for kind, do := range map[string]func(*s3.Bucket) error{"put": put, "delete": remove} {
			t.Run(name+" "+kind, func(t *testing.T) {
				bucket, store := script(t, test.steps...)
				err := do(bucket)
				require.Equal(t, test.want, outcomeOf(err), "%v", err)
				require.Equal(t, test.requests, store.count())
			})
		}
	}
}

// TestReadsOfABrokenStore: a reply that is cut, wrong or late is an error, never
// a shorter object or an empty bucket.
func TestReadsOfABrokenStore(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
	for name, test := range map[string]struct {
		steps []step
		want  error
	}{
		"short body":            {[]step{raw(head + "Content-Length: 100\r\n\r\nonly this")}, objstore.ErrUnavailable},
		"short chunks":          {[]step{raw(head + "Transfer-Encoding: chunked\r\n\r\n5\r\nonly \r\n")}, objstore.ErrUnavailable},
		"body that stops":       {[]step{stalls}, objstore.ErrUnavailable},
		"503 forever":           {[]step{answer(503, "SlowDown")}, objstore.ErrUnavailable},
		"no reply":              {[]step{hang}, objstore.ErrUnavailable},
		"missing object":        {[]step{answer(404, "NoSuchKey")}, objstore.ErrNotFound},
		"missing bucket":        {[]step{answer(404, "NoSuchBucket")}, objstore.ErrUnavailable},
		"signature":             {[]step{answer(403, "SignatureDoesNotMatch")}, objstore.ErrCredential},
		"code of many words":    {[]step{answer(418, "secret key 1234")}, objstore.ErrUnavailable},
		"redirect":              {[]step{redirect}, objstore.ErrUnavailable},
		"503, then it is there": {[]step{answer(503, ""), raw(head + "Content-Length: 1\r\n\r\nx")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, _ := script(t, test.steps...)
			body, err := bucket.Get(t.Context(), "o")
			if err == nil {
				_, err = io.ReadAll(body)
				body.Close()
			}
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, test.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// TestBodiesAreResumed: a connection that is lost in the middle costs a request,
// not the read; yet never are two contents joined.
func TestBodiesAreResumed(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 10\r\n\r\n"
	rest := func(span, content string) step {
		return raw(fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Length: %d\r\nContent-Range: bytes %s/10\r\n\r\n%s",
			len(content), span, content))
	}
	for name, test := range map[string]struct {
		steps []step
		want  string
		again int
	}{
		"once":         {[]step{raw(head + "0123"), rest("4-9", "456789")}, "0123456789", 1},
		"at the start": {[]step{raw(head), rest("0-9", "0123456789")}, "0123456789", 1},
		"twice": {[]step{raw(head + "0123"), raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 6\r\nContent-Range: bytes " +
			"4-9/10\r\n\r\n45"), rest("6-9", "6789")}, "0123456789", 2},
		"not for ever": {[]step{raw(head + "0"), raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 9\r\nContent-Range: bytes " +
			"1-9/10\r\n\r\n")}, "", 2},
		"another content":  {[]step{raw(head + "0123"), answer(412, "PreconditionFailed")}, "", 1},
		"another range":    {[]step{raw(head + "0123"), rest("3-9", "3456789")}, "", 1},
		"the whole again":  {[]step{raw(head + "0123"), raw(head + "0123456789")}, "", 1},
		"gone":             {[]step{raw(head + "0123"), answer(404, "NoSuchKey")}, "", 1},
		"no tag to ask by": {[]step{raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123")}, "", 0},
		"silence":          {[]step{stalls}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, store := script(t, test.steps...)
			body, err := bucket.Get(t.Context(), "o")
			require.NoError(t, err)
			content, err := io.ReadAll(body)
			body.Close()
			if test.want == "" {
				require.ErrorIs(t, err, objstore.ErrUnavailable)
			} else {
				require.NoError(t, err)
				require.Equal(t, test.want, string(content))
			}
			require.Equal(t, test.again, store.count()-1)
			for _, r := range store.seen[1:] {
				require.Equal(t, `"one"`, r.Header.Get("If-Match"))
			}
		})
	}
}

// stalls sends half of a body and waits.
func stalls(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "10")
	w.Header().Set("ETag", `"one"`)
	_, _ = io.WriteString(w, "half ")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://"+r.Host+"/elsewhere", http.StatusTemporaryRedirect)
}

// TestRangesOfACarelessStore: another range than the one asked for is refused.
func TestRangesOfACarelessStore(t *testing.T) {
	part := func(span string) step {
		return raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\nContent-Range: " + span + "\r\n\r\nabcd")
	}
	for name, test := range map[string]struct {
		reply step
		want  string
	}{
		"as asked":       {part("bytes 2-5/10"), "abcd"},
		"to the end":     {part("bytes 2-5/6"), "abcd"},
		"elsewhere":      {part("bytes 3-6/10"), ""},
		"shorter":        {raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\nContent-Range: bytes 2-3/10\r\n\r\nab"), ""},
		"unreadable":     {part("bytes x"), ""},
		"backwards":      {part("bytes 5-2/10"), ""},
		"the whole":      {raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"), ""},
		"lying length":   {raw("HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\nContent-Range: bytes 2-5/10\r\n\r\nab"), ""},
		"beyond its end": {answer(416, "InvalidRange"), "(empty)"},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, _ := script(t, test.reply)
			body, err := bucket.GetRange(t.Context(), "o", 2, 4)
			var content []byte
			if err == nil {
				content, err = io.ReadAll(body)
				body.Close()
			}
			switch test.want {
			case "":
				require.ErrorIs(t, err, objstore.ErrUnavailable)
			case "(empty)":
				require.NoError(t, err)
				require.Empty(t, content)
			default:
				require.NoError(t, err)
				require.Equal(t, test.want, string(content))
			}
		})
	}
}

func listing(truncated bool, token string, keys ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%v</IsTruncated>`, truncated)
		if token != "" {
			_, _ = fmt.Fprintf(w, `<NextContinuationToken>%s</NextContinuationToken>`, token)
		}
		for _, key := range keys {
			_, _ = fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.123Z</LastModified></Contents>`, key)
		}
		_, _ = fmt.Fprint(w, `</ListBucketResult>`)
	}
}

// TestListings: pages are joined, and one that cannot be right ends the listing
// with an error instead of leaving commits out.
func TestListings(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		names []string
		want  error
	}{
		"two pages":             {[]step{listing(true, "1", "t/a", "t/b%2B"), listing(false, "", "t/c")}, []string{"t/a", "t/b+", "t/c"}, nil},
		"empty page between":    {[]step{listing(true, "1", "t/a"), listing(true, "2"), listing(false, "", "t/c")}, []string{"t/a", "t/c"}, nil},
		"out of order":          {[]step{listing(true, "1", "t/b"), listing(false, "", "t/a")}, []string{"t/b"}, objstore.ErrUnavailable},
		"markers and odd names": {[]step{listing(false, "", "t/", "t//x", "t/%01", "t/a")}, []string{"t/a"}, nil},
		"same page again":       {[]step{listing(true, "1", "t/a")}, []string{"t/a"}, objstore.ErrUnavailable},
		"empty pages forever":   {[]step{listing(true, "1")}, nil, objstore.ErrUnavailable},
		"no way on":             {[]step{listing(true, "", "t/a")}, []string{"t/a"}, objstore.ErrUnavailable},
		"another prefix":        {[]step{listing(false, "", "u/a")}, nil, objstore.ErrUnavailable},
		"second page fails":     {[]step{listing(true, "1", "t/a"), answer(403, "AccessDenied")}, []string{"t/a"}, objstore.ErrDenied},
		"no bucket":             {[]step{answer(404, "NoSuchBucket")}, nil, objstore.ErrUnavailable},
		"no listing":            {[]step{raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<List")}, nil, objstore.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, _ := script(t, test.steps...)
			var names []string
			var failure error
			for object, err := range bucket.List(t.Context(), "t/", objstore.ListOptions{}) {
				if err != nil {
					failure = err
					break
				}
				require.Zero(t, object.ModTime.Nanosecond())
				names = append(names, object.Name)
			}
			require.Equal(t, test.names, names)
			if test.want == nil {
				require.NoError(t, failure)
			} else {
				require.ErrorIs(t, failure, test.want)
			}
		})
	}
}

// uploadsPage is a page of uploads whose marker is its last one.
func uploadsPage(more bool, keys ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>`,
			more)
		for i, key := range keys {
			at := "<Initiated>2026-01-02T03:04:05.678Z</Initiated>"
			if strings.HasSuffix(key, "timeless") {
				at = ""
			}
			_, _ = fmt.Fprintf(w, `<Upload><Key>%s</Key><UploadId>%d</UploadId>%s</Upload>`, key, i, at)
		}
		if more && len(keys) > 0 {
			_, _ = fmt.Fprintf(w, `<NextKeyMarker>%s</NextKeyMarker><NextUploadIdMarker>%d</NextUploadIdMarker>`, keys[len(keys)-1], len(keys)-1)
		}
		_, _ = io.WriteString(w, `</ListMultipartUploadsResult>`)
	}
}

func TestUploads(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		names []string
		want  error
	}{
		"two pages": {[]step{uploadsPage(true, "t/a", "t/b%2B"), uploadsPage(false, "t/b%2B", "t/c")},
			[]string{"t/a", "t/b+", "t/b+", "t/c"}, nil},
		"odd names":       {[]step{uploadsPage(false, "t/", "t//x", "u/x", "t/%01", "t/a", "t/timeless")}, []string{"t/a"}, nil},
		"same page again": {[]step{uploadsPage(true, "t/a")}, []string{"t/a", "t/a"}, objstore.ErrUnavailable},
		"no way on":       {[]step{uploadsPage(true)}, nil, nil},
		"tells nobody":    {[]step{answer(501, "NotImplemented")}, nil, nil},
		"not this caller": {[]step{answer(403, "AccessDenied")}, nil, nil},
		"bad credential":  {[]step{answer(403, "InvalidAccessKeyId")}, nil, objstore.ErrCredential},
		"no bucket":       {[]step{answer(404, "NoSuchBucket")}, nil, objstore.ErrNoBucket},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, store := script(t, test.steps...)
			var names []string
			var failure error
			for upload, err := range bucket.Uploads(t.Context(), "t/") {
				if failure = err; err == nil {
					require.False(t, upload.ModTime.IsZero())
					names = append(names, upload.Name)
				}
			}
			require.Equal(t, test.names, names)
			require.ErrorIs(t, failure, test.want)
			if name == "two pages" {
				query := store.seen[1].URL.Query()
				require.Equal(t, []string{"t/b+", "1"}, []string{query.Get("key-marker"), query.Get("upload-id-marker")})
			}
		})
	}
	for _, test := range []struct {
		reply step
		want  error
	}{
		{answer(404, "NoSuchUpload"), nil}, {answer(404, "NoSuchBucket"), objstore.ErrNoBucket},
		{answer(403, "AccessDenied"), objstore.ErrDenied},
		{answer(403, "InvalidAccessKeyId"), objstore.ErrCredential}, {answer(501, "NotImplemented"), objstore.ErrDenied},
	} {
		bucket, _ := script(t, uploadsPage(false, "t/a"), test.reply)
		for upload, err := range bucket.Uploads(t.Context(), "t/") {
			require.NoError(t, err)
			require.ErrorIs(t, upload.Discard(t.Context()), test.want)
		}
	}
}

// TestNoAmbientCredentials: whatever the environment offers, requests are signed
// with the given key and go to the given place.
func TestNoAmbientCredentials(t *testing.T) {
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AMBIENT", "AWS_SECRET_ACCESS_KEY": "ambient", "AWS_SESSION_TOKEN": "ambient",
		"AWS_REGION": "ambient-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
		"AWS_PROFILE": "ambient", "HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1",
	} {
		t.Setenv(key, value)
	}
	bucket, store := script(t, done)
	require.NoError(t, bucket.Delete(t.Context(), "o"))
	require.Contains(t, store.seen[0].Header.Get("Authorization"), "Credential=lakewardentest/")
	require.Contains(t, store.seen[0].Header.Get("Authorization"), "/us-east-1/s3/")
	require.Empty(t, store.seen[0].Header.Get("X-Amz-Security-Token"))
}

// TestRole: the key is used for STS alone, and errors of STS are distinguished from those of the
// bucket.
func TestRole(t *testing.T) {
	role := func(steps ...step) (*s3.Bucket, *scripted) {
		store := &scripted{steps: steps}
		server := httptest.NewServer(store)
		t.Cleanup(server.Close)
		o := options(server.URL, "bucket")
		o.Limits = quick
		o.Credential.RoleARN = "arn:aws:iam::123456789012:role/reader"
		return mustNew(t, o), store
	}
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	granted := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<AssumeRoleResponse `+
			`xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`, expires)
	}
	bucket, store := role(granted, done, done)
	require.NoError(t, bucket.PutIfAbsent(t.Context(), "o", nil))
	require.NoError(t, bucket.Delete(t.Context(), "o"))
	require.Equal(t, 3, store.count(), "the role is asked for once")
	require.Contains(t, store.seen[0].Header.Get("Authorization"), "Credential=lakewardentest/")
	require.Contains(t, store.seen[1].Header.Get("Authorization"), "Credential=ASSUMED/")
	require.Equal(t, "session", store.seen[1].Header.Get("X-Amz-Security-Token"))

	refusal := raw("HTTP/1.1 403 Forbidden\r\nContent-Type: text/xml\r\nConnection: " +
		"close\r\n\r\n<ErrorResponse><Error><Code>AccessDenied</Code><Message>secret of the store</Message></Error></ErrorResponse>")
	bucket, _ = role(refusal)
	err := bucket.PutIfAbsent(t.Context(), "o", nil)
	require.ErrorIs(t, err, objstore.ErrDenied)
	bucket, _ = role(answer(503, ""))
	err = bucket.PutIfAbsent(t.Context(), "o", nil)
	require.ErrorIs(t, err, objstore.ErrUnavailable, "nothing was sent to the bucket")
	require.NotErrorIs(t, err, objstore.ErrUnknown)
}

// TestDial: the caller decides which addresses are reached.
func TestDial(t *testing.T) {
	o := options("http://store.example", "bucket")
	refusal := fmt.Errorf("secret address refused")
	o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, refusal }
	o.Limits = quick
	bucket := mustNew(t, o)
	err := bucket.PutIfAbsent(t.Context(), "o", nil)
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.NotContains(t, err.Error(), "secret")
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		option string
		change func(*s3.Options)
	}{
		"no bucket":         {"bucket", func(o *s3.Options) { o.Bucket = "" }},
		"an ARN":            {"bucket", func(o *s3.Options) { o.Bucket = "arn:aws:s3:us-east-1:123456789012:accesspoint/x" }},
		"a path":            {"bucket", func(o *s3.Options) { o.Bucket = "a/b" }},
		"dots":              {"bucket", func(o *s3.Options) { o.Bucket = "a..b" }},
		"directory bucket":  {"bucket", func(o *s3.Options) { o.Bucket = "name--usw2-az1--x-s3" }},
		"region as a host":  {"region", func(o *s3.Options) { o.Region = "x.evil.example/#" }},
		"no region":         {"region", func(o *s3.Options) { o.Region = "" }},
		"no key":            {"access_key_id", func(o *s3.Options) { o.Credential.AccessKeyID = "" }},
		"no secret":         {"secret_access_key", func(o *s3.Options) { o.Credential.SecretAccessKey = "" }},
		"role":              {"role_arn", func(o *s3.Options) { o.Credential.RoleARN = "arn:aws:iam::1:user/x" }},
		"endpoint: scheme":  {"endpoint", func(o *s3.Options) { o.Endpoint = "file:///etc/passwd" }},
		"endpoint: user":    {"endpoint", func(o *s3.Options) { o.Endpoint = "https://u:p@store.example" }},
		"endpoint: path":    {"endpoint", func(o *s3.Options) { o.Endpoint = "https://store.example/x" }},
		"endpoint: query":   {"endpoint", func(o *s3.Options) { o.Endpoint = "https://store.example?x=1" }},
		"endpoint: no host": {"endpoint", func(o *s3.Options) { o.Endpoint = "https://:80" }},
	} {
		o := options("http://127.0.0.1:1", "bucket")
		test.change(&o)
		_, err := s3.New(o)
		var refused *s3.OptionError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, test.option, refused.Option, name)
		require.NotContains(t, err.Error(), "evil")
	}
	c := s3.Credential{AccessKeyID: "AK", SecretAccessKey: "SK", SessionToken: "ST"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v", s3.Options{Credential: c}),
		c.LogValue().String()} {
		require.NotContains(t, text, "SK")
		require.NotContains(t, text, "ST")
	}
}
