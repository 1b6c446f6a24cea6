package s3

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
	provider "github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Kind is the kind s3.
type Kind struct {
	// Egress decides which endpoints may be reached.
	Egress storage.Egress
	Limits provider.Limits
	// Machine is the server's own identity.
	Machine provider.Machine
}

var _ kind.Kind = Kind{}

// Settings are the settings of a configuration, stored in clear.
type Settings struct {
	Bucket string `json:"bucket"`
	// Prefix is the folder that is the root; empty means the whole bucket.
	Prefix string `json:"prefix,omitempty"`
	Region string `json:"region"`
	// Endpoint is the URL of the store; empty means AWS.
	Endpoint  string `json:"endpoint,omitempty"`
	PathStyle bool   `json:"pathStyle"`
}

// Credential is the secret part of a configuration.
type Credential struct {
	AccessKeyID     string `json:"accessKeyId,omitempty"`
	SecretAccessKey string `json:"secretAccessKey,omitempty"`
	SessionToken    string `json:"sessionToken,omitempty"`
	RoleARN         string `json:"roleArn,omitempty"`
	kind.AmbientCredential
}

// String returns a text without secrets, for logs and errors.
func (c Credential) String() string { return "s3.Credential(redacted)" }

// GoString returns the same text as String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Name implements kind.Kind.
func (Kind) Name() string { return "s3" }

// Flags implements kind.Kind.
func (Kind) Flags() []string { return []string{"pathStyle"} }

// New implements kind.Kind. Without pathStyle, stores other than AWS get the bucket in the
// path.
func (k Kind) New(fields kind.Secret) (kind.Access, error) {
	a := access{kind: k}
	var given struct {
		PathStyle *bool `json:"pathStyle"`
	}
	err := kind.DecodeStrict(k.Name(), fields, &a.settings, &a.credential, &given)
	if given.PathStyle == nil {
		a.settings.PathStyle = a.settings.Endpoint != ""
	}
	a.settings.Prefix = strings.Trim(a.settings.Prefix, "/")
	return a, err
}

// Access implements kind.Kind.
func (k Kind) Access(settings json.RawMessage, credential kind.Secret) (kind.Access, error) {
	a := access{kind: k}
	err := errors.Join(kind.Decode(settings, &a.settings), kind.Decode(credential, &a.credential))
	return a, err
}

// access is a root with a credential.
type access struct {
	kind.Redacted
	kind       Kind
	settings   Settings
	credential Credential
}

func (a access) options() provider.Options {
	return provider.Options{
		Bucket: a.settings.Bucket, Region: a.settings.Region, Endpoint: a.settings.Endpoint, PathStyle: a.settings.PathStyle,
		Credential: a.credential.provided(), Machine: a.kind.Machine, Dial: a.kind.Egress.DialContext, Limits: a.kind.Limits,
	}
}

// provided returns the credential as the provider knows it.
func (c Credential) provided() provider.Credential {
	return provider.Credential{
		AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, RoleARN: c.RoleARN, Ambient: c.Ambient(),
	}
}

// Check implements kind.Access.
func (a access) Check(ctx context.Context) error {
	if err := a.credential.AmbientCredential.Check(); err != nil {
		return err
	}
	if err := a.options().Check(); err != nil {
		return kind.RefuseOption(err, field)
	}
	return kind.CheckURL(ctx, a.kind.Egress, "endpoint", a.settings.Endpoint)
}

// field returns the field of a request for an option of the provider.
func field(option string) string {
	switch option {
	case "access_key_id":
		return "accessKeyId"
	case "secret_access_key":
		return "secretAccessKey"
	case "role_arn":
		return "roleArn"
	}
	return option
}

// Record implements kind.Access.
func (a access) Record() (kind.Record, error) {
	at, err := location(a.settings)
	if err != nil {
		return kind.Record{}, err
	}
	settings, err := json.Marshal(a.settings)
	r := kind.Record{Settings: settings, Location: at, Container: "bucket", Mode: a.credential.mode()}
	if a.credential.Ambient() {
		root := "s3://" + path.Join(a.settings.Bucket, a.settings.Prefix)
		r.Ambient = &kind.AmbientUse{Field: "credential", Root: root, Endpoint: a.settings.Endpoint}
	}
	return r, err
}

// mode returns the kind of credential.
func (c Credential) mode() string {
	switch {
	case c.Ambient():
		return "ambient"
	case c.RoleARN != "":
		return "assume_role"
	case c.SessionToken != "":
		return "session_token"
	}
	return "access_key"
}

// Secret implements kind.Access.
func (a access) Secret() (kind.Secret, error) { return json.Marshal(a.credential) }

// Open implements kind.Access.
func (a access) Open() (objstore.Bucket, io.Closer, error) {
	bucket, err := provider.New(a.options())
	if err != nil {
		return nil, nil, err
	}
	return objstore.Prefix(bucket, a.settings.Prefix), bucket, nil
}
