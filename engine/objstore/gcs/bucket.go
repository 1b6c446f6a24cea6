package gcs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Bucket is an objstore.Bucket over Google Cloud Storage. Close releases its connections.
type Bucket struct {
	name      string
	base      string
	http      *http.Client
	handle    *storage.BucketHandle
	transport *http.Transport
	limits    Limits
	// key is the credential, if that is the key of a service account.
	key string
}

var (
	_ objstore.Bucket  = (*Bucket)(nil)
	_ objstore.Locator = (*Bucket)(nil)
)

// New returns a client of one bucket. It sends no request. Its errors are of type [*OptionError].
func New(o Options) (*Bucket, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	limits := o.Limits.WithDefaults()
	transport := remote.NewTransport(o.Dial, limits)
	base, err := url.Parse(o.base())
	if err != nil {
		return nil, remote.Refuse("endpoint", "must be a URL")
	}
	tokens, err := o.tokens(transport, limits)
	if err != nil {
		return nil, err
	}
	sender := remote.Bearer(remote.Watch(transport, effective), tokens, nil)
	client := remote.NewClient(pinned{sender, base})
	// The endpoint and the client are set explicitly: without them the SDK would read credentials and
	// endpoints from the environment and from the machine.
	sdk, err := storage.NewClient(context.Background(), option.WithHTTPClient(client), option.WithoutAuthentication(),
		option.WithEndpoint(base.String()+"/storage/v1/"), option.WithTelemetryDisabled(), storage.WithDisabledClientMetrics())
	if err != nil {
		return nil, remote.Refuse("endpoint", "cannot be used")
	}
	b := &Bucket{
		name: o.Bucket, base: base.String(), http: client, transport: transport, limits: limits, key: o.Credential.ServiceAccountKey,
	}
	b.handle = sdk.Bucket(o.Bucket).Retryer(b.retries()...)
	return b, nil
}

// Close closes idle connections. Running requests are not affected.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// pinned sends every request to one host: the SDK follows addresses that a store or the environment
// chooses.
type pinned struct {
	inner http.RoundTripper
	base  *url.URL
}

// RoundTrip implements http.RoundTripper.
func (p pinned) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = p.base.Scheme, p.base.Host, p.base.Host
	return p.inner.RoundTrip(r)
}

// effective reports whether a request can take effect by itself: a resumable upload does so with its
// last part only, whose range has an end.
func effective(r *http.Request) bool {
	if part := r.Header.Get("Content-Range"); part != "" {
		return !strings.HasSuffix(part, "/*")
	}
	return r.URL.Query().Get("uploadType") != "resumable"
}

// retries are the SDK's options for requests that may be sent again.
func (b *Bucket) retries() []storage.RetryOption {
	return []storage.RetryOption{
		storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(b.limits.Attempts), storage.WithErrorFunc(repeatable),
		storage.WithBackoff(gax.Backoff{Initial: min(b.limits.Backoff, 50*time.Millisecond), Max: b.limits.Backoff, Multiplier: 2}),
	}
}

// repeatable reports whether a request that failed may be sent again.
func repeatable(err error) bool {
	var reply *googleapi.Error
	if !errors.As(err, &reply) {
		return err != nil && remote.Repeatable(err)
	}
	return reply.Code == http.StatusRequestTimeout || reply.Code == http.StatusTooManyRequests ||
		reply.Code >= 500 && reply.Code != http.StatusNotImplemented
}

// Locate implements objstore.Locator for the schemes that programs use for Google Cloud Storage. It
// takes the name unchanged, and refuses names that a program could shorten as paths.
func (b *Bucket) Locate(dir string, ref objstore.Reference) (string, bool) {
	if ref.Scheme != "gs" && ref.Scheme != "gcs" || ref.Host != b.name || path.Clean(ref.Path) != ref.Path {
		return "", false
	}
	return strings.CutPrefix(strings.TrimPrefix(ref.Path, "/"), dir)
}
