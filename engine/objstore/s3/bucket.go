package s3

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Bucket is an objstore.Bucket over S3. Close releases its connections.
//
// Times of objects are whole seconds: the protocol's headers have no finer resolution, and every
// operation must report the same time for an object.
type Bucket struct {
	name      string
	client    *sdk.Client
	transport *http.Transport
	limits    Limits
}

var (
	_ objstore.Bucket       = (*Bucket)(nil)
	_ objstore.UploadLister = (*Bucket)(nil)
)

// New returns a client of one bucket. It sends no request. Its errors are of type [*OptionError].
func New(o Options) (*Bucket, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	limits := o.Limits.withDefaults()
	transport := newTransport(o.Dial, limits)
	// The options are set explicitly: a loader would read credentials and endpoints from the
	// environment.
	client := sdk.New(sdk.Options{
		Region:       o.Region,
		BaseEndpoint: endpoint(o.Endpoint),
		UsePathStyle: o.PathStyle,
		Credentials:  provider(o, transport, limits),
		HTTPClient:   httpClient(watched{transport}),
		Retryer:      retryer(limits),
		// Extensions of plain S3 are disabled, because other stores do not support them.
		RequestChecksumCalculation:                aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:                aws.ResponseChecksumValidationWhenRequired,
		DisableS3ExpressSessionAuth:               aws.Bool(true),
		DisableMultiRegionAccessPoints:            true,
		DisableLogOutputChecksumValidationSkipped: true,
		ContinueHeaderThresholdBytes:              -1,
	})
	return &Bucket{name: o.Bucket, client: client, transport: transport, limits: limits}, nil
}

// Close closes idle connections. Running requests are not affected.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

func endpoint(url string) *string {
	if url == "" {
		return nil
	}
	return aws.String(url)
}

func httpClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// provider returns the credentials that sign requests: the key itself, or what STS returns for it.
// Requests to STS are not watched, because their outcome is not that of the write that follows.
func provider(o Options, transport *http.Transport, limits Limits) aws.CredentialsProvider {
	c := o.Credential
	static := credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	if c.RoleARN == "" {
		return static
	}
	client := sts.New(sts.Options{
		Region: o.Region, BaseEndpoint: endpoint(o.Endpoint), Credentials: static,
		HTTPClient: httpClient(transport), Retryer: retryer(limits),
	})
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(client, c.RoleARN, func(a *stscreds.AssumeRoleOptions) {
		a.RoleSessionName = "lakewarden"
	}))
}

func retryer(l Limits) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = l.Attempts
		o.MaxBackoff = l.Backoff
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(notTimeouts)}, o.Retryables...)
	})
}

// notTimeouts prevents retries of requests that timed out.
func notTimeouts(err error) aws.Ternary {
	if isTimeout(err) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}
