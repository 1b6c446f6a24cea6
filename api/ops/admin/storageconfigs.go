package admin

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// StorageConfigs manages storage configurations.
type StorageConfigs struct {
	Store     catalog.Store
	Discovery Discovery
	// Remote opens object stores in the network.
	Remote Remote
	// Seal encrypts a credential for the catalog.
	Seal func(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error)
	// Now is the clock.
	Now func() time.Time
	// LocalRoots returns the directories below which an organisation may use local
	// storage.
	LocalRoots func(ctx context.Context, org catalog.OrgID) ([]string, error)
}

// NewStorageConfig is the input of [StorageConfigs.Create].
type NewStorageConfig struct {
	Name string
	Kind string
	// Workspace is empty for a personal configuration.
	Workspace string
	// Root is a directory of kind local: absolute, or relative to the first allowed one.
	Root string
	// S3 and Credential are set for kind s3.
	S3         *S3Settings
	Credential S3Credential
}

// ProbeReport is the result of testing a configuration.
type ProbeReport = storage.Report

// ProbeCheck is one line of a [ProbeReport].
type ProbeCheck = storage.Check

// localSettings are the stored settings of a local configuration.
type localSettings struct {
	Root string `json:"root"`
}

// Create creates a configuration and discovers its tables. Local storage requires an
// administrator, because it names a directory of the server. Other storage is tested
// first.
func (o StorageConfigs) Create(ctx context.Context, in NewStorageConfig) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	workspace, err := mayCreate(a, in)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	n := catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: a.Org, Name: in.Name, Kind: catalog.ConfigKind(in.Kind), Workspace: workspace, Owner: a.User,
	}
	if n.Kind == catalog.KindLocal {
		return o.createLocal(ctx, a, n, in.Root)
	}
	return o.createS3(ctx, a, n, *in.S3, in.Credential)
}

func (o StorageConfigs) createLocal(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, path string,
) (none catalog.StorageConfig, err error) {
	root, err := o.localRoot(ctx, a, path)
	if err != nil {
		return none, err
	}
	n.Location = catalog.NewLocation("file", root)
	if n.Settings, err = json.Marshal(localSettings{Root: path}); err != nil {
		return none, err
	}
	return o.create(ctx, a, n, "root", func() error {
		if err := os.MkdirAll(root, 0o750); err != nil {
			return fault.Invalid("root", "cannot be made")
		}
		return nil
	})
}

// create stores a configuration, calls ensure for its location, and discovers its tables.
// If that fails, it removes the configuration. at is the field of the request with the
// location.
func (o StorageConfigs) create(
	ctx context.Context, a caller.Identity, n catalog.NewStorageConfig, at string, ensure func() error,
) (catalog.StorageConfig, error) {
	config, err := o.Store.CreateStorageConfig(ctx, n)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return config, fault.Invalid("workspace_id", "is not a workspace of the caller")
	case errors.Is(err, catalog.ErrLocationTaken):
		return config, &locationTakenError{field: at, err: err}
	}
	if err != nil {
		return config, err
	}
	if err = ensure(); err == nil {
		// A table that cannot be read does not prevent the configuration: POST …/discover
		// reports it. A root that cannot be listed does.
		_, err = o.Discovery.discover(ctx, a.Viewer, config, false)
	}
	if err != nil {
		undo := context.WithoutCancel(ctx)
		return config, errors.Join(err, o.Store.DeleteStorageConfig(undo, a.Viewer, config.ID, catalog.AnyVersion))
	}
	return config, nil
}

// locationTakenError names the field of a request whose location is used by another
// configuration.
type locationTakenError struct {
	field string
	err   error
}

// Error implements error.
func (e *locationTakenError) Error() string { return e.field + ": " + e.err.Error() }

// Unwrap returns catalog.ErrLocationTaken.
func (e *locationTakenError) Unwrap() error { return e.err }

// FieldProblems yields the field.
func (e *locationTakenError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(e.field, "overlaps another storage configuration") }
}

func mayCreate(a caller.Identity, in NewStorageConfig) (catalog.WorkspaceID, error) {
	kind := catalog.ConfigKind(in.Kind)
	switch {
	case !kind.Valid():
		return "", fault.Invalid("kind", "must be one of local, s3, gcs, azure, delegated")
	case kind != catalog.KindLocal && kind != catalog.KindS3:
		return "", fault.Invalid("kind", "is not supported by this version; local and s3 are")
	case kind == catalog.KindLocal && a.Role != auth.RoleAdmin:
		return "", &catalog.DeniedError{Reason: "local_storage_needs_admin"}
	case kind == catalog.KindLocal && in.Root == "":
		return "", fault.Invalid("root", "is required for kind local")
	case kind == catalog.KindLocal && (in.S3 != nil || in.Credential != S3Credential{}):
		return "", fault.Invalid("kind", "is local, but there are fields of kind s3")
	case kind == catalog.KindS3 && in.Root != "":
		return "", fault.Invalid("root", "is for kind local only")
	case kind == catalog.KindS3 && in.S3 == nil:
		return "", fault.Invalid("bucket", "is required for kind s3")
	case in.Workspace == "":
		return "", nil
	}
	workspace, err := catalog.ParseID[catalog.WorkspaceID](in.Workspace)
	if err != nil {
		return "", fault.Invalid("workspace_id", "is not a workspace of the caller")
	}
	return workspace, nil
}

