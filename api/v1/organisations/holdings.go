package organisations

import (
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

type deleteSelfInput struct {
	DryRun bool `query:"dry_run" doc:"Name what would end, and change nothing"`
}

// holdings is what a person has in all organisations. Each list has at most 1,000 items.
type holdings struct {
	DryRun             bool               `json:"dry_run"`
	OwnedOrganisations []listed           `json:"ownedOrganisations" doc:"One that is not deleted prevents the deletion of the account"`
	Organisations      []selfOrganisation `json:"organisations" doc:"Those that the person is a member of"`
	StorageConfigs     []heldConfig       `json:"storageConfigs" doc:"Personal ones, also of former memberships"`
	APIKeys            []heldKey          `json:"apiKeys"`
}

type heldConfig struct {
	ID             string `json:"configId" format:"uuid"`
	Name           string `json:"configName"`
	OrganisationID string `json:"organisationId" format:"uuid"`
}

type heldKey struct {
	ID             string `json:"id" format:"uuid"`
	Name           string `json:"name"`
	OrganisationID string `json:"organisationId" format:"uuid"`
}

func holdingsOf(h catalog.Holdings, dryRun bool) holdings {
	return holdings{
		DryRun: dryRun, OwnedOrganisations: v1.Map(h.Owned, listedOf), Organisations: v1.Map(h.Memberships, selfOrganisationOf),
		StorageConfigs: v1.Map(h.Configs, func(c catalog.HeldConfig) heldConfig {
			return heldConfig{ID: string(c.ID), Name: c.Name, OrganisationID: string(c.Org)}
		}),
		APIKeys: v1.Map(h.Keys, func(k catalog.HeldKey) heldKey {
			return heldKey{ID: string(k.ID), Name: k.Name, OrganisationID: string(k.Org)}
		}),
	}
}
