package feature

import (
	"context"
	"iter"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Organisations reads organisations with their configurations.
type Organisations interface {
	Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error)
}

// DisabledError is returned for a feature that is switched off: 403 feature_disabled. An
// administrator of the organisation can switch it on.
type DisabledError struct {
	// Key is the key of the feature.
	Key string
}

// Error implements error.
func (e *DisabledError) Error() string { return "feature " + e.Key + " is switched off" }

// ProblemCode names the line in the table of errors.
func (e *DisabledError) ProblemCode() string { return "feature_disabled" }

// FieldProblems yields the feature.
func (e *DisabledError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("feature", e.Key+" is switched off") }
}

// Require returns nil if an organisation has a feature switched on, a [*DisabledError] if
// it does not, and otherwise an error of orgs. It may be called for every caller: the
// configuration is read by the server itself.
func Require(ctx context.Context, orgs Organisations, org catalog.OrgID, key string) error {
	o, err := orgs.Organisation(authz.System(ctx, "features"), org)
	switch {
	case err != nil:
		return err
	case !o.Config.Enabled(key):
		return &DisabledError{Key: key}
	}
	return nil
}
