package access

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Place is a folder in which a table can be created.
type Place struct {
	bucket objstore.Bucket
	opts   delta.Options
}

// Place returns the folder at a path below the root of a configuration.
func (o Tables) Place(ctx context.Context, config catalog.StorageConfig, path string) (Place, error) {
	bucket, err := o.lake.Folder(ctx, config, path)
	return Place{bucket: bucket, opts: o.lake.Options()}, err
}

// Create writes the log of a new table. Errors: delta.ErrTableExists, those of the store.
func (p Place) Create(ctx context.Context, options delta.CreateOptions) (*delta.Snapshot, error) {
	options.Options = p.opts
	return delta.Create(ctx, p.bucket, options)
}

// RemoveLog deletes a log that [Place.Create] wrote, before anybody else knows of the
// table.
func (p Place) RemoveLog(ctx context.Context) error {
	var names []string
	for object, err := range p.bucket.List(ctx, logDir, objstore.ListOptions{}) {
		if err != nil {
			return err
		}
		names = append(names, object.Name)
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, p.bucket.Delete(ctx, name))
	}
	return errors.Join(errs...)
}

// logDir is the folder of a table's log.
const logDir = "_delta_log/"

// FolderToPurge returns the folder of a table whose files the caller may delete: it must
// see all of the table. It refuses the files of another table than the one that the
// catalog knows. A folder without a log holds what an earlier purge did not delete.
// Errors: [ErrRowsFiltered], [ErrTableIdentity], those of opening a table.
func (o Tables) FolderToPurge(ctx context.Context, a caller.Identity, located catalog.LocatedTable) (objstore.Bucket, error) {
	if located.State == catalog.TableIdentityChanged {
		return nil, lake.ErrTableIdentity
	}
	bucket, err := o.lake.Folder(ctx, located.StorageConfig, located.Path)
	if err != nil {
		return nil, err
	}
	for _, err := range bucket.List(ctx, logDir, objstore.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		snap, err := o.lake.Any(ctx, located.StorageConfig, located.Path)
		switch {
		case err != nil:
			return nil, err
		case snap.TableID() != string(located.DeltaID):
			return nil, lake.ErrTableIdentity
		}
		t, err := o.seen(ctx, a, tableVersion{located: located, snap: snap, head: snap})
		if err == nil && !t.Whole() {
			err = ErrRowsFiltered
		}
		return bucket, err
	}
	return bucket, o.checkLeftovers(ctx, a, located)
}

// checkLeftovers judges a table without its log, so without its columns: the table may
// have had every column that a policy names.
func (o Tables) checkLeftovers(ctx context.Context, a caller.Identity, t catalog.LocatedTable) error {
	v, err := memo.NewEpochView(ctx, o.store)
	if err != nil {
		return err
	}
	held, err := rulesAt(ctx, o.store, a, v, []catalog.LocatedTable{t}, nil)
	if err != nil {
		return err
	}
	var columns []engine.Column
	for _, p := range held.policies {
		if p.Column != "" && !policy.HasColumn(columns, p.Column) {
			columns = append(columns, engine.Column{Name: p.Column, Type: sqltype.Varchar, Nullable: true})
		}
	}
	uncertain := func(catalog.Policy, string) bool { return true }
	filter, err := sqlfilter.Compile(held.policies.request(held.subject, columns, tableAlias, uncertain))
	if err == nil && !(view{Filter: filter}).whole() {
		err = ErrRowsFiltered
	}
	return err
}
