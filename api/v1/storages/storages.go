package storages

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/problem"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type storageConfig struct {
	ConfigID            string          `json:"configId" format:"uuid"`
	ConfigName          string          `json:"configName"`
	Kind                string          `json:"kind" enum:"local,s3,gcs,azure,delegated"`
	Schema              string          `json:"schema" doc:"SQL schema of its tables"`
	Slug                string          `json:"slug" doc:"Short schema name, where it is unambiguous"`
	WorkspaceID         *string         `json:"workspaceId" doc:"null for a personal configuration"`
	OwnerUserID         string          `json:"ownerUserId" format:"uuid"`
	Settings            json.RawMessage `json:"settings" doc:"What was configured, without secrets; the root of local storage is shown only to its owner and to holders of storage:configure"`
	AuthMode            *string         `json:"authMode"`
	CredentialExpiresAt *string         `json:"credentialExpiresAt"`
	DiscoveredAt        *string         `json:"discoveredAt"`
	CreatedAt           *string         `json:"createdAt"`
	UpdatedAt           *string         `json:"updatedAt"`
}

// settingsFor returns the settings of a configuration. It omits the directory of local
// storage for callers who may only use the configuration.
func settingsFor(ctx context.Context, c catalog.StorageConfig) json.RawMessage {
	p, err := auth.PrincipalFrom(ctx)
	if err == nil && (p.Scopes.Has(auth.ScopeStorageConfigure) || p.UserID.String() == string(c.Owner)) || c.Kind != catalog.KindLocal {
		return v1.OrNull(c.Settings)
	}
	return json.RawMessage("{}")
}

func storageConfigOf(ctx context.Context, c catalog.StorageConfig) storageConfig {
	return storageConfig{
		ConfigID: string(c.ID), ConfigName: c.Name, Kind: string(c.Kind), Schema: c.Schema(), Slug: c.Slug, WorkspaceID: v1.Pointer(c.Workspace),
		OwnerUserID: string(c.Owner), Settings: settingsFor(ctx, c), AuthMode: v1.Pointer(c.AuthMode),
		CredentialExpiresAt: v1.Timestamp(c.CredentialExpiresAt), DiscoveredAt: v1.Timestamp(c.DiscoveredAt),
		CreatedAt: v1.Timestamp(c.CreatedAt), UpdatedAt: v1.Timestamp(c.UpdatedAt),
	}
}

type storageConfigList struct {
	Configs       []storageConfig `json:"configs"`
	NextPageToken string          `json:"nextPageToken,omitempty"`
}

type createStorageInput struct {
	Body struct {
		ConfigName  string  `json:"configName" minLength:"1" maxLength:"100"`
		Kind        string  `json:"kind" enum:"local,s3,gcs,azure,delegated"`
		WorkspaceID *string `json:"workspaceId,omitempty" nullable:"true" format:"uuid" doc:"Share with this workspace; without it the configuration is personal"`
		Root        string  `json:"root,omitempty" maxLength:"4096" doc:"kind local: a directory below one of the server's local roots; relative means below the first"`

		Bucket    string `json:"bucket,omitempty" maxLength:"63" doc:"kind s3"`
		Prefix    string `json:"prefix,omitempty" maxLength:"1024" doc:"kind s3: the folder that is the root; without it the bucket is"`
		Region    string `json:"region,omitempty" maxLength:"32" doc:"kind s3, required there"`
		Endpoint  string `json:"endpoint,omitempty" maxLength:"1024" doc:"kind s3: URL of a store other than AWS"`
		PathStyle *bool  `json:"pathStyle,omitempty" doc:"kind s3: the bucket is in the path, not in the host name; default true with an endpoint, else false"`
		S3Secret
	}
}

