package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// Discovered is the result of a discovery.
type Discovered struct {
	// Found is the number of tables that exist and are registered and not dropped. The other
	// numbers are those of the fields of [catalog.DiscoveryResult].
	Found, Added, Returned, Missing, Vanished, Changed int
	// Problems lists folders whose log cannot be read, at most 100. Tables that are already
	// registered there stay registered.
	Problems []DiscoveryProblem
	// Truncated reports that a limit was reached, or that a folder could not be listed, so no table
	// was marked as vanished.
	Truncated bool
}

// maxProblems bounds [Discovered.Problems], which is part of the record of an operation.
const maxProblems = 100

// DiscoveryProblem is one folder that could not be registered.
type DiscoveryProblem struct {
	Path string
	Err  error
}

// DiscoveryProgress reports how far a discovery has come.
type DiscoveryProgress = storage.Progress

// Discovery registers the tables in storage. It registers them in parts while it lists further
// folders: a discovery that fails or is cancelled leaves the tables registered that it has found,
// and its memory depends on the limits of [storage.DiscoverOptions], not on the storage.
type Discovery struct {
	Store catalog.Store
	Lake  *lake.Lake
	// Logs remembers the logs that were read. If it is nil, every log is read by every discovery.
	Logs *KnownLogs
	// VanishAfter is how long discoveries must miss a table before it counts as vanished: a listing of
	// a store can be wrong.
	VanishAfter time.Duration
}

const (
	// discoveryPart is the number of tables that are registered in one transaction.
	discoveryPart = 256
	// parallelLogs is the number of logs that a discovery reads at once.
	parallelLogs = 8
)

// discover lists the root of a configuration and updates the catalog accordingly. progress may
// be nil.
func (o Discovery) discover(
	ctx context.Context, viewer catalog.Viewer, config catalog.StorageConfig, includeDropped bool, progress func(DiscoveryProgress),
) (Discovered, error) {
	bucket, err := o.Lake.Root(ctx, config)
	if err != nil {
		return Discovered{}, err
	}
	governed, err := access.Governs(ctx, o.Store, config.Org)
	if err != nil {
		return Discovered{}, err
	}
	d := &discovering{
		Discovery: o, viewer: viewer, config: config, bucket: bucket, governed: governed, includeDropped: includeDropped,
		listed: map[string]bool{}, logs: o.Logs.begin(config.ID),
	}
	covered, err := storage.Discover(ctx, bucket, storage.DiscoverOptions{Progress: progress}, func(t storage.FoundTable) error {
		return d.add(ctx, t)
	})
	if err == nil {
		err = d.register(ctx)
	}
	if err != nil {
		return d.out, err
	}
	d.out.Truncated = !covered.Complete()
	complete, err := d.visitUnlisted(ctx)
	if err != nil {
		return d.out, err
	}
	d.logs.end()
	if complete && !d.out.Truncated {
		err = d.sync(ctx, catalog.Discovery{Complete: true})
	}
	return d.out, err
}

// discovering is a discovery under way. It belongs to one goroutine.
type discovering struct {
	Discovery
	viewer         catalog.Viewer
	config         catalog.StorageConfig
	bucket         objstore.Bucket
	governed       bool
	includeDropped bool
	// part holds found tables that are not registered yet, listed the paths of all.
	part   []storage.FoundTable
	listed map[string]bool
	logs   *knownLogs
	out    Discovered
}

// add registers a table together with others.
func (d *discovering) add(ctx context.Context, t storage.FoundTable) error {
	d.listed[t.Path] = true
	d.part = append(d.part, t)
	if len(d.part) < discoveryPart {
		return nil
	}
	return d.register(ctx)
}

// register registers the tables of part.
func (d *discovering) register(ctx context.Context) error {
	if len(d.part) == 0 {
		return nil
	}
	known, err := d.registered(ctx, d.part)
	if err != nil {
		return err
	}
	ids := make([]catalog.DeltaID, len(d.part))
	failures := make([]error, len(d.part))
	if err := each(ctx, len(d.part), func(ctx context.Context, i int) {
		ids[i], failures[i] = d.identity(ctx, d.part[i], known[d.part[i].Path])
	}); err != nil {
		return err
	}
	var sync catalog.Discovery
	for i, t := range d.part {
		d.problem(t.Path, failures[i])
		switch before := known[t.Path]; {
		case ids[i] == "":
		case before.State == catalog.TableLive && before.DeltaID == ids[i] && before.MissingSince.IsZero():
			d.out.Found++ // the registration is as it should be
		default:
			sync.Found = append(sync.Found, catalog.FoundTable{Path: t.Path, DeltaID: ids[i], Governed: d.governed})
		}
	}
	d.part = d.part[:0]
	return d.sync(ctx, sync)
}

