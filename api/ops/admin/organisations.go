package admin

import (
	"context"
	"maps"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Organisations reads and configures the caller's organisation.
type Organisations struct {
	Store catalog.Store
	// SandboxRoot is the directory that contains those of the sandboxes; empty means that
	// there are none.
	SandboxRoot string
}

// Get returns the organisation to its members. Others get catalog.ErrNotFound.
func (o Organisations) Get(ctx context.Context, id catalog.OrgID) (catalog.Organisation, error) {
	if _, err := caller.In(ctx, id); err != nil {
		return catalog.Organisation{}, err
	}
	return o.Store.Organisation(ctx, id)
}

// Rename changes the name of the organisation.
func (o Organisations) Rename(ctx context.Context, id catalog.OrgID, name string) (catalog.Organisation, error) {
	if _, err := caller.In(ctx, id); err != nil {
		return catalog.Organisation{}, err
	}
	return o.Store.UpdateOrganisation(ctx, id, catalog.AnyVersion, catalog.OrganisationChange{Name: &name})
}

// ConfigPatch holds the settings to change; nil leaves a setting unchanged.
type ConfigPatch struct {
	// Features maps the keys of switches to their values.
	Features map[string]bool
	// SetConstraints reports whether TableConstraints is to be stored, even if it is nil.
	SetConstraints   bool
	TableConstraints *catalog.TableConstraints
	// Clients is empty for an unchanged setting.
	Clients catalog.ClientPolicy
}

// PatchConfig changes settings. Concurrent changes of different settings all succeed.
func (o Organisations) PatchConfig(ctx context.Context, id catalog.OrgID, patch ConfigPatch) (catalog.Organisation, error) {
	a, err := caller.In(ctx, id)
	if err != nil {
		return catalog.Organisation{}, err
	}
	if patch.Features[catalog.FeatureSandbox] {
		if err := a.Require(auth.ScopeOrgUpdate); err != nil {
			return catalog.Organisation{}, err
		}
		if err := o.ensureSandbox(ctx, id); err != nil {
			return catalog.Organisation{}, err
		}
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
		if patch.Clients != "" {
			config.Clients = patch.Clients
		}
		return o.Store.UpdateOrganisation(ctx, id, org.Version, catalog.OrganisationChange{Config: &config})
	})
}
