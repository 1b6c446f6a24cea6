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
// Times of objects are whole seconds: the protocol's headers know no finer
// ones, and an object must have one time however it is asked for.
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

// New makes a client of one bucket. It sends nothing. [OptionError].
func New(o Options) (*Bucket, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	limits := o.Limits.withDefaults()
	transport := newTransport(o.Dial, limits)
	// The options are written out instead of loaded: a loader looks for
	// credentials and endpoints in the environment.
	client := sdk.New(sdk.Options{
		Region:       o.Region,
		BaseEndpoint: endpoint(o.Endpoint),
		UsePathStyle: o.PathStyle,
		Credentials:  provider(o, transport, limits),
		HTTPClient:   httpClient(watched{transport}),
		Retryer:      retryer(limits),
		// What lies beside plain S3 stays off: other stores know none of it.
		RequestChecksumCalculation:                aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:                aws.ResponseChecksumValidationWhenRequired,
		DisableS3ExpressSessionAuth:               aws.Bool(true),
		DisableMultiRegionAccessPoints:            true,
		DisableLogOutputChecksumValidationSkipped: true,
		ContinueHeaderThresholdBytes:              -1,
	})
	return &Bucket{name: o.Bucket, client: client, transport: transport, limits: limits}, nil
}

// Close closes idle connections. Requests under way end by themselves.
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

// provider signs with the key as it is, or with what STS gives for it. Requests
// to STS are not watched: their fate is not that of the write they precede.
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

// notTimeouts keeps a store that hangs from being asked again.
func notTimeouts(err error) aws.Ternary {
	if isTimeout(err) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}
