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
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/sessions"
)

// foreignCheck is the outcome of a check.
type foreignCheck struct {
	snap    *delta.Snapshot
	located catalog.LocatedTable
	// asked counts the rules, broken those that some row breaks, by their kinds.
	asked  int
	broken map[string]int
	// lost are the rules that the other writer has lost.
	lost stated.Lost
	// restored and kept are the rules that it lost with the metadata of fields, by their
	// names: those that were written again, and those that only the catalog has.
	restored, kept []string
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
	located, err := f.located(ctx, config, path, snap)
	if err != nil {
		return out, err
	}
	out.located = located
	domains, err := f.domains(ctx, located, snap)
	if err != nil {
		return out, err
	}
	if out.lost, err = f.memory().Lost(ctx, located, snap); err != nil {
		return out, err
	}
	keys := out.lost.With(constraint.KeysOf(snap.Schema(), snap.Properties()), snap.Schema())
	if len(stored)+len(keys.Primary)+len(keys.Unique)+len(out.lost.Required)+len(domains.rules.Columns) == 0 {
		return out, nil
	}
	if err := lake.CheckRows(ctx, snap); err != nil {
		return out, err
	}
	set, err := write.RuleSet(ctx, f.Store, f.Parser, located, snap)
	if err != nil {
		return out, err
	}
	checks := slices.DeleteFunc(set.Rows(), func(r constraint.Rule) bool {
		if r.Kind == constraint.NotNull {
			return !slices.Contains(out.lost.Required, r.Name)
		}
		return r.Kind != constraint.Checked || !slices.ContainsFunc(stored, func(c catalog.Constraint) bool { return c.Name == r.Name })
	})
	source := lake.WholeSource(located, snap)
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
	holding := stated.Lost{Marks: out.lost.Marks}
	for _, key := range set.AllKeys() {
		n, err := scope.CountRepeated(ctx, key, rows)
		if err := note(write.KeyKind(key), n, err); err != nil {
			return out, err
		}
		switch {
		case !out.lost.HasKey(key):
		case n > 0:
			out.kept = append(out.kept, key.Name)
		case key.NullsEqual:
			holding.Keys.Primary = key.ColumnNames()
		default:
			holding.Keys.Unique = append(holding.Keys.Unique, key.Name)
		}
	}
	for _, rule := range checks {
		n, err := scope.CountBroken(ctx, rule, rows)
		kind := "check"
		if rule.Kind == constraint.NotNull {
			kind = "not_null"
		}
		if err := note(kind, n, err); err != nil {
			return out, err
		}
		switch {
		case kind == "check":
		case n > 0:
			out.kept = append(out.kept, rule.Name)
		default:
			holding.Required = append(holding.Required, rule.Name)
		}
	}
	if err := f.restore(ctx, located, snap, holding, &out); err != nil {
		return out, err
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

// located returns the registration of the table at a path. It has no id if the table is not in
// use there.
func (f *ForeignCommits) located(
	ctx context.Context, config catalog.StorageConfig, path string, snap *delta.Snapshot,
) (catalog.LocatedTable, error) {
	none := catalog.LocatedTable{Table: catalog.Table{Org: config.Org, Config: config.ID, Path: path}, StorageConfig: config}
	found, err := f.Tables.Registered(ctx, catalog.SystemViewer(config.Org), config.ID, catalog.DeltaID(snap.TableID()))
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return none, nil
	case err != nil || found.State == catalog.TableLive && found.Config == config.ID && found.Path == path:
		return found, err
	}
	return none, nil
}

// domains returns the domains of the newest version of a table. Domains whose values cannot be
// read are left out, and so are those of a table that is not in use at its place.
func (f *ForeignCommits) domains(ctx context.Context, located catalog.LocatedTable, snap *delta.Snapshot) (out foreignDomains, err error) {
	stored, err := f.Store.TableDomains(ctx, located.Org, catalog.DeltaID(snap.TableID()))
	if err != nil || len(stored.Columns) == 0 || located.ID == "" {
		return out, err
	}
	table, err := f.Tables.OpenUnfiltered(ctx, located)
	if err != nil {
		return out, err
	}
	out.table = table.AsSeen()
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
