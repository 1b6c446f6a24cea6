package s3

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Options describe a bucket, its endpoint and the credential for it.
type Options struct {
	Bucket string
	Region string
	// Endpoint is the URL of a store other than AWS, without a path.
	Endpoint string
	// PathStyle puts the bucket name into the path instead of the host name.
	PathStyle  bool
	Credential Credential
	// Dial opens every connection; nil is the system's dialer. With it a caller decides which
	// addresses may be reached.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Limits Limits
}

// Credential is a static key, and optionally a role to assume with it.
type Credential struct {
	AccessKeyID     string
	SecretAccessKey string
	// SessionToken belongs to a temporary key.
	SessionToken string
	// RoleARN, if set, is a role that is assumed with the key (STS); requests to the bucket are
	// then signed with the credentials that STS returns, which are renewed in time. The STS
	// endpoint is that of the region, or Endpoint if it is set.
	RoleARN string
}

// String omits secrets, so that they do not reach logs and errors.
func (c Credential) String() string { return "s3.Credential(redacted)" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Limits bound a request's duration and memory. Zero values are the defaults.
type Limits struct {
	// Connect is the timeout of a connection, and again of its TLS handshake; default 5 s.
	Connect time.Duration
	// Idle is the maximum time without progress: until the reply begins, and between two parts of a
	// body; default 10 s.
	Idle time.Duration
	// Attempts is the maximum number of times a request is sent; default 3.
	Attempts int
	// Backoff is the maximum pause between two attempts; default 1 s.
	Backoff time.Duration
	// PartSize is the size, in bytes, of the parts of a body. A body of at least this size is sent
	// in parts. Default 16 MiB, at least 5 MiB on AWS.
	PartSize int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connect:  cmp.Or(l.Connect, 5*time.Second),
		Idle:     cmp.Or(l.Idle, 10*time.Second),
		Attempts: cmp.Or(l.Attempts, 3),
		Backoff:  cmp.Or(l.Backoff, time.Second),
		PartSize: cmp.Or(l.PartSize, 16<<20),
	}
}

// OptionError is an option that New refuses, with a message for the user who chose it. The message
// never contains the value.
type OptionError struct {
	// Option is bucket, region, endpoint, access_key_id, secret_access_key or
	// role_arn.
	Option string
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string { return "s3 option " + e.Option + " " + e.Reason }

var (
	// The pattern is strict on purpose: the SDK accepts an ARN instead of a name, and would send
	// the request elsewhere.
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// A region becomes a part of a host name.
	regionName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`)
	roleARN    = regexp.MustCompile(`^arn:[a-z-]{3,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,600}$`)
)

// Check reports the first option that New would refuse, as an [OptionError].
func (o Options) Check() error {
	refuse := func(option, reason string) error { return &OptionError{option, reason} }
	switch {
	case !bucketName.MatchString(o.Bucket) || strings.Contains(o.Bucket, ".."):
		return refuse("bucket", "must be the name of a bucket: 3 to 63 of a-z, 0-9, '.' and '-'")
	case strings.HasSuffix(o.Bucket, "--x-s3"):
		return refuse("bucket", "must not be a directory bucket: those list in no order")
	case !regionName.MatchString(o.Region):
		return refuse("region", "must be the name of a region, such as eu-central-1")
	case !plausible(o.Endpoint):
		return refuse("endpoint", "must be a URL of scheme and host, without path, query and user")
	case o.Credential.AccessKeyID == "":
		return refuse("access_key_id", "must not be empty")
	case o.Credential.SecretAccessKey == "":
		return refuse("secret_access_key", "must not be empty")
	case o.Credential.RoleARN != "" && !roleARN.MatchString(o.Credential.RoleARN):
		return refuse("role_arn", "must be the ARN of a role")
	}
	return nil
}

func plausible(endpoint string) bool {
	if endpoint == "" {
		return true
	}
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}
