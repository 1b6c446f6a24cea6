package access

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/lake"
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

// Folder returns the folder of a table whose files the caller may delete. It refuses the files
// of another table than the one that the catalog knows. A folder without a log holds what an
// earlier purge did not delete. Errors: [ErrTableIdentity], those of opening a table.
func (r Registration) Folder(ctx context.Context) (objstore.Bucket, error) {
	if r.located.State == catalog.TableIdentityChanged {
		return nil, lake.ErrTableIdentity
	}
	bucket, err := r.tables.lake.Folder(ctx, r.located.StorageConfig, r.located.Path)
	if err != nil {
		return nil, err
	}
	for _, err := range bucket.List(ctx, logDir, objstore.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		snap, err := r.tables.lake.Any(ctx, r.located.StorageConfig, r.located.Path)
		if err == nil && snap.TableID() != string(r.located.DeltaID) {
			err = lake.ErrTableIdentity
		}
		return bucket, err
	}
	return bucket, nil
}

// showAnyColumns reports whether the rules show every row and column of a table whose columns
// are unknown: it may have had every column that a policy names.
func (r rules) showAnyColumns() (bool, error) {
	var columns []engine.Column
	for _, p := range r.policies {
		if p.Column != "" && !policy.HasColumn(columns, p.Column) {
			columns = append(columns, engine.Column{Name: p.Column, Type: sqltype.Varchar, Nullable: true})
		}
	}
	uncertain := func(catalog.Policy, string) bool { return true }
	filter, err := sqlfilter.Compile(r.policies.request(r.subject, columns, tableAlias, uncertain))
	return err == nil && (view{Filter: filter}).whole(), err
}
