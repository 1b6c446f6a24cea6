package azure

import (
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Bucket is an objstore.Bucket over a container. Close releases its connections.
//
// Times of objects are whole seconds, the resolution of the protocol.
type Bucket struct {
	account   string
	endpoint  string // the URL of the container without its name
	cloud     string // the domain of the account's cloud; empty if the endpoint does not tell
	name      string
	client    *container.Client
	tokens    *remote.Tokens // nil if the credential needs none
	transport *http.Transport
	limits    Limits
	// credential is the one that the client uses.
	credential Credential
}

var (
	_ objstore.Bucket  = (*Bucket)(nil)
	_ objstore.Locator = (*Bucket)(nil)
)

// silence disables the SDK's log, which the environment can direct to standard error. It runs before
// the first client exists, because the SDK does not lock its log.
var silence = sync.OnceFunc(func() { azlog.SetListener(nil) })

// New returns a client of one container. It sends no request. Its errors are of type [*OptionError].
func New(o Options) (*Bucket, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	silence()
	limits := o.Limits.WithDefaults()
	transport := remote.NewTransport(o.Dial, limits)
	b := &Bucket{
		account: o.Account, endpoint: o.service(), cloud: cloudOf(o.url(), o.Account), name: o.Container,
		tokens: o.source(transport, limits), transport: transport, limits: limits,
		credential: o.Credential,
	}
	sender := remote.Listings(remote.Watch(transport, nil), "EnumerationResults", func(r *http.Request) bool {
		return r.URL.Query().Get("comp") == "list"
	})
	if b.tokens != nil {
		sender = remote.Bearer(sender, b.tokens, rejects)
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport:       remote.NewClient(sender),
		Retry:           retries(limits.Attempts, limits.Backoff),
		Telemetry:       policy.TelemetryOptions{Disabled: true},
		PerCallPolicies: []policy.Policy{startPolicy{}},
	}}
	options.ExpectContinueBehavior.Mode = blob.ExpectContinueModeOff
	var err error
	if b.client, err = connect(o, options); err != nil {
		return nil, remote.Refuse("credential", "cannot be used")
	}
	return b, nil
}

func connect(o Options, options *container.ClientOptions) (*container.Client, error) {
	if o.Credential.AccountKey == "" {
		return container.NewClientWithNoCredential(o.url(), options)
	}
	key, err := blob.NewSharedKeyCredential(o.Account, o.Credential.AccountKey)
	if err != nil {
		return nil, err
	}
	return container.NewClientWithSharedKeyCredential(o.url(), key, options)
}

// rejects reports whether a reply means that a token is not accepted.
func rejects(r *http.Response) bool {
	return r.StatusCode == http.StatusUnauthorized ||
		r.StatusCode == http.StatusForbidden && r.Header.Get("X-Ms-Error-Code") == string(bloberror.AuthenticationFailed)
}

// Close closes idle connections. Running requests are not affected.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// retries are the SDK's options for this many attempts. The SDK waits for as long as a store asks,
// if that is not longer than the backoff.
func retries(attempts int, backoff time.Duration) policy.RetryOptions {
	again := int32(attempts - 1)
	if again == 0 {
		again = -1 // the SDK's 0 is a default
	}
	return policy.RetryOptions{
		MaxRetries: again, RetryDelay: min(backoff, 50*time.Millisecond), MaxRetryDelay: backoff,
		ShouldRetry: func(resp *http.Response, err error) bool {
			if err != nil {
				return remote.Repeatable(err)
			}
			return runtime.HasStatusCode(resp, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
				http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
		},
	}
}
