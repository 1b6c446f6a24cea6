package catalog

import (
	"regexp"
	"time"
)

// Organisation is the tenant. Users, workspaces, policies and data of one organisation
// are invisible to all others.
type Organisation struct {
	ID        OrgID
	Name      string
	Owner     UserID
	Config    OrganisationConfig
	UserCount int
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// DeletedAt is zero for an organisation that is not deleted.
	DeletedAt time.Time
}

// MaxOwnedOrganisations is how many organisations a person can own, created or received.
// More would give one person more than a fair share of a server, which shares by
// organisation.
const MaxOwnedOrganisations = 20

// OrganisationRetention is how long a deleted organisation can be restored.
const OrganisationRetention = 30 * 24 * time.Hour

// UserOrganisation is an organisation with the role of one of its members.
type UserOrganisation struct {
	ID    OrgID
	Name  string
	Owner UserID
	Role  Role
	// SSORequired reports that the organisation has a provider and a verified domain, so that
	// members sign in there.
	SSORequired bool
	CreatedAt   time.Time
	// DeletedAt is zero for an organisation that is not deleted.
	DeletedAt time.Time
}

// NewOrganisation is the input of [Organisations.CreateOrganisation]. An empty
// ID lets the store choose one.
type NewOrganisation struct {
	ID     OrgID
	Name   string
	Owner  UserID
	Config OrganisationConfig
	// MaxOwned is how many organisations the owner may have with the new one, deleted
	// ones included; 0 means any number.
	MaxOwned int
}

// Validate returns nil or [FieldErrors].
func (n NewOrganisation) Validate() error {
	var e FieldErrors
	e.text("name", n.Name, 1, 200)
	if n.Owner == "" {
		e.add("owner", "must not be empty")
	}
	n.Config.check(&e)
	return e.Err()
}

// OrganisationChange holds the fields to change; nil fields keep their value.
type OrganisationChange struct {
	Name *string
	// Owner must be an administrator of the organisation, and a person.
	Owner  *UserID
	Config *OrganisationConfig
	// MaxOwned is how many organisations a new owner may have with this one, deleted ones
	// included; 0 means any number.
	MaxOwned int
}

// Validate returns nil or [FieldErrors].
func (c OrganisationChange) Validate() error {
	var e FieldErrors
	if c.Name != nil {
		e.text("name", *c.Name, 1, 200)
	}
	if c.Owner != nil && *c.Owner == "" {
		e.add("owner", "must not be empty")
	}
	if c.Config != nil {
		c.Config.check(&e)
	}
	return e.Err()
}

// OrganisationConfig holds the settings that an administrator chose for the
// organisation.
type OrganisationConfig struct {
	// TableConstraints are rules for new tables; nil means none.
	TableConstraints *TableConstraints `json:"table_constraints"`
	// Features holds the switches that were set. The others have their default; see
	// [OrganisationConfig.FeatureList].
	Features map[string]bool `json:"features,omitempty"`
	// Clients is empty for the default; see [OrganisationConfig.ClientPolicy].
	Clients ClientPolicy `json:"clients,omitempty"`
}

// TableConstraints are rules that every created table must obey.
type TableConstraints struct {
	RequirePrimaryKey bool `json:"require_primary_key"`
	// NamePattern is a regular expression (RE2) for the whole table name;
	// empty means any name.
	NamePattern string `json:"name_pattern,omitempty"`
	// MaxColumns is the largest number of columns; 0 means no limit.
	MaxColumns int `json:"max_columns,omitempty"`
}

// Feature is one switch as a client sees it.
type Feature struct {
	Key     string
	Enabled bool
	// Phase is "beta" or "ga".
	Phase string
	// DefaultEnabled is the state of a switch that was not set.
	DefaultEnabled bool
}

// The keys of the features.
const (
	FeatureSandbox  = "sandbox"
	FeatureAnalysis = "analysis"
	// FeatureAnalysisModels allows values of rows to be sent to providers of models.
	FeatureAnalysisModels         = "analysis_models"
	FeatureSharing                = "sharing"
	FeatureDelegatedStorage       = "delegated_storage"
	FeatureRowFilterBarrierAlways = "row_filter_barrier_always"
)

func features() []Feature {
	return []Feature{
		{Key: FeatureSandbox, Phase: "beta"},
		{Key: FeatureAnalysis, Phase: "beta", DefaultEnabled: true},
		{Key: FeatureAnalysisModels, Phase: "beta"},
		{Key: FeatureSharing, Phase: "ga", DefaultEnabled: true},
		{Key: FeatureDelegatedStorage, Phase: "beta", DefaultEnabled: true},
		{Key: FeatureRowFilterBarrierAlways, Phase: "ga"},
	}
}

// FeatureList returns every feature with its state, in a fixed order.
func (c OrganisationConfig) FeatureList() []Feature {
	list := features()
	for i := range list {
		list[i].Enabled = list[i].DefaultEnabled
		if set, ok := c.Features[list[i].Key]; ok {
			list[i].Enabled = set
		}
	}
	return list
}

// Enabled reports whether a feature is on. An unknown feature is off.
func (c OrganisationConfig) Enabled(key string) bool {
	for _, f := range c.FeatureList() {
		if f.Key == key {
			return f.Enabled
		}
	}
	return false
}

func (c OrganisationConfig) check(e *FieldErrors) {
	known := map[string]bool{}
	for _, f := range features() {
		known[f.Key] = true
	}
	for key := range c.Features {
		if !known[key] {
			e.add("features", "has an unknown key")
			break
		}
	}
	if c.Clients != "" && !c.Clients.Valid() {
		e.add("clients", "must be own or open")
	}
	t := c.TableConstraints
	if t == nil {
		return
	}
	if len(t.NamePattern) > 1000 {
		e.add("table_constraints.name_pattern", "must have at most 1000 bytes")
	} else if _, err := regexp.Compile(t.NamePattern); err != nil {
		e.add("table_constraints.name_pattern", "must be a regular expression")
	}
	if t.MaxColumns < 0 || t.MaxColumns > 10_000 {
		e.add("table_constraints.max_columns", "must be between 0 and 10000")
	}
}
