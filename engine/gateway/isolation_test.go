package gateway_test

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// transport limits the reuse of connections to one test.
var transport = &http.Transport{}

// raw is a request whose parts a test can get wrong.
type raw struct {
	method, target string // target is sent as it is
	key            aws.Credentials
	payload        string
	region         string
	at             time.Time
	body           string
	change         func(*http.Request) // after signing
}

// send signs what the gateway will understand under the target and sends it.
func (q raw) send(t *testing.T, endpoint string) (int, string) {
	t.Helper()
	path, query, _ := strings.Cut(q.target, "?")
	decoded, err := url.PathUnescape(path)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(within(t, 10*time.Second), q.method, "http://"+endpoint, strings.NewReader(q.body))
	require.NoError(t, err)
	req.URL.RawQuery = query
	req.Header.Set("X-Amz-Content-Sha256", q.payload)
	sign := req.Clone(req.Context())
	sign.ContentLength = 0
	sign.URL.Opaque = "//" + endpoint + strings.ReplaceAll(url.PathEscape(decoded), "%2F", "/")
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	require.NoError(t, signer.SignHTTP(t.Context(), q.key, sign, q.payload, "s3", q.region, q.at))
	req.Header = sign.Header
	req.URL.Opaque = path
	if q.change != nil {
		q.change(req)
	}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

func code(t *testing.T, body string) string {
	t.Helper()
	var e struct{ Code string }
	require.NoError(t, xml.Unmarshal([]byte(body), &e), body)
	return e.Code
}

// hidden is in every object and every name that a key must not reach.
const hidden = "hidden"

func TestAKeyReachesNothingElse(t *testing.T) {
	store, foreign := mem.New(), mem.New()
	for _, name := range []string{"t/a.parquet", "t/_delta_log/00000000000000000000.json"} {
		mustPut(t, store, name, []byte("visible"))
	}
	for _, name := range []string{"hidden.parquet", "t2/hidden.parquet", "u/hidden.parquet", "t.hidden", "u/_last_checkpoint",
		"u/_delta_log/00000000000000000000.json"} {
		mustPut(t, store, name, []byte(hidden))
		mustPut(t, foreign, name, []byte(hidden))
		mustPut(t, foreign, "t/"+name, []byte(hidden))
	}
	g := mustGateway(t, gateway.Options{})
	grant := mustGrant(t, g, store, "t")
	other, err := g.Grant(gateway.Location{Bucket: "cfg-foreign", Identity: "two", Store: foreign, Prefixes: []string{""}})
	require.NoError(t, err)
	t.Cleanup(other.Begin(context.Background()))
	// What the other key may read is in the cache.
	for _, name := range []string{"hidden.parquet", "t/hidden.parquet"} {
		status, body := signed(other, http.MethodGet, "/cfg-foreign/"+name).send(t, g.Endpoint())
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, hidden, body)
	}
	status, body := signed(grant, http.MethodGet, "/"+bucketName+"/t/a.parquet").send(t, g.Endpoint())
	require.Equal(t, http.StatusOK, status, body)

	roots := []string{"", "/", "//", "/./", "/../", "/%2e%2e/", "/x/..", "%2f", "/" + bucketName}
	ways := []string{"", "t/..", "t/../", "t/%2e%2e", "t/%2E%2e/", "t/%2e./", "t//..", "t/./..", "t%2f..", "t%2F%2e%2e%2F", "t/..%2f",
		"t/..%5c", "t/..;", "t/%252e%252e/", "t/x/../..",
		"t/%00/..", "./", "%2e/", "../" + bucketName, "t", "t.", "t2", "T/..", "%74/../", "/t/..", "t/../../cfg-foreign", "t\\..", "t/..%c0%af",
		"t/..?x=/"}
	ends := []string{"", "/", "/hidden.parquet", "hidden.parquet", "/t2/hidden.parquet", "/u/hidden.parquet", "%2fu%2fhidden.parquet",
		"/u/_last_checkpoint", "/u/_delta_log/00000000000000000000.json"}
	for _, bucket := range []string{bucketName, "cfg-foreign", "cfg-none", "", ".", "..", "%2e%2e", strings.ToUpper(bucketName)} {
		for i, root := range roots {
			for _, way := range ways {
				for _, end := range ends {
					for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodPatch,
						http.MethodOptions} {
						target := "/" + bucket + root + way + end
						if i > 1 && bucket != bucketName || method != http.MethodGet && (i > 0 || len(end) > 20) {
							continue
						}
						status, body := signed(grant, method, target).send(t, g.Endpoint())
						require.NotContains(t, body, hidden, "%s %s", method, target)
						require.GreaterOrEqual(t, status, 400, "%s %s", method, target)
						require.Less(t, status, 500, "%s %s", method, target)
					}
				}
			}
		}
	}
	for _, bucket := range []string{bucketName, "cfg-foreign", "cfg-none"} {
		for _, prefix := range append(ways, "u/", "hidden", "t2/", "t", "/t/", "t/../u/") {
			if _, err := url.PathUnescape(prefix); err != nil || strings.HasPrefix(prefix, "t/") && objstore.ValidPrefix(prefix) == nil &&
				bucket == bucketName {
				continue
			}
			status, body := signed(grant, http.MethodGet, "/"+bucket+"/?list-type=2&prefix="+url.QueryEscape(prefix)).send(t, g.Endpoint())
			require.GreaterOrEqual(t, status, 400, prefix)
			require.Less(t, status, 500, prefix)
			require.NotContains(t, body, hidden, prefix)
		}
	}
	require.NoError(t, grant.Cause(), "a refusal is no failure of a store")
}

