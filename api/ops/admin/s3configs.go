package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// ErrNoStoredSecret is returned by the rotation of a delegated configuration, which has
// no credential: 422.
var ErrNoStoredSecret = fault.New("oauth_config_has_no_secret", "storage configuration holds no secret")

// probeTimeout bounds the test of a configuration, which is shorter than a request may take.
const probeTimeout = 30 * time.Second

// S3Settings are the settings of a configuration of kind s3 that are stored in clear.
type S3Settings struct {
	Bucket string `json:"bucket"`
	// Prefix is the folder that is the root; empty means the whole bucket.
	Prefix string `json:"prefix,omitempty"`
	Region string `json:"region"`
	// Endpoint is the URL of the store; empty means AWS.
	Endpoint  string `json:"endpoint,omitempty"`
	PathStyle bool   `json:"pathStyle"`
}

// S3Credential is the secret part of a configuration. It is encrypted as JSON.
type S3Credential struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
	SessionToken    string `json:"sessionToken,omitempty"`
	RoleARN         string `json:"roleArn,omitempty"`
}

// String returns a text without secrets, for logs and errors.
func (c S3Credential) String() string { return "admin.S3Credential(redacted)" }

// GoString returns the same text as String.
func (c S3Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c S3Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// mode returns the kind of credential, as stored in the catalog.
func (c S3Credential) mode() string {
	switch {
	case c.RoleARN != "":
		return "assume_role"
	case c.SessionToken != "":
		return "session_token"
	}
	return "access_key"
}

// Remote opens object stores in the network.
type Remote interface {
	// CheckS3 checks input without contacting the store. It returns catalog.FieldErrors.
	CheckS3(ctx context.Context, settings S3Settings, credential S3Credential) error
	// OpenS3 opens the root that the settings name. The caller must close it.
	OpenS3(settings S3Settings, credential S3Credential) (objstore.Bucket, io.Closer, error)
}

// S3SettingsOf returns the settings of a configuration, or [lake.ErrStorageKind] if it is of
// another kind.
func S3SettingsOf(config catalog.StorageConfig) (S3Settings, error) {
	var s S3Settings
	if config.Kind != catalog.KindS3 {
		return s, lake.ErrStorageKind
	}
	return s, json.Unmarshal(config.Settings, &s)
}

func (o StorageConfigs) createS3(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, settings S3Settings, credential S3Credential,
) (none catalog.StorageConfig, err error) {
	settings.Prefix = strings.Trim(settings.Prefix, "/")
	if err := o.Remote.CheckS3(ctx, settings, credential); err != nil {
		return none, err
	}
	if n.Location, err = s3Location(settings); err != nil {
		return none, err
	}
	if n.Settings, err = json.Marshal(settings); err != nil {
		return none, err
	}
	if n.SealedSecret, err = o.sealS3(n.Org, n.ID, credential); err != nil {
		return none, err
	}
	n.AuthMode = credential.mode()
	at := "bucket"
	if settings.Prefix != "" {
		at = "prefix"
	}
	return o.create(ctx, a, n, at, func() error {
		report, err := o.probeS3(ctx, settings, credential)
		if err != nil {
			return err
		}
		return probeError(report)
	})
}

func (o StorageConfigs) sealS3(org catalog.OrgID, id catalog.ConfigID, credential S3Credential) ([]byte, error) {
	plain, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return o.Seal(org, id, plain)
}

var (
	awsEndpoint = regexp.MustCompile(`^(s3([.-][a-z0-9-]+)*|bucket\.vpce-[a-z0-9.-]+)\.amazonaws\.com$`)
	awsInChina  = regexp.MustCompile(`^s3([.-][a-z0-9-]+)*\.amazonaws\.com\.cn$`)
)

// s3Location returns the canonical location of a root. All endpoints of AWS lead to the
// same buckets, and an endpoint that names a bucket would be an alias of it.
func s3Location(s S3Settings) (catalog.Location, error) {
	store := "aws"
	if strings.HasPrefix(s.Region, "cn-") {
		store = "aws-cn"
	}
	if s.Endpoint != "" {
		u, err := url.Parse(s.Endpoint)
		if err != nil {
			return "", fault.Invalid("endpoint", "must be a URL")
		}
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		switch port := u.Port(); {
		case awsEndpoint.MatchString(host):
			store = "aws"
		case awsInChina.MatchString(host):
			store = "aws-cn"
		case strings.HasSuffix(host, ".amazonaws.com"), strings.HasSuffix(host, ".amazonaws.com.cn"):
			return "", fault.Invalid("endpoint", "must not name a bucket or an access point")
		case port == "", port == "443" && u.Scheme == "https", port == "80" && u.Scheme == "http":
			store = host
		default:
			store = host + ":" + port
		}
	}
	if s.Prefix != "" {
		if err := objstore.ValidName(s.Prefix); err != nil {
			return "", fault.Invalid("prefix", "must be a path without empty, '.' and '..' parts")
		}
	}
	return catalog.NewLocation("s3", store, s.Bucket, s.Prefix), nil
}

// probeS3 tests a credential with real objects.
func (o StorageConfigs) probeS3(ctx context.Context, settings S3Settings, credential S3Credential) (ProbeReport, error) {
	bucket, closer, err := o.Remote.OpenS3(settings, credential)
	if err != nil {
		return ProbeReport{}, err
	}
	defer closer.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return storage.Probe(ctx, bucket), nil
}

// probeError returns the error for a test that failed, or nil.
func probeError(report ProbeReport) error {
	err := report.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, objstore.ErrNoBucket):
		return fault.Invalid("bucket", "does not exist")
	case errors.Is(err, objstore.ErrDenied):
		return &RejectedError{report}
	case errors.Is(err, storage.ErrNotAtomic), errors.Is(err, storage.ErrContent):
		return err
	}
	// The causes are included as text only: an unknown outcome of a test needs no reply
	// of its own.
	return fmt.Errorf("%w: %v", objstore.ErrUnavailable, err)
}

