package admin

import (
	"context"
	"maps"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// Organisations reads and configures the caller's organisation.
type Organisations struct{ Store catalog.Store }

// Get returns the organisation to its members; to others it does not exist.
func (o Organisations) Get(ctx context.Context, id catalog.OrgID) (catalog.Organisation, error) {
	if _, err := caller.In(ctx, id); err != nil {
		return catalog.Organisation{}, err
	}
	return o.Store.Organisation(ctx, id)
}

// ConfigPatch holds the settings to change; nil ones stay as they are.
type ConfigPatch struct {
	// Features are switches by key.
	Features map[string]bool
	// SetConstraints says that TableConstraints is to be stored, nil included.
	SetConstraints   bool
	TableConstraints *catalog.TableConstraints
}

// PatchConfig changes settings. Two callers that change different settings at
// once both succeed.
func (o Organisations) PatchConfig(ctx context.Context, id catalog.OrgID, patch ConfigPatch) (catalog.Organisation, error) {
	if _, err := caller.In(ctx, id); err != nil {
		return catalog.Organisation{}, err
	}
	return retryConflict(func() (catalog.Organisation, error) {
		org, err := o.Store.Organisation(ctx, id)
		if err != nil {
			return org, err
		}
		config := org.Config
		if len(patch.Features) > 0 {
			config.Features = maps.Clone(config.Features)
			if config.Features == nil {
				config.Features = map[string]bool{}
			}
			maps.Copy(config.Features, patch.Features)
		}
		if patch.SetConstraints {
			config.TableConstraints = patch.TableConstraints
		}
		return o.Store.UpdateOrganisation(ctx, id, org.Version, catalog.OrganisationChange{Config: &config})
	})
}