// registered returns the registrations at the paths of tables.
func (d *discovering) registered(ctx context.Context, tables []storage.FoundTable) (map[string]catalog.Table, error) {
	filter := catalog.TableFilter{Config: d.config.ID, Paths: make([]string, len(tables)), States: catalog.TableStates()}
	for i, t := range tables {
		filter.Paths[i] = t.Path
	}
	known := make(map[string]catalog.Table, len(tables))
	err := d.eachTable(ctx, filter, func(t catalog.LocatedTable) error {
		known[t.Path] = t.Table
		return nil
	})
	return known, err
}

func (d *discovering) eachTable(ctx context.Context, filter catalog.TableFilter, visit func(catalog.LocatedTable) error) error {
	ctx = authz.System(ctx, "discovery")
	return catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return d.Store.ListTables(ctx, catalog.SystemViewer(d.config.Org), filter, page)
	}, visit)
}

// identity returns the id of a found table, or "" if it cannot be registered. It reads the log
// only if it may have changed. When the log cannot be read, a table that is registered there keeps
// its id and the error is returned too.
func (d *discovering) identity(ctx context.Context, found storage.FoundTable, known catalog.Table) (catalog.DeltaID, error) {
	if known.State == catalog.TableDropped {
		if !d.includeDropped {
			return "", nil
		}
		known.DeltaID = ""
	}
	if version, ok := d.logs.version(found, known.DeltaID); ok {
		advanced, err := d.Lake.Advanced(ctx, d.config, found.Path, version)
		if err != nil {
			return known.DeltaID, err
		}
		if !advanced {
			d.logs.keep(found, known.DeltaID, version)
			return known.DeltaID, nil
		}
	}
	begun := time.Now()
	snap, err := d.Lake.Peek(ctx, d.config, found.Path, known.ID != "")
	if err != nil {
		return known.DeltaID, err
	}
	id := catalog.DeltaID(snap.TableID())
	if begun.Sub(found.Log.ModTime) > minLogAge {
		d.logs.keep(found, id, snap.Version())
	}
	return id, nil
}

// visitUnlisted updates registered tables that were not listed. A table inside the partition
// folders of another table is not listed; one that still exists must not be marked as vanished.
// It reports whether the state of each is known.
func (d *discovering) visitUnlisted(ctx context.Context) (complete bool, err error) {
	complete = true
	var unlisted []catalog.Table
	check := func() error {
		exists, failures := make([]bool, len(unlisted)), make([]error, len(unlisted))
		if err := each(ctx, len(unlisted), func(ctx context.Context, i int) {
			exists[i], failures[i] = storage.IsTable(ctx, d.bucket, unlisted[i].Path)
		}); err != nil {
			return err
		}
		var sync catalog.Discovery
		for i, t := range unlisted {
			switch {
			case failures[i] != nil: // an unknown state does not mean that the table has vanished
				complete = false
				d.problem(t.Path, failures[i])
			case exists[i]:
				sync.Found = append(sync.Found, catalog.FoundTable{Path: t.Path, DeltaID: t.DeltaID, Governed: d.governed})
			case !d.out.Truncated:
				sync.Missing = append(sync.Missing, t.Path)
			}
		}
		unlisted = unlisted[:0]
		return d.sync(ctx, sync)
	}
	err = d.eachTable(ctx, catalog.TableFilter{Config: d.config.ID}, func(t catalog.LocatedTable) error {
		if d.listed[t.Path] {
			return nil
		}
		if unlisted = append(unlisted, t.Table); len(unlisted) < discoveryPart {
			return nil
		}
		return check()
	})
	if err == nil && len(unlisted) > 0 {
		err = check()
	}
	return complete, err
}

// sync writes a part of the discovery to the catalog and counts its changes.
func (d *discovering) sync(ctx context.Context, part catalog.Discovery) error {
	if len(part.Found)+len(part.Missing) == 0 && !part.Complete {
		return nil
	}
	part.IncludeDropped, part.VanishAfter = d.includeDropped, d.VanishAfter
	result, err := d.Store.SyncTables(ctx, d.viewer, d.config.ID, part)
	d.out.Found += result.Found
	d.out.Added += len(result.Added)
	d.out.Returned += len(result.Returned)
	d.out.Missing += result.Missing
	d.out.Vanished += len(result.Vanished)
	d.out.Changed += len(result.Changed)
	return err
}

func (d *discovering) problem(path string, err error) {
	if err != nil && len(d.out.Problems) < maxProblems {
		d.out.Problems = append(d.out.Problems, DiscoveryProblem{Path: path, Err: err})
	}
}

// each calls f for 0 to n-1, several at a time. The error is that of ctx.
func each(ctx context.Context, n int, f func(ctx context.Context, i int)) error {
	var group errgroup.Group
	group.SetLimit(parallelLogs)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() == nil {
				f(ctx, i)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// All discovers the tables of every configuration of every organisation, for the server itself,
// except those that only former members would see. It continues after a configuration that fails, and
// returns all errors together.
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
			ownerless, err := orphaned(ctx, o.Store, config)
			if err == nil && !ownerless {
				_, err = o.discover(ctx, viewer, config, false, nil)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("discover %s: %w", config.ID, err))
			}
			return ctx.Err()
		})
	})
	return errors.Join(append(errs, err)...)
}