// S3Secret is an S3 credential. It occurs in requests only.
type S3Secret struct {
	AccessKeyID     string `json:"accessKeyId,omitempty" maxLength:"256" doc:"kind s3"`
	SecretAccessKey string `json:"secretAccessKey,omitempty" maxLength:"1024" writeOnly:"true" doc:"kind s3; never returned"`
	SessionToken    string `json:"sessionToken,omitempty" maxLength:"16384" writeOnly:"true" doc:"kind s3: goes with a temporary key; never returned"`
	RoleARN         string `json:"roleArn,omitempty" maxLength:"1024" doc:"kind s3: a role to take on with the key"`
}

func (s S3Secret) credential() admin.S3Credential {
	return admin.S3Credential{AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey, SessionToken: s.SessionToken, RoleARN: s.RoleARN}
}

func (in *createStorageInput) config() admin.NewStorageConfig {
	b := in.Body
	n := admin.NewStorageConfig{Name: b.ConfigName, Kind: b.Kind, Workspace: v1.Text(b.WorkspaceID), Root: b.Root, Credential: b.credential()}
	settings := admin.S3Settings{Bucket: b.Bucket, Prefix: b.Prefix, Region: b.Region, Endpoint: b.Endpoint}
	if b.PathStyle != nil || settings != (admin.S3Settings{}) {
		settings.PathStyle = b.Endpoint != ""
		if b.PathStyle != nil {
			settings.PathStyle = *b.PathStyle
		}
		n.S3 = &settings
	}
	return n
}

// ConfigPath holds the path parameter of a storage configuration.
type ConfigPath struct {
	ConfigID string `path:"config_id" format:"uuid"`
}

func (in ConfigPath) id() (catalog.ConfigID, error) {
	return catalog.ParseID[catalog.ConfigID](in.ConfigID)
}

type patchStorageInput struct {
	ConfigPath
	Body struct {
		ConfigName *string `json:"configName,omitempty" minLength:"1" maxLength:"100"`
		PathStyle  *bool   `json:"pathStyle,omitempty" doc:"kind s3"`
	}
}

type discoverInput struct {
	ConfigPath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   *struct { // optional
		IncludeDropped bool `json:"includeDropped,omitempty" doc:"Bring dropped tables back"`
	}
}

type discovery struct {
	State          string             `json:"state" enum:"done"`
	TablesFound    int                `json:"tablesFound"`
	TablesAdded    int                `json:"tablesAdded"`
	TablesReturned int                `json:"tablesReturned"`
	TablesVanished int                `json:"tablesVanished"`
	TablesChanged  int                `json:"tablesChanged" doc:"Tables that were replaced by another table in the same place"`
	Truncated      bool               `json:"truncated" doc:"A limit was reached; nothing was marked as vanished"`
	Problems       []discoveryProblem `json:"problems" doc:"Folders with a log that cannot be read"`
}

type discoveryProblem struct {
	Path    string           `json:"path"`
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Details []problem.Detail `json:"details" doc:"As in the body of an error: the reason, if the log cannot be read"`
}

type validation struct {
	Valid  bool           `json:"valid"`
	Checks []storageCheck `json:"checks"`
}

type storageCheck struct {
	Name   string  `json:"name"`
	OK     bool    `json:"ok"`
	Millis int64   `json:"millis"`
	Reason *string `json:"reason"`
}

