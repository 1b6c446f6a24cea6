package maintain

import (
	"context"
	"errors"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// restore writes the rules that another writer has lost with the metadata of fields, and that all
// rows of a version satisfy, to the table again, in a commit of its own. Rows that are committed
// meanwhile make it a conflict, and the check is repeated. If the table cannot be written to, the
// catalog keeps the rules.
func (f *ForeignCommits) restore(
	ctx context.Context, located catalog.LocatedTable, snap *delta.Snapshot, holding stated.Lost, out *foreignCheck,
) error {
	if !holding.Held() && !holding.Marks {
		return nil
	}
	names := slices.Concat(holding.Keys.Unique, holding.Required)
	if len(holding.Keys.Primary) > 0 {
		names = append(names, "primary key")
	}
	err := f.write(ctx, located, snap, holding)
	switch {
	case err == nil:
		out.restored = names
		return nil
	case errors.Is(err, delta.ErrConflict), errors.Is(err, catalog.ErrTableMoving), ctx.Err() != nil:
		return err
	}
	f.Logger.WarnContext(ctx, "lost rules not written", "table_id", snap.TableID(), "error", err)
	out.kept = append(out.kept, names...)
	return nil
}

func (f *ForeignCommits) write(
	ctx context.Context, located catalog.LocatedTable, snap *delta.Snapshot, holding stated.Lost,
) error {
	alter := snap.Alter()
	for _, column := range holding.Required {
		if err := alter.SetNotNull([]string{column}); err != nil {
			return err
		}
	}
	keys := holding.With(constraint.KeysOf(snap.Schema(), snap.Properties()), snap.Schema())
	schema, properties, err := keys.Write(alter.Schema(), alter.Properties())
	if err == nil {
		err = alter.Annotate(schema, properties)
	}
	if err != nil {
		return err
	}
	change, err := alter.Change()
	if err != nil {
		return err
	}
	txn := snap.Begin(delta.Operation{Name: "RESTORE RULES", Parameters: map[string]string{}})
	txn.Alter(change)
	txn.ReadWholeTable()
	table, err := f.Tables.OpenUnfiltered(ctx, located)
	if err != nil {
		return err
	}
	committing, lease, err := f.Leases.Begin(ctx, table, catalog.WriteRows)
	if err != nil {
		return err
	}
	defer lease.End()
	next, err := lease.Attempt(committing, txn)
	if err != nil {
		return write.LeaseError(committing, err)
	}
	f.Lake.Committed(ctx, located, next)
	return nil
}

func (f *ForeignCommits) memory() write.Memory { return write.Memory{Store: f.Store} }

// reportLost counts and logs rules that another writer has lost.
func (f *ForeignCommits) reportLost(ctx context.Context, found foreignCheck) {
	dropped := make([]string, len(found.lost.Dropped))
	for i, d := range found.lost.Dropped {
		dropped[i] = d.Kind
		if d.Name != "" {
			dropped[i] += " " + d.Name
		}
	}
	for _, of := range []struct {
		outcome, message string
		rules            []string
	}{
		{"restored", "rules that another writer lost were written again", found.restored},
		{"kept", "rules that another writer lost are kept in the catalog", found.kept},
		{"dropped", "another writer dropped rules by name", dropped},
	} {
		if len(of.rules) > 0 {
			f.Logger.WarnContext(ctx, of.message, "table_id", found.snap.TableID(), "version", found.snap.Version(), "rules", of.rules)
			f.Metrics.lost.WithLabelValues(of.outcome).Add(float64(len(of.rules)))
		}
	}
}
