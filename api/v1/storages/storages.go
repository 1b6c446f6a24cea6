package storages

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/storage"
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
	Settings            json.RawMessage `json:"settings" doc:"The settings once more, as one object; the root of local storage is shown only to its owner and to holders of storage:configure"`
	AuthMode            *string         `json:"authMode"`
	Sandbox             bool            `json:"sandbox" doc:"The server made it as the organisation's sandbox: it cannot be changed or deleted"`
	CredentialExpiresAt *string         `json:"credentialExpiresAt"`
	CredentialState     *string         `json:"credentialState" doc:"valid, expiring (within 7 days) or expired; null if the end is unknown"`
	DiscoveredAt        *string         `json:"discoveredAt"`
	CreatedAt           *string         `json:"createdAt"`
	UpdatedAt           *string         `json:"updatedAt"`
	ShownSettings
}

// ShownSettings are the settings of a configuration as fields of its record.
type ShownSettings struct {
	Provider  string `json:"provider,omitempty" doc:"kind delegated"`
	Root      string `json:"root,omitempty" doc:"kind local"`
	Bucket    string `json:"bucket,omitempty" doc:"kinds s3 and gcs, and provider_one"`
	Account   string `json:"account,omitempty" doc:"kind azure and provider_three"`
	Container string `json:"container,omitempty" doc:"kind azure and provider_three"`
	Prefix    string `json:"prefix,omitempty" doc:"The folder that is the root"`
	Region    string `json:"region,omitempty" doc:"kind s3"`
	Endpoint  string `json:"endpoint,omitempty" doc:"URL of another store than that of AWS, Google or Azure"`
	PathStyle *bool  `json:"pathStyle,omitempty" doc:"kind s3"`
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
	settings := settingsFor(ctx, c)
	var shown ShownSettings
	_ = json.Unmarshal(settings, &shown) // settings is an object or null
	return storageConfig{
		ShownSettings: shown,
		ConfigID:      string(c.ID), ConfigName: c.Name, Kind: string(c.Kind), Schema: c.Schema(),
		Slug: c.Slug, WorkspaceID: v1.Pointer(c.Workspace),
		OwnerUserID: string(c.Owner), Settings: settings, AuthMode: v1.Pointer(c.AuthMode), Sandbox: c.Sandbox,
		CredentialState:     v1.Pointer(storage.CredentialStateOf(c, time.Now())),
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

		ExpiresAt *v1.Instant `json:"expiresAt,omitempty" doc:"When the credential ends, for the record: kinds s3, gcs and azure"`
		RemoteFields
	}
}

// RemoteFields are the settings and the credential of remote storage.
type RemoteFields struct {
	Provider  string `json:"provider,omitempty" enum:"provider_one,provider_two,provider_three" doc:"kind delegated"`
	Bucket    string `json:"bucket,omitempty" maxLength:"222" doc:"kinds s3 and gcs, and provider_one"`
	Account   string `json:"account,omitempty" maxLength:"24" doc:"kind azure and provider_three: the storage account"`
	Container string `json:"container,omitempty" maxLength:"63" doc:"kind azure and provider_three"`
	Prefix    string `json:"prefix,omitempty" maxLength:"1024" doc:"The folder that is the root; without it the bucket or container is"`
	Region    string `json:"region,omitempty" maxLength:"32" doc:"kind s3, required there"`
	Endpoint  string `json:"endpoint,omitempty" maxLength:"1024" doc:"URL of a store other than that of AWS, Google or Azure"`
	PathStyle *bool  `json:"pathStyle,omitempty" doc:"kind s3: the bucket is in the path, not in the host name; default true with an endpoint, else false"`
	S3Secret
	GCSSecret
	AzureSecret
	AmbientSecret
}

func (in *createStorageInput) config() (storage.NewConfig, error) {
	b := in.Body
	fields, err := fieldsOf(b.RemoteFields)
	return storage.NewConfig{
		Name: b.ConfigName, Kind: b.Kind, Workspace: v1.Text(b.WorkspaceID), Root: b.Root, Fields: fields, ExpiresAt: b.ExpiresAt.Pointer(),
	}, err
}

