package write

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Memory remembers in the catalog which rules the logs of tables state, because other writers
// lose what they do not know: delta-rs and others write the metadata of fields anew. A rule that
// is removed through this server is forgotten before the commit; a rule that is added is
// remembered after it, or by the next write that finds it in the log.
type Memory struct{ Store catalog.Constraints }

// memory is what is remembered of a table, compared with one of its versions.
type memory struct {
	catalog.RememberedRules
	lost stated.Lost
	// known reports that the version was compared. A version that is older than the remembered
	// one cannot be.
	known bool
}

func (m Memory) compare(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) (out memory, err error) {
	if t.ID == "" || string(t.DeltaID) != snap.TableID() {
		return out, nil
	}
	out.RememberedRules, err = m.Store.RememberedRules(authz.System(ctx, "rules of a table"), t.ID, t.DeltaID)
	if out.known = err == nil && out.Version <= snap.Version(); out.known && out.Table != "" {
		out.lost = stated.Rules(out.Stated).LostIn(snap, out.Version)
	}
	return out, err
}

// Lost returns the rules of a table that a version of it does not state any more, although no
// change through this server has removed them. Rules that are new are remembered.
func (m Memory) Lost(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) (stated.Lost, error) {
	found, err := m.compare(ctx, t, snap)
	if err == nil && found.known && len(found.lost.Dropped) == 0 {
		err = m.update(ctx, t, snap, found, found.Dropped)
	}
	return found.lost, err
}

// Dropped returns the rules that other writers have dropped by name, since the rules were last
// changed through this server.
func (m Memory) Dropped(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) ([]stated.Dropped, error) {
	found, err := m.compare(ctx, t, snap)
	return allDropped(found.Dropped, found.lost.Dropped, snap), err
}

// NoteDropped ends that [Memory.Lost] reports the rules that other writers have dropped by name.
func (m Memory) NoteDropped(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) error {
	found, err := m.compare(ctx, t, snap)
	if err != nil || !found.known {
		return err
	}
	var dropped []catalog.DroppedRule
	for _, d := range allDropped(found.Dropped, found.lost.Dropped, snap) {
		dropped = append(dropped, catalog.DroppedRule(d))
	}
	return m.update(ctx, t, snap, found, dropped)
}

// allDropped returns all rules that were dropped and that a version does not state.
func allDropped(before []catalog.DroppedRule, now []stated.Dropped, snap *delta.Snapshot) (out []stated.Dropped) {
	for _, d := range before {
		if d := stated.Dropped(d); !d.Again(snap) && !slices.Contains(now, d) {
			out = append(out, d)
		}
	}
	return append(out, now...)
}

// update remembers what a version states together with what it has lost, if that is new.
func (m Memory) update(
	ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot, before memory, dropped []catalog.DroppedRule,
) error {
	now := before.lost.And(snap)
	// The version counts, too: see [stated.Rules.LostIn].
	same := now.Same(stated.Rules(before.Stated)) && slices.Equal(dropped, before.Dropped)
	if same && (before.Table == "" || !snap.AlteredSince(before.Version)) {
		return nil
	}
	return m.save(ctx, t, snap.Version(), now, dropped)
}

func (m Memory) save(
	ctx context.Context, t catalog.LocatedTable, version int64, rules stated.Rules, dropped []catalog.DroppedRule,
) error {
	return m.Store.RememberRules(authz.System(ctx, "rules of a table"), catalog.RememberedRules{
		Table: t.ID, DeltaID: t.DeltaID, Version: version, Stated: catalog.StatedRules(rules), Dropped: dropped,
	})
}

// Forget forgets the rules that an alteration of a version is about to remove.
func (m Memory) Forget(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot, change delta.Change) error {
	schema, err := delta.ParseSchema(change.Metadata.SchemaString)
	if err != nil {
		return err
	}
	return m.drop(ctx, t, snap, snap.Version()+1, stated.In(snap.Schema(), snap.Properties()),
		stated.In(schema, change.Metadata.Configuration))
}

// ForgetLost forgets rules that a version of the table has lost: those that rules holds, by
// physical names of columns.
func (m Memory) ForgetLost(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot, rules stated.Rules) error {
	return m.drop(ctx, t, snap, snap.Version(), rules, stated.Rules{})
}

// drop forgets the rules that before has and after has not, as of a version.
func (m Memory) drop(
	ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot, version int64, before, after stated.Rules,
) error {
	found, err := m.compare(ctx, t, snap)
	if err != nil || !found.known || found.Table == "" {
		return err
	}
	left := stated.Rules(found.Stated).Without(before, after)
	if left.Same(stated.Rules(found.Stated)) {
		return nil
	}
	return m.save(ctx, t, version, left, found.Dropped)
}

// Altered remembers the rules of a version that this server has made by an alteration.
func (m Memory) Altered(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) error {
	found, err := m.compare(ctx, t, snap)
	if err != nil || !found.known {
		return err
	}
	return m.update(ctx, t, snap, found, nil)
}
