package ops

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// Drop takes a table out of the catalog. Its files stay, and discovery leaves it
// alone until asked to bring it back. With purge the files go first, the log
// before the data, so that no version names what is not there; a purge that
// failed can be asked for again. It takes a caller who sees all of the table:
// rows of others are not theirs to destroy.
func (o TableFiles) Drop(ctx context.Context, path TablePath, purge bool) error {
	if !purge {
		return o.Tables.Drop(ctx, path)
	}
	a, err := ActorFrom(ctx)
	if err != nil {
		return err
	}
	t, err := path.resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return err
	}
	if err := o.Permissions.Permits(ctx, a.Viewer, t.Config, auth.ScopeTablesModify); err != nil {
		return err
	}
	if err := o.mayPurge(ctx, a, t); err != nil {
		return err
	}
	bucket, err := o.Lake.table(ctx, t.StorageConfig, t.Path)
	if err != nil {
		return err
	}
	if err := maintenance.Purge(ctx, bucket); err != nil {
		return err
	}
	return o.Store.DropTable(ctx, a.Viewer, t.ID, catalog.AnyVersion)
}

// mayPurge refuses to delete the files of another table than the one that the
// catalog knows, and those of a table of which the caller does not see all. A
// folder without a log holds what an earlier purge left.
func (o TableFiles) mayPurge(ctx context.Context, a Actor, t catalog.LocatedTable) error {
	if t.State == catalog.TableIdentityChanged {
		return ErrTableIdentity
	}
	bucket, err := o.Lake.table(ctx, t.StorageConfig, t.Path)
	if err != nil {
		return err
	}
	for _, err := range bucket.List(ctx, logDir, objstore.ListOptions{}) {
		if err != nil {
			return err
		}
		snap, err := o.Lake.Any(ctx, t.StorageConfig, t.Path)
		switch {
		case err != nil:
			return err
		case snap.TableID() != string(t.DeltaID):
			return ErrTableIdentity
		}
		v, err := o.viewOf(ctx, a, t, snap)
		if err != nil {
			return err
		}
		return wholly(v)
	}
	return o.mayPurgeLeftovers(ctx, a, t)
}

func wholly(v view) error {
	if !v.whole() {
		return errRowsFiltered
	}
	return nil
}

// mayPurgeLeftovers judges without a log, of which the columns would be known: the
// table may have had each that a policy is about.
func (o TableFiles) mayPurgeLeftovers(ctx context.Context, a Actor, t catalog.LocatedTable) error {
	m, err := newMoment(ctx, o.Store)
	if err != nil {
		return err
	}
	held, err := rulesFor(ctx, o.Store, a, m, []catalog.LocatedTable{t}, nil)
	if err != nil {
		return err
	}
	var columns []engine.Column
	for _, p := range held.policies {
		if p.Column != "" && !policy.HasColumn(columns, p.Column) {
			columns = append(columns, engine.Column{Name: p.Column, Type: "VARCHAR", Nullable: true})
		}
	}
	filter, err := policy.Compile(held.policies.request(held.subject, columns, tableAlias, func(catalog.Policy, string) bool { return true }))
	if err != nil {
		return err
	}
	return wholly(view{Filter: filter})
}
