package s3

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
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
	// place tells stores apart.
	place      place
	copyLimit  int64
	credential Credential
}

// place is what the buckets have in common that copy from each other.
type place struct{ endpoint, region string }

// sessionName names the sessions of roles in the logs of AWS.
const sessionName = "lakewarden"

var (
	_ objstore.Bucket       = (*Bucket)(nil)
	_ objstore.UploadLister = (*Bucket)(nil)
)

// New returns a client of one bucket. It sends no request. Its errors are of type [*OptionError].
func New(o Options) (*Bucket, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	limits := o.Limits.WithDefaults()
	transport := remote.NewTransport(o.Dial, limits)
	sender := remote.Listings(remote.Watch(transport, nil), "ListBucketResult", func(r *http.Request) bool {
		return r.URL.Query().Has("list-type")
	})
	// The options are set explicitly: a loader would read credentials and endpoints from the
	// environment.
	client := sdk.New(sdk.Options{
		Region:       o.Region,
		BaseEndpoint: endpoint(o.Endpoint),
		UsePathStyle: o.PathStyle,
		Credentials:  provider(o, transport, limits),
		HTTPClient:   remote.NewClient(sender),
		Retryer:      retryer(limits),
		// Extensions of plain S3 are disabled, because other stores do not support them.
		RequestChecksumCalculation:                aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:                aws.ResponseChecksumValidationWhenRequired,
		DisableS3ExpressSessionAuth:               aws.Bool(true),
		DisableMultiRegionAccessPoints:            true,
		DisableLogOutputChecksumValidationSkipped: true,
		ContinueHeaderThresholdBytes:              -1,
	})
	return &Bucket{name: o.Bucket, client: client, transport: transport, limits: limits,
		place: place{strings.TrimRight(o.Endpoint, "/"), o.Region}, copyLimit: maxCopy, credential: o.Credential}, nil
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

// provider returns the credentials that sign requests: the key itself, what STS returns for it, or
// those of this machine. Requests to STS are not watched, because their outcome is not that of the
// write that follows.
func provider(o Options, transport *http.Transport, limits Limits) aws.CredentialsProvider {
	c := o.Credential
	if c.Ambient {
		return o.Machine.credentials(o.Region, limits)
	}
	static := credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	if c.RoleARN == "" {
		return static
	}
	client := sts.New(sts.Options{
		Region: o.Region, BaseEndpoint: endpoint(o.Endpoint), Credentials: static,
		HTTPClient: remote.NewClient(transport), Retryer: retryer(limits),
	})
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(client, c.RoleARN, func(a *stscreds.AssumeRoleOptions) {
		a.RoleSessionName = sessionName
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
	if remote.IsTimeout(err) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}
