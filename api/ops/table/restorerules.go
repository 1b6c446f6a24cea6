package table

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// sameRules returns the metadata of a historical version with the current keys and constraints in
// place of the historical ones.
func (o Rules) sameRules(ctx context.Context, now, then ruled) (none action.Metadata, err error) {
	keys, missing := now.keysAt(then.snap)
	stored, err := o.unusableAt(ctx, now, then.snap)
	if err != nil {
		return none, err
	}
	if err := inUse(append(missing, stored...)); err != nil {
		return none, err
	}
	alter := then.snap.Alter()
	added, err := now.constraintsAt(then.snap, alter)
	if err != nil {
		return none, err
	}
	questions := then.newKeys(constraint.KeysOf(then.snap.Schema(), then.snap.Properties()), keys, "primary_key", "is_unique", true)
	if err := o.checkAll(ctx, then, append(questions, added...)); err != nil {
		return none, err
	}
	schema, properties, err := keys.Write(alter.Schema(), alter.Properties())
	if err == nil {
		err = alter.Annotate(schema, properties)
	}
	if err == nil {
		err = access.NoteDroppedBefore(alter, now.snap, then.snap)
	}
	if err != nil {
		return none, err
	}
	change, err := alter.Change()
	return change.Metadata, err
}

// keysAt returns the keys by the names of their columns at another version, and the keys of which
// that version lacks a column.
func (r ruled) keysAt(snap *delta.Snapshot) (out constraint.Keys, missing catalog.FieldErrors) {
	names := map[string]string{}
	for _, f := range snap.Schema().Fields {
		names[f.PhysicalName()] = f.Name
	}
	then := func(columns []string, field string) (list []string) {
		for _, column := range columns {
			f, _ := r.snap.Schema().Field(column)
			name, ok := names[f.PhysicalName()]
			if !ok {
				missing = append(missing, catalog.FieldError{Field: field,
					Message: "names the column " + column + ", which that version does not have"})
			}
			list = append(list, name)
		}
		return list
	}
	keys := constraint.KeysOf(r.snap.Schema(), r.snap.Properties())
	out.Primary, out.Unique = then(keys.Primary, "primary_key"), then(keys.Unique, "is_unique")
	return out, missing
}

// unusableAt returns the constraints of the catalog that cannot be evaluated at another version:
// rows could not be written to it.
func (o Rules) unusableAt(ctx context.Context, r ruled, snap *delta.Snapshot) (out catalog.FieldErrors, err error) {
	stored, err := o.Store.Constraints(ctx, r.actor.Org, r.table.DeltaID)
	if err != nil {
		return nil, err
	}
	for _, k := range stored {
		_, now := constraint.ParseCheck(ctx, o.Parser, r.snap.Schema(), k.Expression)
		_, then := constraint.ParseCheck(ctx, o.Parser, snap.Schema(), k.Expression)
		switch {
		case errors.Is(then, constraint.ErrInvalidCheck) && now == nil:
			out = append(out, catalog.FieldError{Field: "constraints",
				Message: "the constraint " + k.Name + " has no meaning for the columns of that version"})
		case then != nil && now == nil:
			return nil, then
		}
	}
	return out, nil
}

// constraintsAt puts the constraints of the log into the metadata of another version, and returns
// checks for those that it did not have. A constraint that cannot be evaluated prevents the
// restore.
func (r ruled) constraintsAt(snap *delta.Snapshot, alter *delta.Alteration) (out []question, err error) {
	now, then := r.snap.Constraints(), snap.Constraints()
	for name := range then {
		if now[name] != then[name] {
			alter.DropConstraint(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] == then[name] {
			continue
		}
		check, err := constraint.ParseSpark(snap.Schema(), now[name])
		if err != nil {
			if _, here := constraint.ParseSpark(r.snap.Schema(), now[name]); here == nil {
				return nil, inUse(catalog.FieldErrors{{Field: "constraints",
					Message: "the constraint " + name + " has no meaning for the columns of that version"}})
			}
			return nil, &delta.FeatureError{Feature: "CHECK constraint " + name, Write: true, Reason: "its expression has no certain meaning here"}
		}
		if err := alter.AddConstraint(name, now[name]); err != nil {
			return nil, err
		}
		rule := constraint.CheckRule(name, check)
		out = append(out, question{field: "constraints", what: "rows that do not satisfy " + name, rule: &rule})
	}
	return out, nil
}
