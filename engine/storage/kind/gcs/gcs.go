package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
	provider "github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Kind is the kind gcs.
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
	// Endpoint is the URL of the store; empty means Google's.
	Endpoint string `json:"endpoint,omitempty"`
}

// Credential is the secret part of a configuration.
type Credential struct {
	// ServiceAccountKey is the JSON key file of a service account.
	ServiceAccountKey string `json:"serviceAccountKey,omitempty"`
	kind.AmbientCredential
}

// String returns a text without secrets, for logs and errors.
func (c Credential) String() string { return "gcs.Credential(redacted)" }

// GoString returns the same text as String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Name implements kind.Kind.
func (Kind) Name() string { return "gcs" }

// Flags implements kind.Kind.
func (Kind) Flags() []string { return nil }

// New implements kind.Kind.
func (k Kind) New(fields kind.Secret) (kind.Access, error) {
	a := access{kind: k}
	err := kind.DecodeStrict(k.Name(), fields, &a.settings, &a.credential)
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
	// tokens replaces the credential; nil if there is one.
	tokens func(context.Context) (remote.Token, error)
}

// WithTokens returns a root that is opened with the access tokens of somebody else. It has no
// credential.
func (k Kind) WithTokens(settings Settings, tokens func(context.Context) (remote.Token, error)) kind.Access {
	return access{kind: k, settings: settings, tokens: tokens}
}

func (a access) options() provider.Options {
	return provider.Options{
		Bucket: a.settings.Bucket, Endpoint: a.settings.Endpoint, Credential: a.provided(),
		Machine: a.kind.Machine, Dial: a.kind.Egress.DialContext, Limits: a.kind.Limits,
	}
}

// provided returns the credential as the provider knows it.
func (a access) provided() provider.Credential {
	if a.tokens != nil {
		return provider.Credential{Tokens: a.tokens}
	}
	return provider.Credential{ServiceAccountKey: a.credential.ServiceAccountKey, Ambient: a.credential.Ambient()}
}

// Check implements kind.Access.
func (a access) Check(ctx context.Context) error {
	if err := a.credential.AmbientCredential.Check(); err != nil {
		return err
	}
	if err := a.options().Check(); err != nil {
		return kind.RefuseOption(err, field)
	}
	if err := kind.CheckURL(ctx, a.kind.Egress, "endpoint", a.settings.Endpoint); err != nil {
		return err
	}
	return kind.CheckURL(ctx, a.kind.Egress, "serviceAccountKey.token_uri", a.provided().TokenURI())
}

// field returns the field of a request for an option of the provider.
func field(option string) string {
	if option == "service_account_key" {
		return "serviceAccountKey"
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
	r := kind.Record{Settings: settings, Location: at, Container: "bucket", Mode: "service_account_key"}
	if a.credential.Ambient() {
		r.Mode = "ambient"
		root := "gs://" + path.Join(a.settings.Bucket, a.settings.Prefix)
		r.Ambient = &kind.AmbientUse{Field: "credential", Root: root, Endpoint: a.settings.Endpoint}
	}
	return r, err
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