func signed(grant *gateway.Grant, method, target string) raw {
	return raw{method: method, target: target, payload: emptyDigest, region: grant.Region, at: time.Now(),
		key: aws.Credentials{AccessKeyID: grant.AccessKey, SecretAccessKey: grant.SecretKey}}
}

func TestSignatures(t *testing.T) {
	store := mem.New()
	mustPut(t, store, "t/a", []byte("content"))
	mustPut(t, store, "t/b", []byte(hidden))
	now := time.Now()
	g := mustGateway(t, gateway.Options{Now: func() time.Time { return now }})
	grant := mustGrant(t, g, store, "t")
	second := mustGrant(t, g, store, "t")
	good := signed(grant, http.MethodGet, "/"+bucketName+"/t/a")
	good.at = now
	for _, ok := range []func(*raw){
		func(*raw) {},
		func(q *raw) { q.payload = "UNSIGNED-PAYLOAD" },
		func(q *raw) { q.at = now.Add(14 * time.Minute) },
		func(q *raw) { q.at = now.Add(-14 * time.Minute) },
		func(q *raw) { q.target = "/" + bucketName + "/%74%2fa" },
		func(q *raw) { q.change = func(r *http.Request) { r.Header.Set("Accept", "unsigned and harmless") } },
	} {
		q := good
		ok(&q)
		status, body := q.send(t, g.Endpoint())
		require.Equal(t, http.StatusOK, status, body)
		require.Equal(t, "content", body)
	}
	header := func(name, value string) func(*raw) {
		return func(q *raw) { q.change = func(r *http.Request) { r.Header.Set(name, value) } }
	}
	authorization := func(old, replaced string) func(*raw) {
		return func(q *raw) {
			q.change = func(r *http.Request) {
				r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, replaced, 1))
			}
		}
	}
	for name, c := range map[string]struct {
		code  string
		wrong func(*raw)
	}{
		"no such key":    {"InvalidAccessKeyId", func(q *raw) { q.key.AccessKeyID = "LWNOSUCHKEY" }},
		"empty key":      {"InvalidAccessKeyId", authorization(grant.AccessKey, "")},
		"wrong secret":   {"SignatureDoesNotMatch", func(q *raw) { q.key.SecretAccessKey += "x" }},
		"other's secret": {"SignatureDoesNotMatch", func(q *raw) { q.key.SecretAccessKey = second.SecretKey }},
		"other's key":    {"SignatureDoesNotMatch", authorization(grant.AccessKey, second.AccessKey)},
		"other path": {"SignatureDoesNotMatch", func(q *raw) {
			q.change = func(r *http.Request) {
				r.URL.Opaque = "/" + bucketName +
					"/t/b"
			}
		}},
		"other method":       {"SignatureDoesNotMatch", func(q *raw) { q.method, q.change = "HEAD", func(r *http.Request) { r.Method = "GET" } }},
		"other query":        {"SignatureDoesNotMatch", func(q *raw) { q.change = func(r *http.Request) { r.URL.RawQuery = "x-id=GetObject" } }},
		"other host":         {"SignatureDoesNotMatch", func(q *raw) { q.change = func(r *http.Request) { r.Host = "evil.example" } }},
		"other date":         {"SignatureDoesNotMatch", header("X-Amz-Date", now.Add(time.Minute).UTC().Format("20060102T150405Z"))},
		"other region":       {"SignatureDoesNotMatch", func(q *raw) { q.region = "us-east-1" }},
		"other payload":      {"SignatureDoesNotMatch", header("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")},
		"streaming payload":  {"SignatureDoesNotMatch", func(q *raw) { q.payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" }},
		"payload of a body":  {"SignatureDoesNotMatch", func(q *raw) { q.payload = strings.Repeat("0", 64) }},
		"unsigned header":    {"SignatureDoesNotMatch", header("X-Amz-Security-Token", "x")},
		"host not signed":    {"SignatureDoesNotMatch", authorization("host;", "")},
		"date not signed":    {"SignatureDoesNotMatch", authorization(";x-amz-date", "")},
		"unordered headers":  {"SignatureDoesNotMatch", authorization("host;x-amz-content-sha256", "x-amz-content-sha256;host")},
		"signed what is not": {"SignatureDoesNotMatch", authorization("host;", "host;range;")},
		"old":                {"RequestTimeTooSkewed", func(q *raw) { q.at = now.Add(-16 * time.Minute) }},
		"from the future":    {"RequestTimeTooSkewed", func(q *raw) { q.at = now.Add(16 * time.Minute) }},
		"no date":            {"AccessDenied", header("X-Amz-Date", "")},
		"no authorization":   {"AccessDenied", header("Authorization", "")},
		"two authorizations": {"AccessDenied", func(q *raw) {
			q.change = func(r *http.Request) { r.Header.Add("Authorization", r.Header.Get("Authorization")) }
		}},
		"basic":           {"AccessDenied", header("Authorization", "Basic eDp5")},
		"version 2":       {"AccessDenied", header("Authorization", "AWS "+grant.AccessKey+":abc")},
		"short signature": {"SignatureDoesNotMatch", authorization("Signature=", "Signature=aa")},
		"no hex":          {"AccessDenied", authorization("Signature=", "Signature=zz")},
		"a field twice":   {"AccessDenied", authorization("Signature=", "Signature=00, Signature=")},
		"presigned":       {"AccessDenied", func(q *raw) { q.target += "?X-Amz-Signature=00"; header("Authorization", "")(q) }},
		"body":            {"InvalidRequest", func(q *raw) { q.body = "x" }},
	} {
		q := good
		c.wrong(&q)
		status, body := q.send(t, g.Endpoint())
		require.Equal(t, c.code, code(t, body), name)
		require.GreaterOrEqual(t, status, 400, name)
		require.NotContains(t, body, hidden, name)
	}
	status, body := raw{method: "HEAD", target: good.target, payload: emptyDigest, at: now}.send(t, g.Endpoint())
	require.Equal(t, http.StatusForbidden, status)
	require.Empty(t, body)
}

func TestAKeyLivesAsLongAsItsGrantAndItsStatement(t *testing.T) {
	store := mem.New()
	mustPut(t, store, "a", []byte("content"))
	g := mustGateway(t, gateway.Options{})
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: store, Prefixes: []string{""}})
	require.NoError(t, err)
	q := signed(grant, http.MethodGet, "/"+bucketName+"/a")
	expect := func(want int) {
		t.Helper()
		status, _ := q.send(t, g.Endpoint())
		require.Equal(t, want, status)
	}
	expect(http.StatusForbidden)
	end := grant.Begin(t.Context())
	expect(http.StatusOK)
	end()
	end()
	expect(http.StatusForbidden)
	ctx, cancel := context.WithCancel(t.Context())
	defer grant.Begin(ctx)()
	expect(http.StatusOK)
	cancel()
	expect(http.StatusForbidden)
	defer grant.Begin(t.Context())()
	expect(http.StatusOK)
	grant.Close()
	grant.Close()
	expect(http.StatusForbidden)
	defer grant.Begin(t.Context())()
	expect(http.StatusForbidden)
}

