package delegated

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/azure"
	"github.com/lakewarden/lakewarden/engine/storage/kind/gcs"
)

// The providers whose stores the kind opens.
const (
	Google    = "provider_one"
	Microsoft = "provider_three"
)

// tokenLife is how long a token is used without asking whether the owner's link still
// exists.
const tokenLife = time.Second

// Kind is the kind delegated.
type Kind struct {
	// Tokens returns an access token of an owner at a provider.
	Tokens func(ctx context.Context, owner kind.Owner, provider string) (string, error)
	// Google and Microsoft are the kinds of the providers' stores.
	Google    gcs.Kind
	Microsoft azure.Kind
	// Stores are URLs of stores other than the public ones, by provider. {account} stands
	// for the account.
	Stores map[string]string

	owner kind.Owner
}

var _ kind.Owned = Kind{}

// Settings are the settings of a configuration, stored in clear.
type Settings struct {
	Provider string `json:"provider"`
	// Bucket is for Google, Account and Container are for Microsoft.
	Bucket    string `json:"bucket,omitempty"`
	Account   string `json:"account,omitempty"`
	Container string `json:"container,omitempty"`
	// Prefix is the folder that is the root; empty means the whole bucket.
	Prefix string `json:"prefix,omitempty"`
}

// Name implements kind.Kind.
func (Kind) Name() string { return "delegated" }

// Flags implements kind.Kind.
func (Kind) Flags() []string { return nil }

// OwnedBy implements kind.Owned.
func (k Kind) OwnedBy(owner kind.Owner) kind.Kind {
	k.owner = owner
	return k
}

// New implements kind.Kind.
func (k Kind) New(fields kind.Secret) (kind.Access, error) {
	var s Settings
	if err := kind.DecodeStrict(k.Name(), fields, &s); err != nil {
		return nil, err
	}
	s.Prefix = strings.Trim(s.Prefix, "/")
	return k.open(s)
}

// Access implements kind.Kind. There is no credential.
func (k Kind) Access(settings json.RawMessage, _ kind.Secret) (kind.Access, error) {
	var s Settings
	if err := kind.Decode(settings, &s); err != nil {
		return nil, err
	}
	return k.open(s)
}

// open returns the root at the provider's store.
func (k Kind) open(s Settings) (kind.Access, error) {
	endpoint := strings.ReplaceAll(k.Stores[s.Provider], "{account}", s.Account)
	tokens := func(ctx context.Context) (remote.Token, error) {
		value, err := k.Tokens(ctx, k.owner, s.Provider)
		return remote.Token{Value: value, Lifetime: tokenLife}, err
	}
	a := access{settings: s, tokens: tokens}
	switch s.Provider {
	case Google:
		if s.Account+s.Container != "" {
			return nil, kind.FieldErrors{
				{Field: "account", Message: "is for provider_three"}, {Field: "container", Message: "is for provider_three"},
			}
		}
		a.Access = k.Google.WithTokens(gcs.Settings{Bucket: s.Bucket, Prefix: s.Prefix, Endpoint: endpoint}, tokens)
	case Microsoft:
		if s.Bucket != "" {
			return nil, kind.Refuse("bucket", "is for provider_one")
		}
		a.Access = k.Microsoft.WithTokens(
			azure.Settings{Account: s.Account, Container: s.Container, Prefix: s.Prefix, Endpoint: endpoint}, tokens)
	default:
		return nil, kind.Refuse("provider", "must be a provider with storage: provider_one or provider_three")
	}
	return a, nil
}

// access is a root with the tokens of its owner.
type access struct {
	kind.Redacted
	kind.Access
	settings Settings
	tokens   func(context.Context) (remote.Token, error)
}

// Check implements kind.Access. It fails if the owner has no link.
func (a access) Check(ctx context.Context) error {
	if err := a.Access.Check(ctx); err != nil {
		return err
	}
	_, err := a.tokens(ctx)
	return err
}

// Record implements kind.Access.
func (a access) Record() (kind.Record, error) {
	r, err := a.Access.Record()
	if err != nil {
		return r, err
	}
	r.Mode = "delegated"
	r.Settings, err = json.Marshal(a.settings)
	return r, err
}

// Secret implements kind.Access. There is none.
func (access) Secret() (kind.Secret, error) { return nil, nil }
