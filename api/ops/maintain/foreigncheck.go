package maintain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/sessions"
)

// foreignCheck is the outcome of a check.
type foreignCheck struct {
	snap *delta.Snapshot
	// asked counts the rules, broken those that some row breaks, by their kinds.
	asked  int
	broken map[string]int
}

// countBroken counts the broken rules that other writers do not know: keys, and the constraints
// and domains of the catalog.
func (f *ForeignCommits) countBroken(ctx context.Context, config catalog.StorageConfig, path string) (foreignCheck, error) {
	snap, err := f.Lake.Any(ctx, config, path)
	if err != nil {
		return foreignCheck{}, err
	}
	out := foreignCheck{snap: snap, broken: map[string]int{}}
	if config.Sandbox {
		size := catalog.TableSize{Version: snap.Version(), Bytes: snap.TotalBytes()}
		if err := f.Store.MeasureTable(ctx, config.ID, path, size); err != nil {
			return out, err
		}
	}
	stored, err := f.Store.Constraints(ctx, config.Org, catalog.DeltaID(snap.TableID()))
	if err != nil {
		return out, err
	}
	stored = slices.DeleteFunc(stored, func(c catalog.Constraint) bool { return write.InLog(ctx, f.Parser, snap, c) })
	domains, err := f.domains(ctx, config, path, snap)
	if err != nil {
		return out, err
	}
	keys := constraint.KeysOf(snap.Schema(), snap.Properties())
	if len(stored)+len(keys.Primary)+len(keys.Unique)+len(domains.rules.Columns) == 0 {
		return out, nil
	}
	if err := lake.CheckRows(ctx, snap); err != nil {
		return out, err
	}
	set, err := write.RuleSet(ctx, f.Store, f.Parser, config.Org, snap)
	if err != nil {
		return out, err
	}
	checks := slices.DeleteFunc(set.Rows(), func(r constraint.Rule) bool {
		return r.Kind != constraint.Checked || !slices.ContainsFunc(stored, func(c catalog.Constraint) bool { return c.Name == r.Name })
	})
	source := lake.WholeSource(catalog.LocatedTable{Table: catalog.Table{Path: path}, StorageConfig: config}, snap)
	key := sessions.Key{Org: string(config.Org), Roots: []string{lake.SessionRoot(config)}}
	if len(domains.rules.Columns) > 0 {
		key = domains.rules.SessionKey(domains.table)
	}
	held, err := f.session(ctx, key)
	if err != nil {
		return out, err
	}
	defer held.Release()
	scope := constraint.Scope{Session: held, Sources: []engine.Source{source}, Lease: held.Lease}
	rows := constraint.Relation{From: source.Relation()}
	note := func(kind string, n int64, err error) error {
		if out.asked++; n > 0 {
			out.broken[kind]++
		}
		return err
	}
	for _, key := range set.AllKeys() {
		n, err := scope.CountRepeated(ctx, key, rows)
		if err := note(write.KeyKind(key), n, err); err != nil {
			return out, err
		}
	}
	for _, rule := range checks {
		n, err := scope.CountBroken(ctx, rule, rows)
		if err := note("check", n, err); err != nil {
			return out, err
		}
	}
	for _, column := range domains.rules.Columns {
		source := domains.table.WholeSource()
		scope.Sources = append([]engine.Source{source}, column.Sources...)
		n, err := scope.CountBroken(ctx, column.Rule, constraint.Relation{From: source.Relation()})
		if err := note("domain", n, err); err != nil {
			return out, err
		}
	}
	return out, nil
}

// foreignDomains are the domains of a table, for the version that is checked.
type foreignDomains struct {
	table access.Table
	rules write.TableRules
}

// domains returns the domains of the newest version of a table. Domains whose values cannot be
// read are left out, and so are those of a table that is not in use at its place.
func (f *ForeignCommits) domains(
	ctx context.Context, config catalog.StorageConfig, path string, snap *delta.Snapshot,
) (out foreignDomains, err error) {
	id := catalog.DeltaID(snap.TableID())
	stored, err := f.Store.TableDomains(ctx, config.Org, id)
	if err != nil || len(stored.Columns) == 0 {
		return out, err
	}
	located, err := f.Tables.Registered(ctx, catalog.SystemViewer(config.Org), config.ID, id)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return out, nil
	case err != nil:
		return out, err
	case located.State != catalog.TableLive || located.Config != config.ID || located.Path != path:
		return out, nil
	}
	if out.table, err = f.Tables.OpenUnfiltered(ctx, located); err != nil {
		return out, err
	}
	out.rules, err = f.Domains.Rules(ctx, out.table, nil)
	out.rules.Columns = slices.DeleteFunc(out.rules.Columns, func(c write.ColumnRule) bool { return c.Err != nil })
	return out, err
}

// session waits until no statement waits for memory.
func (f *ForeignCommits) session(ctx context.Context, key sessions.Key) (*sessions.Held, error) {
	for f.Pool.Stats().Queued > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return f.Pool.OpenWhenFree(ctx, key, "")
}