func TestGrantChecksItsLocations(t *testing.T) {
	store := mem.New()
	g, err := gateway.New(gateway.Options{})
	require.NoError(t, err)
	good := gateway.Location{Bucket: "abc", Identity: "i", Store: store, Prefixes: []string{"a/b", ""}}
	grant, err := g.Grant(good)
	require.NoError(t, err)
	require.Equal(t, []string{"s3://abc/a/b/", "s3://abc/"}, grant.Prefixes)
	for name, wrong := range map[string]func(*gateway.Location){
		"store": func(l *gateway.Location) { l.Store = nil }, "identity": func(l *gateway.Location) { l.Identity = "" },
		"short": func(l *gateway.Location) { l.Bucket = "ab" }, "slash": func(l *gateway.Location) { l.Bucket = "a/b" },
		"dots": func(l *gateway.Location) { l.Bucket = "..." }, "upper": func(l *gateway.Location) { l.Bucket = "ABC" },
		"parent": func(l *gateway.Location) { l.Prefixes = []string{"a/.."} }, "root": func(l *gateway.Location) { l.Prefixes = []string{"/"} },
		"trailing": func(l *gateway.Location) { l.Prefixes = []string{"a/"} },
	} {
		location := good
		wrong(&location)
		_, err := g.Grant(location)
		require.ErrorIs(t, err, gateway.ErrLocation, name)
	}
	_, err = g.Grant(good, good)
	require.ErrorIs(t, err, gateway.ErrLocation)
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	_, err = g.Grant(good)
	require.ErrorIs(t, err, gateway.ErrClosed)
}