// Routes registers the routes of storage configurations.
func Routes(api huma.API, configs admin.StorageConfigs, operations longwork.Service) {
	const base = "/v1/storages/configs"
	read := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageRead, Camel: true}
	write := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageConfigure, Camel: true, Local: true}

	v1.Add(api, write.With("POST", base, "createStorageConfig", "Create a storage configuration").As201().
		Describe("Its tables are discovered at once. Kind local needs the role admin; other kinds are tried out first, as by validate."),
		func(ctx context.Context, in *createStorageInput) (storageConfig, error) {
			c, err := configs.Create(ctx, in.config())
			return storageConfigOf(ctx, c), err
		})
	v1.Add(api, read.With("GET", base, "listStorageConfigs", "List storage configurations"),
		func(ctx context.Context, in *v1.Page) (storageConfigList, error) {
			list, err := configs.List(ctx, in.Catalog())
			return storageConfigList{Configs: v1.Map(list.Items, func(c catalog.StorageConfig) storageConfig { return storageConfigOf(ctx, c) }),
				NextPageToken: list.Next}, err
		})
	v1.Add(api, read.With("GET", base+"/{config_id}", "getStorageConfig", "Get a storage configuration"),
		func(ctx context.Context, in *ConfigPath) (storageConfig, error) {
			id, err := in.id()
			if err != nil {
				return storageConfig{}, err
			}
			c, err := configs.Get(ctx, id)
			return storageConfigOf(ctx, c), err
		})
	v1.Add(api, write.With("PATCH", base+"/{config_id}", "updateStorageConfig", "Update a storage configuration"),
		func(ctx context.Context, in *patchStorageInput) (storageConfig, error) {
			id, err := in.id()
			if err != nil {
				return storageConfig{}, err
			}
			c, err := configs.Update(ctx, id, admin.StorageConfigEdit{Name: in.Body.ConfigName, PathStyle: in.Body.PathStyle})
			return storageConfigOf(ctx, c), err
		})
	v1.Add(api, write.With("DELETE", base+"/{config_id}", "deleteStorageConfig",
		"Delete a storage configuration").Describe("Takes it out of the catalog; data stays where it is."),
		func(ctx context.Context, in *ConfigPath) (v1.Empty, error) {
			id, err := in.id()
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, configs.Delete(ctx, id)
		})
	v1.Add(api, write.With("POST", base+"/{config_id}/validate", "validateStorageConfig",
		"Try a storage configuration out").Describe("Lists, writes, reads and deletes objects below a random name."),
		func(ctx context.Context, in *ConfigPath) (validation, error) {
			id, err := in.id()
			if err != nil {
				return validation{}, err
			}
			report, err := configs.Validate(ctx, id)
			if err != nil {
				return validation{}, err
			}
			return validationOf(report), nil
		})
	v1.AddDeferrable(api, write.With("POST", base+"/{config_id}/discover", "discoverTables", "Discover tables").
		Describe("Registers new tables and marks those that have vanished. A long one continues as an operation with the same result; with "+
			"Prefer: respond-async at once."),
		func(ctx context.Context, in *discoverInput) (discovery, *catalog.Operation, error) {
			id, err := in.id()
			if err != nil {
				return discovery{}, nil, err
			}
			patience := operations.Patience
			if in.Prefer.Async() {
				patience = 0
			}
			d, goesOn, err := longwork.RunWithin(ctx, operations, catalog.OperationDiscover, patience,
				func(ctx context.Context) (admin.Discovered, error) {
					return configs.Discover(ctx, id, in.Body != nil && in.Body.IncludeDropped)
				}, func(d admin.Discovered) any { return discoveryOf(d) })
			return discoveryOf(d), goesOn, err
		})
}

func validationOf(report admin.ProbeReport) validation {
	return validation{Valid: report.OK(), Checks: v1.Map(report.Checks, func(c admin.ProbeCheck) storageCheck {
		return storageCheck{Name: c.Name, OK: c.OK, Millis: c.Millis, Reason: v1.Pointer(c.Reason)}
	})}
}

func discoveryOf(d admin.Discovered) discovery {
	return discovery{
		State: "done", TablesFound: d.Found, TablesAdded: len(d.Added), TablesReturned: len(d.Returned), TablesVanished: len(d.Vanished),
		TablesChanged: len(d.Changed), Truncated: d.Truncated,
		Problems: v1.Map(d.Problems, func(p admin.DiscoveryProblem) discoveryProblem {
			found := problem.From(p.Err)
			return discoveryProblem{Path: p.Path, Code: found.Name, Message: found.Message, Details: found.Details}
		}),
	}
}
