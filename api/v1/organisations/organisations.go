package organisations

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type organisation struct {
	ID        string             `json:"id" format:"uuid"`
	Name      string             `json:"name"`
	Owner     string             `json:"owner" format:"uuid"`
	Config    organisationConfig `json:"config"`
	UserCount int                `json:"userCount"`
	CreatedAt *string            `json:"createdAt"`
	UpdatedAt *string            `json:"updatedAt"`
	DeletedAt *string            `json:"deletedAt"`
}

type organisationConfig struct {
	TableConstraints v1.Nullable[tableConstraints] `json:"table_constraints"`
	Features         []feature                     `json:"features"`
	Clients          catalog.ClientPolicy          `json:"clients" enum:"own,open" doc:"Which OAuth clients may act here: the organisation's own, or also those that registered themselves"`
}

type tableConstraints struct {
	RequirePrimaryKey bool   `json:"require_primary_key,omitempty"`
	NamePattern       string `json:"name_pattern,omitempty" maxLength:"1000" doc:"Regular expression (RE2) for the whole name"`
	MaxColumns        int    `json:"max_columns,omitempty" minimum:"0" maximum:"10000"`
}

type feature struct {
	Key            string `json:"key"`
	Enabled        bool   `json:"enabled"`
	Phase          string `json:"phase" enum:"alpha,beta,ga"`
	DefaultEnabled bool   `json:"default_enabled"`
}

func organisationOf(o catalog.Organisation) organisation {
	out := organisation{
		ID: string(o.ID), Name: o.Name, Owner: string(o.Owner), UserCount: o.UserCount,
		CreatedAt: v1.Timestamp(o.CreatedAt), UpdatedAt: v1.Timestamp(o.UpdatedAt), DeletedAt: v1.Timestamp(o.DeletedAt),
	}
	if t := o.Config.TableConstraints; t != nil {
		out.Config.TableConstraints.Value = &tableConstraints{t.RequirePrimaryKey, t.NamePattern, t.MaxColumns}
	}
	out.Config.Clients = o.Config.ClientPolicy()
	out.Config.Features = v1.Map(o.Config.FeatureList(), func(f catalog.Feature) feature { return feature(f) })
	return out
}

// OrganisationPath holds the path parameter of an organisation.
type OrganisationPath struct {
	OrganisationID string `path:"organisation_id" format:"uuid"`
}

type patchOrganisationInput struct {
	OrganisationPath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type patchConfigInput struct {
	OrganisationPath
	Body struct {
		SandboxEnabled *bool `json:"sandbox_enabled,omitempty" doc:"Short form of the feature sandbox"`
		Features       []struct {
			Key     string `json:"key" maxLength:"64"`
			Enabled bool   `json:"enabled"`
		} `json:"features,omitempty" maxItems:"32"`
		TableConstraints v1.Optional[tableConstraints] `json:"table_constraints,omitempty" doc:"null removes them"`
		Clients          catalog.ClientPolicy          `json:"clients,omitempty" enum:"own,open" doc:"own also ends the tokens of clients that registered themselves"`
	}
}

// Routes registers the routes of organisations.
func Routes(api huma.API, orgs admin.Organisations) {
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/organisations/{organisation_id}", ID: "getOrganisation", Tag: "Organisations",
		Scope: auth.ScopeOrgRead, Camel: true, Summary: "Get an organisation"},
		func(ctx context.Context, in *OrganisationPath) (organisation, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return organisation{}, err
			}
			org, err := orgs.Get(ctx, id)
			return organisationOf(org), err
		})
	v1.Add(api, v1.Route{Method: "PATCH", Path: "/v1/organisations/{organisation_id}", ID: "updateOrganisation", Tag: "Organisations",
		Scope: auth.ScopeOrgUpdate, Camel: true, Summary: "Rename an organisation"},
		func(ctx context.Context, in *patchOrganisationInput) (organisation, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return organisation{}, err
			}
			org, err := orgs.Rename(ctx, id, in.Body.Name)
			return organisationOf(org), err
		})
	v1.Add(api, v1.Route{Method: "PATCH", Path: "/v1/organisations/{organisation_id}/config", ID: "updateOrganisationConfig",
		Tag:   "Organisations",
		Scope: auth.ScopeOrgUpdate, Camel: true, Summary: "Update an organisation's configuration",
		Description: "Only the settings that are sent change."},
		func(ctx context.Context, in *patchConfigInput) (organisation, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return organisation{}, err
			}
			patch, err := in.patch()
			if err != nil {
				return organisation{}, err
			}
			org, err := orgs.PatchConfig(ctx, id, patch)
			return organisationOf(org), err
		})
}

func (in *patchConfigInput) patch() (admin.ConfigPatch, error) {
	patch := admin.ConfigPatch{Features: map[string]bool{}, SetConstraints: in.Body.TableConstraints.Sent, Clients: in.Body.Clients}
	if in.Body.SandboxEnabled != nil {
		patch.Features[catalog.FeatureSandbox] = *in.Body.SandboxEnabled
	}
	for i, f := range in.Body.Features {
		if prior, sent := patch.Features[f.Key]; sent && prior != f.Enabled {
			return patch, v1.FieldError("features["+strconv.Itoa(i)+"].key", "is set to two different values")
		}
		patch.Features[f.Key] = f.Enabled
	}
	if c := in.Body.TableConstraints; c.Sent && !c.Null {
		patch.TableConstraints = &catalog.TableConstraints{
			RequirePrimaryKey: c.Value.RequirePrimaryKey, NamePattern: c.Value.NamePattern, MaxColumns: c.Value.MaxColumns,
		}
	}
	return patch, nil
}
