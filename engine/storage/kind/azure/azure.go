package azure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
	provider "github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Kind is the kind azure.
type Kind struct {
	// Egress decides which endpoints may be reached.
	Egress storage.Egress
	// Identity has the hosts that issue tokens, also those of the server's own identity.
	Identity provider.Identity
	Limits   provider.Limits
}

var _ kind.Kind = Kind{}

// Settings are the settings of a configuration, stored in clear.
type Settings struct {
	Account   string `json:"account"`
	Container string `json:"container"`
	// Prefix is the folder that is the root; empty means the whole container.
	Prefix string `json:"prefix,omitempty"`
	// Endpoint is the URL of the account's blob service; empty means Azure's. Its path is
	// empty, or the account as emulators need it.
	Endpoint string `json:"endpoint,omitempty"`
}

// Name implements kind.Kind.
func (Kind) Name() string { return "azure" }

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
	credential := a.credential.provided()
	if a.tokens != nil {
		credential = provider.Credential{Tokens: a.tokens}
	}
	return provider.Options{
		Account: a.settings.Account, Container: a.settings.Container, Endpoint: a.settings.Endpoint, Credential: credential,
		Identity: a.kind.Identity, Dial: a.kind.Egress.DialContext, Limits: a.kind.Limits,
	}
}

// Check implements kind.Access.
func (a access) Check(ctx context.Context) error {
	if a.tokens == nil {
		if err := a.credential.check(time.Now()); err != nil {
			return err
		}
	}
	if err := a.options().Check(); err != nil {
		return kind.RefuseOption(err, a.credential.field)
	}
	return kind.CheckURL(ctx, a.kind.Egress, "endpoint", a.settings.Endpoint)
}

// Record implements kind.Access.
func (a access) Record() (kind.Record, error) {
	at, err := location(a.settings)
	if err != nil {
		return kind.Record{}, err
	}
	settings, err := json.Marshal(a.settings)
	if err != nil {
		return kind.Record{}, err
	}
	r := kind.Record{Settings: settings, Location: at, Container: "container", ExpiresAt: a.credential.expiry()}
	if set, _ := a.credential.modes(); len(set) == 1 {
		r.Mode = set[0].name
		if a.credential.Ambient() || a.credential.ManagedIdentity != nil {
			root := "az://" + path.Join(a.settings.Account, a.settings.Container, a.settings.Prefix)
			r.Ambient = &kind.AmbientUse{Field: set[0].field, Root: root, Endpoint: a.settings.Endpoint}
		}
	}
	return r, nil
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
