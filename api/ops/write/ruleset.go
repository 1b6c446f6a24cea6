package write

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// RuleSet returns what new rows of a version of a table must satisfy: the rules of its
// log, those of the catalog, and those that another writer has lost.
func RuleSet(
	ctx context.Context, store catalog.Constraints, parser engine.Parser, t catalog.LocatedTable, snap *delta.Snapshot,
) (*constraint.Set, error) {
	set, err := constraint.Of(snap)
	if err != nil {
		return nil, err
	}
	lost, err := Memory{store}.Lost(ctx, t, snap)
	if err != nil {
		return nil, err
	}
	set.Replace(lost.With(set.Keys, snap.Schema()), lost.Required)
	stored, err := store.Constraints(ctx, t.Org, catalog.DeltaID(snap.TableID()))
	if err != nil {
		return nil, err
	}
	for _, c := range stored {
		if InLog(ctx, parser, snap, c) {
			continue
		}
		if err := set.Add(ctx, parser, c.Name, c.Expression); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// InLog reports whether a constraint of the catalog was moved into the table's log. If
// another writer has put another constraint of the same name there, both hold.
func InLog(ctx context.Context, parser engine.Parser, snap *delta.Snapshot, c catalog.Constraint) bool {
	text, ok := snap.Constraints()[strings.ToLower(c.Name)]
	if !ok {
		return false
	}
	check, err := constraint.ParseCheck(ctx, parser, snap.Schema(), c.Expression)
	if err != nil {
		return false
	}
	_, portable := check.Portable()
	return portable && check.Spark() == text
}

// KeyKind names the kind of a key in replies and metrics.
func KeyKind(key constraint.Key) string {
	if key.NullsEqual {
		return "primary_key"
	}
	return "unique"
}
