package access

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// OpenRegistration returns a table for a caller who may change it as a whole. Error:
// [ErrPartlyVisible].
func (o Tables) OpenRegistration(ctx context.Context, a caller.Identity, located catalog.LocatedTable) (Registration, error) {
	r := Registration{o, a, located}
	why, err := r.judge(ctx)
	return r, o.note(ctx, a, Changing, err, grounds{located, why})
}

// JudgeRegistrations returns [ErrPartlyVisible] unless the caller may change each table of a
// configuration as a whole. It judges the tables in the given states; without states it judges
// all, including dropped ones.
func (o Tables) JudgeRegistrations(ctx context.Context, a caller.Identity, config catalog.ConfigID, states ...catalog.TableState) error {
	filter := catalog.TableFilter{Config: config, States: states}
	if len(states) == 0 {
		filter.States = catalog.TableStates()
	}
	system := authz.System(ctx, "tables of a configuration")
	var tables []catalog.LocatedTable
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.store.ListTables(system, catalog.SystemViewer(a.Org), filter, page)
	}, func(t catalog.LocatedTable) error {
		tables = append(tables, t)
		return nil
	})
	if err != nil {
		return err
	}
	return o.JudgeTables(ctx, a, tables, Changing)
}

// Bounds of the judgement of many tables.
const (
	// policyBatch is the number of tables whose policies are read at once.
	policyBatch = 256
	// logsAtOnce is the number of tables whose logs are read at the same time.
	logsAtOnce = 8
)

// JudgeTables returns [ErrPartlyVisible] unless the caller may change each of the tables as a
// whole.
func (o Tables) JudgeTables(ctx context.Context, a caller.Identity, tables []catalog.LocatedTable, purpose Purpose) error {
	judged := make([]grounds, len(tables))
	for from := 0; from < len(tables); from += policyBatch {
		to := min(from+policyBatch, len(tables))
		var governed []catalog.LocatedTable
		for _, t := range tables[from:to] {
			governed = append(governed, governing(t)...)
		}
		held, err := o.currentRules(ctx, a, governed)
		if err != nil {
			return o.note(ctx, a, purpose, err)
		}
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(logsAtOnce)
		for i := from; i < to; i++ {
			group.Go(func() error {
				if groupCtx.Err() != nil { // the judgement of another table has failed
					return groupCtx.Err()
				}
				why, err := Registration{o, a, tables[i]}.judgeUnder(groupCtx, held)
				judged[i] = grounds{tables[i], why}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return o.note(ctx, a, purpose, err)
		}
	}
	return o.note(ctx, a, purpose, nil, judged...)
}

// Located returns the table's record in the catalog.
func (r Registration) Located() catalog.LocatedTable { return r.located }

// Judge returns [ErrPartlyVisible] if the caller may no longer change the whole table.
func (r Registration) Judge(ctx context.Context) error {
	_, err := r.judge(ctx)
	return err
}

func (r Registration) judge(ctx context.Context) (basis, error) {
	held, err := r.tables.currentRules(ctx, r.caller, governing(r.located))
	if err != nil {
		return seesWhole, err
	}
	return r.judgeUnder(ctx, held)
}

// governing returns a table once for each id whose policies govern its registration: that of the
// table in its folder, and of the governed one that it replaced, until the replacement is adopted.
func governing(t catalog.LocatedTable) []catalog.LocatedTable {
	if t.State != catalog.TableIdentityChanged || t.PreviousDeltaID == "" {
		return []catalog.LocatedTable{t}
	}
	replaced := t
	replaced.DeltaID = t.PreviousDeltaID
	return []catalog.LocatedTable{t, replaced}
}

// judgeUnder judges the caller under the given rules. It reads the table's log only if neither the
// policies nor the caller's rights decide. The columns of a replaced table are unknown.
func (r Registration) judgeUnder(ctx context.Context, held rules) (basis, error) {
	ids := governing(r.located)
	policies := held.policies.of(r.located.DeltaID)
	if len(ids) > 1 {
		policies = append(policies, held.policies.own(ids[1].DeltaID)...)
	}
	if held.policies = policies; len(policies) == 0 {
		return seesWhole, nil
	}
	why, denied := mayChangePolicies(r.caller, held.subject)
	if denied == nil {
		return why, nil
	}
	whole, err := held.showAnyColumns()
	if err == nil && whole {
		return seesWhole, nil
	}
	if len(ids) == 1 {
		snap, unread := r.tables.lake.Peek(ctx, r.located.StorageConfig, r.located.Path, true)
		if unread == nil && snap.TableID() == string(r.located.DeltaID) {
			if (tableVersion{located: r.located, snap: snap, head: snap}).showsAll(held.policies, held.subject) {
				return seesWhole, nil
			}
			return seesWhole, denied
		}
	}
	if err == nil {
		err = denied
	}
	return seesWhole, err
}
