package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Options say which bucket, where, and in whose name.
type Options struct {
	Bucket string
	Region string
	// Endpoint is the URL of a store other than AWS, without a path.
	Endpoint string
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle  bool
	Credential Credential
	// Dial opens every connection; nil is the system's own. It is where a
	// caller decides which addresses may be reached.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Limits Limits
}

// Credential is a static key, and optionally a role to take on with it.
type Credential struct {
	AccessKeyID     string
	SecretAccessKey string
	// SessionToken goes with a temporary key.
	SessionToken string
	// RoleARN, if set, is assumed with the key (STS); the requests to the
	// bucket are then signed with what STS hands out, renewed in time.
	RoleARN string
}

// String keeps secrets out of logs and errors.
func (c Credential) String() string { return "s3.Credential(redacted)" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Limits bound what a request may take. Zero values are the defaults.
type Limits struct {
	// Connect is the time for a connection, and again for its TLS handshake;
	// default 5 s.
	Connect time.Duration
	// Idle is the longest time in which nothing moves: until the reply begins,
	// and between two parts of a body; default 10 s.
	Idle time.Duration
	// Attempts is how often a request is sent at most; default 3.
	Attempts int
	// Backoff is the longest pause between two attempts; default 1 s.
	Backoff time.Duration
	// PartSize is the size from which on a body is sent in parts, and that of
	// the parts, in bytes; default 16 MiB, at least 5 MiB on AWS.
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

// ErrOptions: New was given something that cannot name a bucket. The text says
// what, in words fit for the one who sent it. Not retried; becomes 422.
var ErrOptions = errors.New("invalid s3 options")

var (
	// Strict on purpose: the SDK takes an ARN in the place of a name, and would
	// send the request elsewhere.
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// A region becomes a part of a host name.
	regionName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`)
	roleARN    = regexp.MustCompile(`^arn:[a-z-]{3,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,600}$`)
)

// Check reports the first option that New would refuse. ErrOptions.
func (o Options) Check() error {
	switch {
	case !bucketName.MatchString(o.Bucket) || strings.Contains(o.Bucket, ".."):
		return fmt.Errorf("%w: bucket", ErrOptions)
	case strings.HasSuffix(o.Bucket, "--x-s3"):
		return fmt.Errorf("%w: directory buckets list in no order", ErrOptions)
	case !regionName.MatchString(o.Region):
		return fmt.Errorf("%w: region", ErrOptions)
	case o.Credential.AccessKeyID == "" || o.Credential.SecretAccessKey == "":
		return fmt.Errorf("%w: no credential", ErrOptions)
	case o.Credential.RoleARN != "" && !roleARN.MatchString(o.Credential.RoleARN):
		return fmt.Errorf("%w: role", ErrOptions)
	case o.Endpoint == "":
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%w: endpoint", ErrOptions)
	}
	return nil
}
