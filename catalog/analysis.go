package catalog

import (
	"context"
	"net/url"
	"slices"
	"time"
)

// ModelFamily is a family of the models that word analyses. One vendor serves all of its
// models.
type ModelFamily string

// The families of models.
const (
	FamilyA ModelFamily = "familyA"
	FamilyB ModelFamily = "familyB"
	FamilyC ModelFamily = "familyC"
)

// ModelFamilies returns all families in a fixed order.
func ModelFamilies() []ModelFamily { return []ModelFamily{FamilyA, FamilyB, FamilyC} }

// AnalysisProvider is an organisation's access to the models of a family. Its key is not
// part of the record.
type AnalysisProvider struct {
	Org    OrgID
	Family ModelFamily
	// BaseURL is the address of the vendor's API; empty means that of the operator.
	BaseURL   string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewAnalysisProvider is the input of [AnalysisProviders.PutAnalysisProvider].
type NewAnalysisProvider struct {
	Org     OrgID
	Family  ModelFamily
	BaseURL string
	// SealedKey is the key of the vendor's API, encrypted by the caller.
	SealedKey []byte
}

// Validate returns nil or [FieldErrors].
func (n NewAnalysisProvider) Validate() error {
	var e FieldErrors
	if !slices.Contains(ModelFamilies(), n.Family) {
		e.add("family", "must be one of familyA, familyB, familyC")
	}
	e.baseURL("base_url", n.BaseURL)
	e.sealed(n.SealedKey)
	return e.Err()
}

// maxBaseURL bounds a base URL, in bytes.
const maxBaseURL = 2048

// baseURL checks an address to which paths are appended; an empty one is allowed. User
// information would be a secret outside the sealed key.
func (e *FieldErrors) baseURL(field, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > maxBaseURL || !storableText(text):
		e.add(field, "must be text of at most %d bytes", maxBaseURL)
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		e.add(field, "must be a URL of https")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		e.add(field, "must have no user, query or fragment")
	}
}

// Analyses is composed of the interfaces of the records about analyses.
type Analyses interface {
	AnalysisProviders
	AnalysisUses
}

// AnalysisProviders stores organisations' access to families of models.
type AnalysisProviders interface {
	// PutAnalysisProvider stores the access to a family or replaces it, with key and base
	// URL.
	PutAnalysisProvider(ctx context.Context, provider NewAnalysisProvider) (AnalysisProvider, error)
	// AnalysisProvider returns the access to a family.
	AnalysisProvider(ctx context.Context, org OrgID, family ModelFamily) (AnalysisProvider, error)
	// AnalysisProviders returns the providers of an organisation, ordered by family.
	AnalysisProviders(ctx context.Context, org OrgID) ([]AnalysisProvider, error)
	// DeleteAnalysisProvider removes the access to a family.
	DeleteAnalysisProvider(ctx context.Context, org OrgID, family ModelFamily) error
	// AnalysisProviderKey returns a provider with its sealed key, for the server itself.
	AnalysisProviderKey(ctx context.Context, org OrgID, family ModelFamily) (AnalysisProvider, []byte, error)
}
