package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// Discovered is the result of a discovery.
type Discovered struct {
	catalog.DiscoveryResult
	// Problems lists folders whose log cannot be read. Tables that are already registered
	// there stay registered.
	Problems []DiscoveryProblem
	// Truncated reports that a limit was reached, so no table was marked as vanished.
	Truncated bool
}

// DiscoveryProblem is one folder that could not be registered.
type DiscoveryProblem struct {
	Path string
	Err  error
}

// Discovery registers the tables in storage.
type Discovery struct {
	Store catalog.Store
	Lake  *lake.Lake
}

// discover lists the root of a configuration and updates the catalog accordingly.
func (o Discovery) discover(
	ctx context.Context, viewer catalog.Viewer, config catalog.StorageConfig, includeDropped bool,
) (Discovered, error) {
	bucket, err := o.Lake.Root(ctx, config)
	if err != nil {
		return Discovered{}, err
	}
	found, err := storage.Discover(ctx, bucket, storage.DiscoverOptions{})
	if err != nil {
		return Discovered{}, err
	}
	known, err := o.registered(ctx, config)
	if err != nil {
		return Discovered{}, err
	}
	governed, err := access.Governs(ctx, o.Store, config.Org)
	if err != nil {
		return Discovered{}, err
	}
	out := Discovered{Truncated: found.Truncated || len(found.Denied) > 0}
	sync := catalog.Discovery{Complete: !out.Truncated, IncludeDropped: includeDropped}
	for _, path := range found.Tables {
		id, err := o.identity(ctx, config, path, known)
		if err != nil {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			out.Problems = append(out.Problems, DiscoveryProblem{Path: path, Err: err})
		}
		if id != "" {
			sync.Found = append(sync.Found, catalog.FoundTable{Path: path, DeltaID: id, Governed: governed})
		}
	}
	// A table inside the partition folders of another table is not listed; a registered one
	// that still exists must not be marked as vanished.
	for path, id := range known {
		if slices.Contains(found.Tables, path) {
			continue
		}
		exists, err := storage.IsTable(ctx, bucket, path)
		if err != nil {
			// An unknown state does not mean that the table has vanished.
			sync.Complete = false
			out.Problems = append(out.Problems, DiscoveryProblem{Path: path, Err: err})
		}
		if exists {
			sync.Found = append(sync.Found, catalog.FoundTable{Path: path, DeltaID: id, Governed: governed})
		}
	}
	out.DiscoveryResult, err = o.Store.SyncTables(ctx, viewer, config.ID, sync)
	return out, err
}

// All discovers the tables of every configuration of every organisation, for the server itself.
// It continues after a configuration that fails, and returns all errors together.
func (o Discovery) All(ctx context.Context) error {
	ctx = authz.System(ctx, "periodic discovery")
	var errs []error
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.Organisation], error) {
		return o.Store.ListOrganisations(ctx, page)
	}, func(org catalog.Organisation) error {
		viewer := catalog.SystemViewer(org.ID)
		return catalog.Each(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
			return o.Store.ListStorageConfigs(ctx, viewer, page)
		}, func(config catalog.StorageConfig) error {
			if _, err := o.discover(ctx, viewer, config, false); err != nil {
				errs = append(errs, fmt.Errorf("discover %s: %w", config.ID, err))
			}
			return ctx.Err()
		})
	})
	return errors.Join(append(errs, err)...)
}

// identity reads the id of the table at a path. When its log cannot be read, a
// table that is registered there keeps its id and the error is returned too.
func (o Discovery) identity(
	ctx context.Context, config catalog.StorageConfig, path string, known map[string]catalog.DeltaID,
) (catalog.DeltaID, error) {
	snap, err := o.Lake.Any(ctx, config, path)
	if err != nil {
		return known[path], err
	}
	return catalog.DeltaID(snap.TableID()), nil
}

// registered returns the ids of a configuration's tables that are not dropped.
func (o Discovery) registered(ctx context.Context, config catalog.StorageConfig) (map[string]catalog.DeltaID, error) {
	known := map[string]catalog.DeltaID{}
	ctx = authz.System(ctx, "discovery")
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(ctx, catalog.SystemViewer(config.Org), catalog.TableFilter{Config: config.ID}, page)
	}, func(t catalog.LocatedTable) error {
		known[t.Path] = t.DeltaID
		return nil
	})
	return known, err
}