// RejectedError is returned for a credential that lacks rights that tables need in the
// store. The details name the checks that failed.
type RejectedError struct{ Report ProbeReport }

// Error implements error.
func (e *RejectedError) Error() string { return "credential rejected: " + e.Report.Err().Error() }

// ProblemCode returns the code of package problem.
func (e *RejectedError) ProblemCode() string { return "credential_rejected" }

// FieldProblems yields the failed checks.
func (e *RejectedError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, check := range e.Report.Checks {
			if !check.OK && !yield(check.Name, check.Reason) {
				return
			}
		}
	}
}

// S3Rotation is the input of [StorageConfigs.RotateS3].
type S3Rotation struct {
	Credential S3Credential
	// ExpiresAt is nil if it is unknown, or if the credential does not expire.
	ExpiresAt *time.Time
	// DryRun tests the credential without storing it.
	DryRun bool
}

// RotateS3 replaces the credential after the store has accepted the new one. Until then,
// and if the store rejects it, the old one stays in use. RotateS3 returns the report of
// the test. The location and the settings do not change.
func (o StorageConfigs) RotateS3(ctx context.Context, id catalog.ConfigID, in S3Rotation) (catalog.StorageConfig, ProbeReport, error) {
	a, config, err := o.configurable(ctx, id, auth.ScopeStorageConfigsShare)
	if err != nil {
		return config, ProbeReport{}, err
	}
	if config.Kind == catalog.KindDelegated {
		return config, ProbeReport{}, ErrNoStoredSecret
	}
	settings, err := S3SettingsOf(config)
	if err != nil {
		return config, ProbeReport{}, err
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(o.Now()) {
		return config, ProbeReport{}, fault.Invalid("expires_at", "must be in the future")
	}
	if err := o.Remote.CheckS3(ctx, settings, in.Credential); err != nil {
		return config, ProbeReport{}, err
	}
	report, err := o.probeS3(ctx, settings, in.Credential)
	if err != nil || in.DryRun {
		return config, report, err
	}
	if err := probeError(report); err != nil {
		return config, report, err
	}
	secret := catalog.StorageSecret{AuthMode: in.Credential.mode()}
	if in.ExpiresAt != nil {
		secret.ExpiresAt = in.ExpiresAt.UTC()
	}
	if secret.Sealed, err = o.sealS3(config.Org, id, in.Credential); err != nil {
		return config, report, err
	}
	// Only the version that was tested is changed.
	config, err = o.Store.ReplaceStorageSecret(ctx, a.Viewer, id, config.Version, secret)
	return config, report, err
}
