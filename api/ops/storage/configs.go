package storage

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Configs manages storage configurations.
type Configs struct {
	Store     catalog.Store
	Tables    access.Tables
	Discovery Discovery
	// Kinds are the kinds of remote storage. Without them only local storage is available.
	Kinds kind.Set
	// Seal encrypts a credential for the catalog.
	Seal func(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error)
	// Ambient reports whether the operator allows the server's own identity to be used for a
	// configuration of an organisation. If it is nil, no configuration may use it.
	Ambient func(ctx context.Context, org catalog.OrgID, use kind.AmbientUse) (bool, error)
	Audit   recorder
	// Now is the clock.
	Now func() time.Time
	// LocalRoots returns the directories below which an organisation may use local
	// storage.
	LocalRoots func(ctx context.Context, org catalog.OrgID) ([]string, error)
}

// List lists the configurations that the caller can see.
func (o Configs) List(ctx context.Context, page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.StorageConfig]{}, err
	}
	return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
}

// Get returns one configuration.
func (o Configs) Get(ctx context.Context, id catalog.ConfigID) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	return o.Store.StorageConfig(ctx, a.Viewer, id)
}

// ConfigEdit holds the fields to change; nil leaves a field unchanged.
type ConfigEdit struct {
	Name *string
	// Flags are new values of [kind.Kind.Flags].
	Flags map[string]bool
}

// Update changes a configuration's name, its slug with it, and the flags of its endpoint.
// The location cannot be changed. The slug is the schema of the tables in SQL, so a caller who
// changes the name must have the right to change each table as a whole. Error:
// access.ErrPartlyVisible.
func (o Configs) Update(ctx context.Context, id catalog.ConfigID, edit ConfigEdit) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	config, err := o.Store.StorageConfig(authz.System(ctx, "tables of a configuration"), a.Viewer, id)
	if err == nil && edit.Name != nil && *edit.Name != config.Name {
		err = o.Tables.JudgeRegistrations(ctx, a, config.ID)
	}
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	change, version := catalog.StorageConfigChange{Name: edit.Name}, catalog.AnyVersion
	if len(edit.Flags) > 0 {
		settings, err := o.withFlags(config, edit.Flags)
		if err != nil {
			return config, err
		}
		change.Settings, version = &settings, config.Version
	}
	return o.Store.UpdateStorageConfig(ctx, a.Viewer, id, version, change)
}

// withFlags returns the settings of a configuration with other flags. It returns
// [lake.ErrStorageKind] if the kind lacks one of them.
func (o Configs) withFlags(config catalog.StorageConfig, flags map[string]bool) (json.RawMessage, error) {
	k, ok := o.Kinds[string(config.Kind)]
	if !ok {
		return nil, lake.ErrStorageKind
	}
	var settings map[string]json.RawMessage
	if err := kind.Decode(config.Settings, &settings); err != nil {
		return nil, err
	}
	for name, value := range flags {
		if !slices.Contains(k.Flags(), name) {
			return nil, lake.ErrStorageKind
		}
		settings[name] = json.RawMessage(strconv.FormatBool(value))
	}
	return json.Marshal(settings)
}

// Delete removes a configuration from the catalog. Its data is not deleted. The caller must have
// the right to change each of its tables as a whole. Error: access.ErrPartlyVisible.
func (o Configs) Delete(ctx context.Context, id catalog.ConfigID) error {
	a, err := caller.From(ctx)
	if err != nil {
		return err
	}
	config, err := o.Store.StorageConfig(authz.System(ctx, "tables of a configuration"), a.Viewer, id)
	if err == nil {
		err = o.Tables.JudgeRegistrations(ctx, a, config.ID)
	}
	if err != nil {
		return err
	}
	return o.Store.DeleteStorageConfig(ctx, a.Viewer, id, catalog.AnyVersion)
}

// configurable returns a configuration that the caller may change: it requires
// storage:configure by the caller's role where the configuration belongs and, if that is
// a workspace, the scopes of shared.
func (o Configs) configurable(
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
func (o Configs) Validate(ctx context.Context, id catalog.ConfigID) (ProbeReport, error) {
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
	report := storage.Probe(ctx, bucket)
	// A failure that has a code of its own, such as a missing link of the owner, is not the store's.
	var coded interface{ ProblemCode() string }
	if err := report.Err(); errors.As(err, &coded) {
		return ProbeReport{}, err
	}
	return report, nil
}

// PrepareDiscovery checks that the caller may discover the tables of a configuration, and
// returns the discovery. It registers new tables below the root, and marks registered tables
// that no longer exist. progress, which may be nil, is called often. To include dropped tables,
// the caller must have the right to change each of them as a whole. Error:
// access.ErrPartlyVisible.
func (o Configs) PrepareDiscovery(
	ctx context.Context, id catalog.ConfigID, includeDropped bool,
) (discover func(ctx context.Context, progress func(DiscoveryProgress)) (Discovered, error), err error) {
	a, config, err := o.configurable(ctx, id)
	if err != nil {
		return nil, err
	}
	judge := func(ctx context.Context) error {
		if !includeDropped {
			return nil
		}
		return o.Tables.JudgeRegistrations(ctx, a, config.ID, catalog.TableDropped)
	}
	if err := judge(ctx); err != nil {
		return nil, err
	}
	return func(ctx context.Context, progress func(DiscoveryProgress)) (Discovered, error) {
		if err := judge(ctx); err != nil {
			return Discovered{}, err
		}
		return o.Discovery.discover(ctx, a.Viewer, config, includeDropped, progress)
	}, nil
}
