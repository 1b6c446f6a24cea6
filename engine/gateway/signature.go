package gateway

import (
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	amzDate     = "20060102T150405Z"
	maxSkew     = 15 * time.Minute
	unsigned    = "UNSIGNED-PAYLOAD"
	emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	dateHeader  = "X-Amz-Date"
	bodyHeader  = "X-Amz-Content-Sha256"
)

// newSigner returns a signer for S3, which escapes paths once.
func newSigner() *v4.Signer {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
}

// authorization is a parsed Authorization header of Signature Version 4.
type authorization struct {
	accessKey string
	scope     string // date/region/service/aws4_request
	headers   []string
	signature []byte
}

func parseAuthorization(header http.Header) (authorization, bool) {
	var a authorization
	values := header.Values("Authorization")
	if len(values) != 1 {
		return a, false
	}
	rest, ok := strings.CutPrefix(values[0], algorithm+" ")
	if !ok {
		return a, false
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := fields[key]; !ok || twice {
			return a, false
		}
		fields[key] = value
	}
	var err error
	a.accessKey, a.scope, ok = strings.Cut(fields["Credential"], "/")
	a.headers = strings.Split(fields["SignedHeaders"], ";")
	a.signature, err = hex.DecodeString(fields["Signature"])
	return a, ok && err == nil && len(fields) == 3
}

// authenticate returns the grant of a request if its signature is valid, and otherwise the refusal.
func (g *Gateway) authenticate(r *http.Request) (*Grant, *refusal) {
	a, ok := parseAuthorization(r.Header)
	if !ok {
		return nil, refuseAccess
	}
	g.mu.RLock()
	grant := g.grants[a.accessKey]
	g.mu.RUnlock()
	if grant == nil {
		return nil, refuseKey
	}
	at, err := time.Parse(amzDate, r.Header.Get(dateHeader))
	if err != nil {
		return nil, refuseAccess
	}
	if skew := g.now().Sub(at); skew > maxSkew || skew < -maxSkew {
		return nil, refuseTime
	}
	if a.scope != at.Format("20060102")+"/"+Region+"/s3/aws4_request" || !a.covers(r.Header) {
		return nil, refuseSignature
	}
	if subtle.ConstantTimeCompare(a.signature, grant.sign(r, a.headers, at)) != 1 {
		return nil, refuseSignature
	}
	return grant, nil
}

// covers reports whether everything that changes the meaning of a request is signed: its host and
// every x-amz header. It also requires that the request has no body.
func (a authorization) covers(header http.Header) bool {
	for name, values := range header {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "x-amz-") && (len(values) != 1 || !slices.Contains(a.headers, lower)) {
			return false
		}
	}
	body := header.Get(bodyHeader)
	return slices.Contains(a.headers, "host") && (body == unsigned || body == emptyDigest)
}

// sign computes the signature of r. It returns nil, which equals no signature of a client, if r
// cannot be signed.
func (g *Grant) sign(r *http.Request, headers []string, at time.Time) []byte {
	again := &http.Request{
		Method: r.Method,
		Host:   r.Host,
		Header: http.Header{},
		// The path as S3 signs it, however the client escaped it in the request.
		URL: &url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path,
			RawPath: httpbinding.EscapePath(r.URL.Path, false), RawQuery: r.URL.RawQuery},
	}
	for _, name := range headers {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	key := aws.Credentials{AccessKeyID: g.AccessKey, SecretAccessKey: g.SecretKey}
	if err := g.signer.SignHTTP(r.Context(), key, again, r.Header.Get(bodyHeader), "s3", Region, at); err != nil {
		return nil
	}
	a, ok := parseAuthorization(again.Header)
	if !ok || !slices.Equal(a.headers, headers) {
		return nil
	}
	return a.signature
}