// fieldsOf returns the fields of a request that are set, as a JSON object; nil if there
// are none.
func fieldsOf(given any) ([]byte, error) {
	fields, err := json.Marshal(given)
	if string(fields) == "{}" {
		return nil, err
	}
	return fields, err
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
	TablesMissing  int                `json:"tablesMissing" doc:"Tables that were not found. A later discovery decides whether they have vanished."`
	TablesVanished int                `json:"tablesVanished" doc:"Tables that were not found for some time"`
	TablesChanged  int                `json:"tablesChanged" doc:"Tables that were replaced by another table in the same place"`
	Truncated      bool               `json:"truncated" doc:"A limit was reached; nothing was marked as vanished"`
	Problems       []discoveryProblem `json:"problems" doc:"Folders with a log that cannot be read, at most 100"`
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
func Routes(api huma.API, configs storage.Configs, operations longwork.Service) {
	const base = "/v1/storages/configs"
	read := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageRead, Camel: true}
	write := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageConfigure, Camel: true, Local: true}

	v1.Add(api, write.With("POST", base, "createStorageConfig", "Create a storage configuration").As201().
		Describe("Its tables are discovered at once. Kind local needs the role admin; other kinds are tried out first, as by validate."),
		func(ctx context.Context, in *createStorageInput) (storageConfig, error) {
			n, err := in.config()
			if err != nil {
				return storageConfig{}, err
			}
			c, err := configs.Create(ctx, n)
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
			edit := storage.ConfigEdit{Name: in.Body.ConfigName}
			if in.Body.PathStyle != nil {
				edit.Flags = map[string]bool{"pathStyle": *in.Body.PathStyle}
			}
			c, err := configs.Update(ctx, id, edit)
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
	v1.Add(api, write.With("POST", base+"/{config_id}/take-over", "takeOverStorageConfig",
		"Take over a delegated storage configuration").
		Describe("Makes the caller the owner of a delegated configuration in a workspace, for example when its owner has left: it is opened "+
			"with the caller's link from now on. The link is tried out first, as by validate. The id, tables, policies and domains stay. It also "+
			"needs storage_configs:share."),
		func(ctx context.Context, in *ConfigPath) (storageConfig, error) {
			id, err := in.id()
			if err != nil {
				return storageConfig{}, err
			}
			c, err := configs.TakeOver(ctx, id)
			return storageConfigOf(ctx, c), err
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
			discover, err := configs.PrepareDiscovery(ctx, id, in.Body != nil && in.Body.IncludeDropped)
			if err != nil {
				return discovery{}, nil, err
			}
			patience := operations.Patience
			if in.Prefer.Async() {
				patience = 0
			}
			d, goesOn, err := longwork.RunWithin(ctx, operations, catalog.OperationDiscover, patience,
				func(ctx context.Context, t *longwork.Task) (storage.Discovered, error) {
					return discover(ctx, func(p storage.DiscoveryProgress) {
						t.Progress(catalog.Progress{Done: int64(p.Folders), Unit: "folders"})
					})
				}, func(d storage.Discovered) any { return discoveryOf(d) })
			return discoveryOf(d), goesOn, err
		})
}

func validationOf(report storage.ProbeReport) validation {
	return validation{Valid: report.OK(), Checks: v1.Map(report.Checks, func(c storage.ProbeCheck) storageCheck {
		return storageCheck{Name: c.Name, OK: c.OK, Millis: c.Millis, Reason: v1.Pointer(c.Reason)}
	})}
}

func discoveryOf(d storage.Discovered) discovery {
	return discovery{
		State: "done", TablesFound: d.Found, TablesAdded: d.Added, TablesReturned: d.Returned, TablesMissing: d.Missing,
		TablesVanished: d.Vanished, TablesChanged: d.Changed, Truncated: d.Truncated,
		Problems: v1.Map(d.Problems, func(p storage.DiscoveryProblem) discoveryProblem {
			found := problem.From(p.Err)
			return discoveryProblem{Path: p.Path, Code: found.Name, Message: found.Message, Details: found.Details}
		}),
	}
}
