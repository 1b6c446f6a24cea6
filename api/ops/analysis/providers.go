package analysis

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// Keyring encrypts secrets for the catalog: a [secret.Keyring].
type Keyring interface {
	Seal(b secret.Binding, plain []byte) ([]byte, error)
	Open(b secret.Binding, sealed []byte) ([]byte, error)
}

// Providers manages an organisation's access to the models that word analyses.
type Providers struct {
	Store catalog.AnalysisProviders
	Keys  Keyring
	// CheckURL checks that the server may connect to an address that a field of a request
	// names.
	CheckURL func(ctx context.Context, field, address string) error
	// Operator is the operator's access to families. It serves organisations without a key
	// of their own. An entry without a key sets the base URL for keys of organisations.
	Operator map[catalog.ModelFamily]Access
	// Models returns all models. Their member Available has no meaning.
	Models func() []Model
}

// Access is what a call of the models of a family needs.
type Access struct {
	Key string
	// BaseURL is the address of the API; empty means that of the vendor.
	BaseURL string
	// Confined reports that an organisation has chosen the base URL: connections to it need
	// the check of addresses that users supply.
	Confined bool
}

// Model is a model that callers can choose.
type Model struct {
	ID          string
	Family      catalog.ModelFamily
	Description string
	// Default reports that the model is the default of its family.
	Default bool
	// Available reports that the organisation or the operator has a key of the family.
	Available bool
}

// NewProvider is the input of [Providers.Put].
type NewProvider struct {
	Family string
	// Key replaces the stored key. It is required with every change: a new base URL would
	// otherwise receive a key that its author does not know.
	Key string
	// BaseURL is empty for the address that the operator has set, or that of the vendor.
	BaseURL string
}

// maxKey bounds a key of a vendor, in bytes.
const maxKey = 4096

// Put stores the access to a family or replaces it. It needs org:update.
func (o Providers) Put(ctx context.Context, org catalog.OrgID, in NewProvider) (catalog.AnalysisProvider, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	if !slices.Contains(catalog.ModelFamilies(), catalog.ModelFamily(in.Family)) {
		return catalog.AnalysisProvider{}, catalog.ErrNotFound
	}
	// This checks the scope before the address is resolved.
	if _, err := o.Get(ctx, org, in.Family); err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return catalog.AnalysisProvider{}, err
	}
	if in.Key == "" || len(in.Key) > maxKey || strings.ContainsFunc(in.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return catalog.AnalysisProvider{}, fault.Invalid("key", "must have 1 to %d visible ASCII characters", maxKey)
	}
	n := catalog.NewAnalysisProvider{Org: org, Family: catalog.ModelFamily(in.Family), BaseURL: in.BaseURL}
	var err error
	if n.SealedKey, err = o.Keys.Seal(keyBinding(org, n.Family), []byte(in.Key)); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	if err := n.Validate(); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	if n.BaseURL != "" {
		if err := o.CheckURL(ctx, "baseUrl", n.BaseURL); err != nil {
			return catalog.AnalysisProvider{}, err
		}
	}
	return o.Store.PutAnalysisProvider(ctx, n)
}

// Get returns the access to a family. It needs org:update.
func (o Providers) Get(ctx context.Context, org catalog.OrgID, family string) (catalog.AnalysisProvider, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	return o.Store.AnalysisProvider(ctx, org, catalog.ModelFamily(family))
}

// List returns the organisation's access to all families. It needs org:update.
func (o Providers) List(ctx context.Context, org catalog.OrgID) ([]catalog.AnalysisProvider, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return nil, err
	}
	return o.Store.AnalysisProviders(ctx, org)
}

// Delete removes the access to a family. It needs org:update.
func (o Providers) Delete(ctx context.Context, org catalog.OrgID, family string) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return o.Store.DeleteAnalysisProvider(ctx, org, catalog.ModelFamily(family))
}

// ListModels returns all models with their availability to the caller's organisation. It
// needs no scope.
func (o Providers) ListModels(ctx context.Context) ([]Model, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := o.Store.AnalysisProviders(authz.System(ctx, "available models"), a.Org)
	if err != nil {
		return nil, err
	}
	models := slices.Clone(o.Models())
	for i, m := range models {
		models[i].Available = o.Operator[m.Family].Key != "" ||
			slices.ContainsFunc(stored, func(p catalog.AnalysisProvider) bool { return p.Family == m.Family })
	}
	return models, nil
}

// Access returns what calls for an organisation use, for the server itself: the
// organisation's own key, else that of the operator. It returns [catalog.ErrNotFound] if
// neither exists.
func (o Providers) Access(ctx context.Context, org catalog.OrgID, family catalog.ModelFamily) (Access, error) {
	operator := o.Operator[family]
	stored, sealed, err := o.Store.AnalysisProviderKey(authz.System(ctx, "call of a model"), org, family)
	if errors.Is(err, catalog.ErrNotFound) && operator.Key != "" {
		return operator, nil
	}
	if err != nil {
		return Access{}, err
	}
	plain, err := o.Keys.Open(keyBinding(org, family), sealed)
	if err != nil {
		return Access{}, err
	}
	if stored.BaseURL != "" {
		return Access{Key: string(plain), BaseURL: stored.BaseURL, Confined: true}, nil
	}
	return Access{Key: string(plain), BaseURL: operator.BaseURL, Confined: operator.Confined}, nil
}

// keyBinding binds the key of a vendor to the organisation and the family.
func keyBinding(org catalog.OrgID, family catalog.ModelFamily) secret.Binding {
	return secret.Binding{Kind: catalog.SealedAnalysisKey, Org: org, Subject: string(family)}
}
