package s3_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
)

type step = objstoretest.Step

// The replies of a scripted store, and the outcomes.
var raw = objstoretest.Raw

const exists, unknown, untouched = objstoretest.Exists, objstoretest.Unknown, objstoretest.Untouched

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

// quick are limits with which a test does not wait.
var quick = s3.Limits{Connect: time.Second, Idle: 300 * time.Millisecond, Backoff: time.Millisecond}

// steady are limits for a real store on a busy machine.
var steady = s3.Limits{Connect: 2 * time.Second, Idle: 2 * time.Second, Backoff: time.Millisecond}

// dialect is that of S3.
var dialect = objstoretest.Dialect{
	Open:   func(t *testing.T, url string) objstore.Bucket { return quickBucket(t, url, "") },
	Answer: answer,
	List:   func(next string, names ...string) step { return listing(next != "", next, names...) },
	Put:    done, Delete: done, Exists: answer(412, "PreconditionFailed"),
	Deferred: answer(409, "ConditionalRequestConflict"), DeferredRequests: 8, Throttled: answer(503, "SlowDown"),
	Failure: answer(500, "InternalError"), Unavailable: answer(503, "ServiceUnavailable"),
	BadCredential: answer(403, "SignatureDoesNotMatch"), Denied: answer(403, "AccessDenied"),
	NoBucket: answer(404, "NoSuchBucket"), NoObject: answer(404, "NoSuchKey"),
	Replaced: answer(412, "PreconditionFailed"), NoRange: answer(416, "InvalidRange"),
	Resolution:  time.Second,
	Tag:         `ETag: "one"`,
	Conditional: func(t *testing.T, r *http.Request) { require.Equal(t, "*", r.Header.Get("If-None-Match")) },
	Resumed:     func(t *testing.T, r *http.Request) { require.Equal(t, `"one"`, r.Header.Get("If-Match")) },
}

// quickBucket returns a bucket in the store at url, with limits that make no test wait. A role is
// assumed unless it is empty.
func quickBucket(t *testing.T, url, role string) *s3.Bucket {
	t.Helper()
	o := options(url, "bucket")
	o.Limits = quick
	o.Credential.RoleARN = role
	return mustNew(t, o)
}

func script(t *testing.T, steps ...step) (*s3.Bucket, *objstoretest.Script) {
	t.Helper()
	store := objstoretest.NewScript(t, steps...)
	return quickBucket(t, store.URL, ""), store
}

func TestPutIfAbsentOutcomes(t *testing.T) {
	dialect.RunPutIfAbsent(t, map[string]objstoretest.Refusal{
		"unknown key":              {Reply: answer(403, "InvalidAccessKeyId"), Error: objstore.ErrCredential},
		"expired":                  {Reply: answer(400, "ExpiredToken"), Error: objstore.ErrCredential},
		"another region":           {Reply: answer(301, "PermanentRedirect"), Error: objstore.ErrUnavailable},
		"the condition is unknown": {Reply: answer(501, "NotImplemented"), Error: objstore.ErrUnavailable},
	}, map[string]objstoretest.WriteCase{
		"lost, body of reply lost": {Steps: []step{answer(412, "")}, Outcome: exists, Error: objstore.ErrExists, Requests: 1},
		"slow down":                {Steps: []step{answer(503, "SlowDown"), done}, Outcome: unknown, Error: objstore.ErrUnknown, Requests: 1},
	})
}

func TestPlainWritesAreRepeated(t *testing.T) { dialect.RunPlainWrites(t) }

func TestReadsOfABrokenStore(t *testing.T) { dialect.RunBrokenReads(t, nil) }

func TestBodiesAreResumed(t *testing.T) { dialect.RunResumes(t) }

func TestRangesOfACarelessStore(t *testing.T) { dialect.RunRanges(t, nil) }

func listing(truncated bool, token string, keys ...string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%v</IsTruncated>`, truncated)
		if token != "" {
			_, _ = fmt.Fprintf(w, `<NextContinuationToken>%s</NextContinuationToken>`, token)
		}
		for _, key := range keys {
			_, _ = fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.123Z</LastModified></Contents>`,
				url.QueryEscape(key))
		}
		_, _ = fmt.Fprint(w, `</ListBucketResult>`)
	}
}

func TestListings(t *testing.T) {
	dialect.RunListings(t, map[string]objstoretest.ListCase{
		"control character": {Steps: []step{listing(false, "", "t/\x01", "t/a")}, Names: []string{"t/a"}},
		"no next page":      {Steps: []step{listing(true, "", "t/a")}, Names: []string{"t/a"}, Error: objstore.ErrUnavailable},
	})
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
				query := store.Seen()[1].URL.Query()
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
	require.Contains(t, store.Seen()[0].Header.Get("Authorization"), "Credential=lakewardentest/")
	require.Contains(t, store.Seen()[0].Header.Get("Authorization"), "/us-east-1/s3/")
	require.Empty(t, store.Seen()[0].Header.Get("X-Amz-Security-Token"))
}

// TestRole: the key is used for STS alone, and errors of STS are distinguished from those of the
// bucket.
func TestRole(t *testing.T) {
	role := func(steps ...step) (*s3.Bucket, *objstoretest.Script) {
		store := objstoretest.NewScript(t, steps...)
		return quickBucket(t, store.URL, "arn:aws:iam::123456789012:role/reader"), store
	}
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	granted := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<AssumeRoleResponse `+
			`xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`, expires)
	}
	bucket, store := role(granted, done, done)
	require.NoError(t, bucket.PutIfAbsent(t.Context(), "o", nil))
	require.NoError(t, bucket.Delete(t.Context(), "o"))
	require.Len(t, store.Seen(), 3, "the role is asked for once")
	require.Contains(t, store.Seen()[0].Header.Get("Authorization"), "Credential=lakewardentest/")
	require.Contains(t, store.Seen()[1].Header.Get("Authorization"), "Credential=ASSUMED/")
	require.Equal(t, "session", store.Seen()[1].Header.Get("X-Amz-Security-Token"))

	refusal := raw("HTTP/1.1 403 Forbidden\r\nContent-Type: text/xml\r\nConnection: " +
		"close\r\n\r\n<ErrorResponse><Error><Code>AccessDenied</Code><Message>secret of the store</Message></Error></ErrorResponse>")
	bucket, _ = role(refusal)
	err := bucket.PutIfAbsent(t.Context(), "o", nil)
	require.ErrorIs(t, err, objstore.ErrDenied)
	bucket, _ = role(answer(503, ""))
	objstoretest.RequireUnsent(t, bucket)
}

// TestDial: the caller decides which addresses are reached.
func TestDial(t *testing.T) {
	o := options("http://store.example", "bucket")
	refusal := fmt.Errorf("secret address refused")
	o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, refusal }
	o.Limits = quick
	objstoretest.RequireUnsent(t, mustNew(t, o))
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
		"access point":      {"bucket", func(o *s3.Options) { o.Bucket = "lake-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias" }},
		"object lambda":     {"bucket", func(o *s3.Options) { o.Bucket = "lake-a1b2c3d4--ol-s3" }},
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
