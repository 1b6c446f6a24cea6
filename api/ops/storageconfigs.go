package ops

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// StorageConfigs manages storage configurations.
type StorageConfigs struct {
	Store  catalog.Store
	Opener Opener
	Tables Tables
	// LocalRoots returns the directories below which an organisation may have
	// local storage.
	LocalRoots func(ctx context.Context, org catalog.OrgID) ([]string, error)
}

// NewStorageConfig is the input of [StorageConfigs.Create].
type NewStorageConfig struct {
	Name string
	Kind string
	// Workspace is empty for a personal configuration.
	Workspace string
	// Root is a directory: absolute, or below the first allowed one.
	Root string
}

// ProbeReport is what a trial of a configuration found.
type ProbeReport = storage.Report

// ProbeCheck is one line of a [ProbeReport].
type ProbeCheck = storage.Check

// localSettings is what a local configuration keeps of its input.
type localSettings struct {
	Root string `json:"root"`
}

// Create makes a configuration and discovers its tables. Local storage needs an
// administrator, because it names a directory of the server.
func (o StorageConfigs) Create(ctx context.Context, in NewStorageConfig) (catalog.StorageConfig, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	workspace, err := o.mayCreate(a, in)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	root, err := o.localRoot(ctx, a, in.Root)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	settings, err := json.Marshal(localSettings{Root: in.Root})
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	config, err := o.Store.CreateStorageConfig(ctx, catalog.NewStorageConfig{
		Org: a.Org, Name: in.Name, Kind: catalog.KindLocal, Workspace: workspace, Owner: a.User,
		Location: catalog.NewLocation("file", root), Settings: settings,
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return config, invalid("workspace_id", "is not a workspace of the caller")
	}
	if err != nil {
		return config, err
	}
	err = os.MkdirAll(root, 0o750)
	if err != nil {
		err = invalid("root", "cannot be made")
	} else {
		// A table that cannot be read does not stand against the configuration:
		// POST …/discover reports it. A root that cannot be listed does.
		_, err = o.Tables.discover(ctx, a.Viewer, config, false)
	}
	if err != nil {
		undo := context.WithoutCancel(ctx)
		return config, errors.Join(err, o.Store.DeleteStorageConfig(undo, a.Viewer, config.ID, catalog.AnyVersion))
	}
	return config, nil
}

func (o StorageConfigs) mayCreate(a Actor, in NewStorageConfig) (catalog.WorkspaceID, error) {
	kind := catalog.ConfigKind(in.Kind)
	switch {
	case !kind.Valid():
		return "", invalid("kind", "must be one of local, s3, gcs, azure, delegated")
	case kind != catalog.KindLocal:
		return "", invalid("kind", "is not supported by this version; only local is")
	case a.Role != auth.RoleAdmin:
		return "", &catalog.DeniedError{Reason: "local_storage_needs_admin"}
	case in.Root == "":
		return "", invalid("root", "is required for kind local")
	case in.Workspace == "":
		return "", nil
	}
	workspace, err := catalog.ParseID[catalog.WorkspaceID](in.Workspace)
	if err != nil {
		return "", invalid("workspace_id", "is not a workspace of the caller")
	}
	return workspace, nil
}

func (o StorageConfigs) localRoot(ctx context.Context, a Actor, root string) (string, error) {
	allowed, err := o.LocalRoots(ctx, a.Org)
	if err != nil {
		return "", err
	}
	if len(allowed) == 0 {
		return "", invalid("root", "local storage is not available to this organisation")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(allowed[0], root)
	}
	resolved, err := storage.LocalRoots{Allowed: allowed}.Resolve(root, string(a.Org))
	if err != nil {
		return "", invalid("root", "must be a directory below one of the server's local roots")
	}
	return resolved, nil
}

// List lists the configurations that the caller sees.
func (o StorageConfigs) List(ctx context.Context, page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.List[catalog.StorageConfig]{}, err
	}
	return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
}

// Get returns one configuration.
func (o StorageConfigs) Get(ctx context.Context, id catalog.ConfigID) (catalog.StorageConfig, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	return o.Store.StorageConfig(ctx, a.Viewer, id)
}

// Rename changes a configuration's name, and with it its slug.
func (o StorageConfigs) Rename(ctx context.Context, id catalog.ConfigID, name *string) (catalog.StorageConfig, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	return o.Store.UpdateStorageConfig(ctx, a.Viewer, id, catalog.AnyVersion, catalog.StorageConfigChange{Name: name})
}

// Delete removes a configuration from the catalog. Its data stays where it is.
func (o StorageConfigs) Delete(ctx context.Context, id catalog.ConfigID) error {
	a, err := ActorFrom(ctx)
	if err != nil {
		return err
	}
	return o.Store.DeleteStorageConfig(ctx, a.Viewer, id, catalog.AnyVersion)
}

// configurable returns a configuration in which the caller may work: with
// storage:configure by the role where the configuration is.
func (o StorageConfigs) configurable(ctx context.Context, id catalog.ConfigID) (Actor, catalog.StorageConfig, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return a, catalog.StorageConfig{}, err
	}
	config, err := o.Store.StorageConfig(ctx, a.Viewer, id)
	if err != nil {
		return a, config, err
	}
	var role catalog.Role
	if !config.Personal() {
		if role, err = o.Store.WorkspaceRole(ctx, a.Org, config.Workspace, a.User); err != nil {
			return a, config, err
		}
	}
	if !a.ScopesIn(auth.Role(role)).Has(auth.ScopeStorageConfigure) {
		return a, config, &auth.ScopeError{Scope: auth.ScopeStorageConfigure}
	}
	return a, config, nil
}

// Validate tries the configuration out with real objects below a random name,
// and removes them.
func (o StorageConfigs) Validate(ctx context.Context, id catalog.ConfigID) (ProbeReport, error) {
	_, config, err := o.configurable(ctx, id)
	if err != nil {
		return ProbeReport{}, err
	}
	bucket, err := o.Opener.Bucket(ctx, config)
	if err != nil {
		return ProbeReport{}, err
	}
	return storage.Probe(ctx, bucket), nil
}

// Discover registers what is new below the root and marks what has vanished.
func (o StorageConfigs) Discover(ctx context.Context, id catalog.ConfigID, includeDropped bool) (Discovered, error) {
	a, config, err := o.configurable(ctx, id)
	if err != nil {
		return Discovered{}, err
	}
	return o.Tables.discover(ctx, a.Viewer, config, includeDropped)
}