func (o StorageConfigs) localRoot(ctx context.Context, a caller.Identity, root string) (string, error) {
	allowed, err := o.LocalRoots(ctx, a.Org)
	if err != nil {
		return "", err
	}
	if len(allowed) == 0 {
		return "", fault.Invalid("root",
			"local storage is not available to this organisation: no folder of LAKEWARDEN_LOCAL_ROOTS has {org} in it")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(allowed[0], root)
	}
	resolved, err := storage.LocalRoots{Allowed: allowed}.Resolve(root, string(a.Org))
	if err != nil {
		return "", fault.Invalid("root", "must be a directory below one of the server's local roots")
	}
	return resolved, nil
}

// List lists the configurations that the caller can see.
func (o StorageConfigs) List(ctx context.Context, page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.StorageConfig]{}, err
	}
	return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
}

// Get returns one configuration.
func (o StorageConfigs) Get(ctx context.Context, id catalog.ConfigID) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	return o.Store.StorageConfig(ctx, a.Viewer, id)
}

// StorageConfigEdit holds the fields to change; nil leaves a field unchanged.
type StorageConfigEdit struct {
	Name *string
	// PathStyle applies to kind s3.
	PathStyle *bool
}

// Update changes a configuration's name, its slug with it, and the addressing style of
// its endpoint. The location cannot be changed.
func (o StorageConfigs) Update(ctx context.Context, id catalog.ConfigID, edit StorageConfigEdit) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	change, version := catalog.StorageConfigChange{Name: edit.Name}, catalog.AnyVersion
	if edit.PathStyle != nil {
		config, err := o.Store.StorageConfig(ctx, a.Viewer, id)
		if err != nil {
			return config, err
		}
		settings, err := S3SettingsOf(config)
		if err != nil {
			return config, err
		}
		settings.PathStyle = *edit.PathStyle
		raw, err := json.Marshal(settings)
		if err != nil {
			return config, err
		}
		change.Settings, version = (*json.RawMessage)(&raw), config.Version
	}
	return o.Store.UpdateStorageConfig(ctx, a.Viewer, id, version, change)
}

// Delete removes a configuration from the catalog. Its data is not deleted.
func (o StorageConfigs) Delete(ctx context.Context, id catalog.ConfigID) error {
	a, err := caller.From(ctx)
	if err != nil {
		return err
	}
	return o.Store.DeleteStorageConfig(ctx, a.Viewer, id, catalog.AnyVersion)
}

// configurable returns a configuration that the caller may change: it requires
// storage:configure by the caller's role where the configuration belongs and, if that is
// a workspace, the scopes of shared.
func (o StorageConfigs) configurable(
	ctx context.Context, id catalog.ConfigID, shared ...auth.Scope,
) (caller.Identity, catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return a, catalog.StorageConfig{}, err
	}
	config, err := o.Store.StorageConfig(ctx, a.Viewer, id)
	if err != nil {
		return a, config, err
	}
	var role catalog.Role
	needed := []auth.Scope{auth.ScopeStorageConfigure}
	if !config.Personal() {
		needed = append(needed, shared...)
		if role, err = o.Store.WorkspaceRole(ctx, a.Org, config.Workspace, a.User); err != nil {
			return a, config, err
		}
	}
	for _, scope := range needed {
		if !a.ScopesIn(auth.Role(role)).Has(scope) {
			return a, config, &auth.ScopeError{Scope: scope}
		}
	}
	return a, config, nil
}

// Validate tests the configuration with real objects below a random name, and removes
// them.
func (o StorageConfigs) Validate(ctx context.Context, id catalog.ConfigID) (ProbeReport, error) {
	_, config, err := o.configurable(ctx, id)
	if err != nil {
		return ProbeReport{}, err
	}
	bucket, err := o.Discovery.Lake.Root(ctx, config)
	if err != nil {
		return ProbeReport{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return storage.Probe(ctx, bucket), nil
}

// Discover registers new tables below the root, and marks registered tables that no
// longer exist.
func (o StorageConfigs) Discover(ctx context.Context, id catalog.ConfigID, includeDropped bool) (Discovered, error) {
	a, config, err := o.configurable(ctx, id)
	if err != nil {
		return Discovered{}, err
	}
	return o.Discovery.discover(ctx, a.Viewer, config, includeDropped)
}
