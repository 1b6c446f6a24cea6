package s3

import (
	"log/slog"
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
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
	// Machine is the identity of an ambient credential.
	Machine Machine
	// Dial opens every connection to the store; nil is the system's dialer. With it a caller decides which
	// addresses may be reached.
	Dial   remote.Dial
	Limits Limits
}

// Credential is a static key, and optionally a role to assume with it, or the machine's own identity.
type Credential struct {
	AccessKeyID     string
	SecretAccessKey string
	// SessionToken belongs to a temporary key.
	SessionToken string
	// RoleARN, if set, is a role that is assumed with the key (STS); requests to the bucket are
	// then signed with the credentials that STS returns, which are renewed in time. The STS
	// endpoint is that of the region, or Endpoint if it is set.
	RoleARN string
	// Ambient uses the identity of the machine. All other fields are empty then.
	Ambient bool
}

// String omits secrets, so that they do not reach logs and errors.
func (c Credential) String() string { return "s3.Credential(redacted)" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Limits bound a request's duration and memory. Zero values are the defaults.
type Limits = remote.Limits

// OptionError is an option that New refuses: bucket, region, endpoint, access_key_id,
// secret_access_key, role_arn or credential.
type OptionError = remote.OptionError

var (
	// The pattern is strict on purpose: the SDK accepts an ARN instead of a name, and would send
	// the request elsewhere.
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// AWS reserves these endings. An alias leads to a bucket of another name.
	bucketAlias = regexp.MustCompile(`(-s3alias|--ol-s3|--op-s3)$`)
	// A region becomes a part of a host name.
	regionName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`)
	roleARN    = regexp.MustCompile(`^arn:[a-z-]{3,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,600}$`)
)

// Check reports the first option that New would refuse, as an [OptionError].
func (o Options) Check() error {
	switch {
	case !bucketName.MatchString(o.Bucket) || strings.Contains(o.Bucket, ".."):
		return remote.Refuse("bucket", "must be the name of a bucket: 3 to 63 of a-z, 0-9, '.' and '-'")
	case strings.HasSuffix(o.Bucket, "--x-s3"):
		return remote.Refuse("bucket", "must not be a directory bucket: those list in no order")
	case bucketAlias.MatchString(o.Bucket):
		return remote.Refuse("bucket", "must not be the alias of an access point")
	case !regionName.MatchString(o.Region):
		return remote.Refuse("region", "must be the name of a region, such as eu-central-1")
	case o.Endpoint != "" && !remote.ValidEndpoint(o.Endpoint, ""):
		return remote.Refuse("endpoint", "must be a URL of scheme and host, without path, query and user")
	case o.Credential.Ambient && o.Credential != Credential{Ambient: true}:
		return remote.Refuse("credential", "must not be combined with a key or a role")
	case o.Credential.Ambient:
		return nil
	case o.Credential.AccessKeyID == "":
		return remote.Refuse("access_key_id", "must not be empty")
	case o.Credential.SecretAccessKey == "":
		return remote.Refuse("secret_access_key", "must not be empty")
	case o.Credential.RoleARN != "" && !roleARN.MatchString(o.Credential.RoleARN):
		return remote.Refuse("role_arn", "must be the ARN of a role")
	}
	return nil
}
