package domains

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectDomainValue = "SELECT v.id, v.parent_id, v.value, v.label, v.description, v.joining FROM domain_values v"

// valueOrder puts parents before children.
const valueOrder = " ORDER BY CASE WHEN v.parent_id = '' THEN 0 ELSE 1 END, v.ordinal"

func valueDest(v *catalog.DomainValue) []any {
	return []any{
		sqldb.OrEmpty(&v.ID), sqldb.OrEmpty(&v.Parent), sqldb.OrEmpty(&v.Value), sqldb.OrEmpty(&v.Label),
		sqldb.OrEmpty(&v.Description), sqldb.OrEmpty(&v.Joining),
	}
}

func scanDomainValue(r sqldb.Row) (v catalog.DomainValue, err error) {
	err = r.Scan(valueDest(&v)...)
	return v, err
}

// domainValues returns the values of a domain, also one whose deletion is under way.
func domainValues(ctx context.Context, s sqldb.Session, id catalog.DomainID) ([]catalog.DomainValue, error) {
	return sqldb.List(ctx, s, scanDomainValue, selectDomainValue+" WHERE v.domain_id = ?"+valueOrder, id)
}

// DomainValues implements [catalog.Domains].
func (s *Store) DomainValues(ctx context.Context, org catalog.OrgID, id catalog.DomainID) (none catalog.DomainValues, err error) {
	out := catalog.DomainValues{Values: []catalog.DomainValue{}}
	found, err := sqldb.List(ctx, s.db.Read(), func(r sqldb.Row) (v catalog.DomainValue, err error) {
		err = r.Scan(append([]any{&out.Version}, valueDest(&v)...)...)
		return v, err
	}, `SELECT d.version, v.id, v.parent_id, v.value, v.label, v.description, v.joining
		FROM domains d LEFT JOIN domain_values v ON v.domain_id = d.id AND NOT EXISTS (SELECT 1 FROM value_changes c
			WHERE c.domain_id = d.id AND c.kind = 'delete' AND c.value_id IN (v.id, v.parent_id))
		WHERE d.org_id = ? AND d.id = ? AND `+sqldb.LiveOrg("d.org_id")+valueOrder, org, id)
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, catalog.ErrNotFound
	case found[0].ID != "": // otherwise the row holds the version only
		out.Values = found
	}
	return out, nil
}

// textBelow is the text of a value and that of its parent, if it has one.
type textBelow struct{ parent, text string }

// idsByText maps the texts of values to their ids.
func idsByText(values []catalog.DomainValue) map[textBelow]catalog.ValueID {
	texts := make(map[catalog.ValueID]string, len(values))
	ids := make(map[textBelow]catalog.ValueID, len(values))
	for _, v := range values {
		texts[v.ID] = v.Value
		ids[textBelow{texts[v.Parent], v.Value}] = v.ID
	}
	return ids
}

// identified gives ids to values and to their parents, which are in the input or in
// parents. A value in kept gets its id from there.
func identified(values []catalog.NewDomainValue, parents map[string]catalog.ValueID,
	kept map[textBelow]catalog.ValueID) []catalog.DomainValue {
	above := make(map[string]catalog.ValueID, len(parents)+len(values))
	for text, id := range parents {
		above[text] = id
	}
	out := make([]catalog.DomainValue, len(values))
	for i, n := range values {
		v := catalog.DomainValue{ID: n.ID, Value: n.Value, Label: n.Label, Description: n.Description}
		if v.ID == "" {
			v.ID = kept[textBelow{n.Parent, n.Value}]
		}
		if v.ID == "" {
			v.ID = catalog.NewID[catalog.ValueID]()
		}
		if n.Parent == "" {
			above[n.Value] = v.ID
		} else {
			v.Parent = above[n.Parent]
		}
		out[i] = v
	}
	return out
}

// insertValues adds values, the first one with the given ordinal.
func insertValues(ctx context.Context, tx sqldb.Session, id catalog.DomainID, ordinal int64, values []catalog.DomainValue) error {
	const batch = 500
	for len(values) > 0 {
		part := values[:min(batch, len(values))]
		values = values[len(part):]
		args := make([]any, 0, 8*len(part))
		for _, v := range part {
			args = append(args, v.ID, id, v.Parent, v.Value, v.Label, v.Description, v.Joining, ordinal)
			ordinal++
		}
		err := tx.Insert(ctx, "values", `INSERT INTO domain_values (id, domain_id, parent_id, value, label, description, joining, ordinal)
			VALUES `+strings.TrimSuffix(strings.Repeat("("+sqldb.Marks(8)+"), ", len(part)), ", "), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// changeValues runs fn in a transaction with a domain and its values, raises the
// versions, and returns the changed domain. The columns that use the domain must be those
// of t.Uses, unless that is nil.
func (s *Store) changeValues(ctx context.Context, t catalog.DomainTarget,
	fn func(tx sqldb.Session, d catalog.Domain, values []catalog.DomainValue) error) (changed catalog.Domain, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		d, err := targeted(ctx, tx, t)
		if err != nil {
			return err
		}
		if !d.Listed() {
			return catalog.ErrDomainKind
		}
		if t.Uses != nil {
			uses, err := domainUses(ctx, tx, d.Org, d.ID)
			if err == nil {
				err = compareUses(t, d, uses)
			}
			if err != nil {
				return err
			}
		}
		values, err := domainValues(ctx, tx, d.ID)
		if err != nil {
			return err
		}
		if err := s.raiseDomain(ctx, tx, d.ID); err != nil {
			return err
		}
		if err := fn(tx, d, values); err != nil {
			return err
		}
		changed, err = sqldb.One(ctx, tx, scanDomain, selectDomain+" WHERE d.id = ?", d.ID)
		return err
	})
	return changed, err
}

// targeted returns the domain of a target at the expected version.
func targeted(ctx context.Context, tx sqldb.Session, t catalog.DomainTarget) (catalog.Domain, error) {
	if t.Table == "" {
		return sharedDomainAt(ctx, tx, t.Org, t.Domain, t.ExpectedVersion)
	}
	table, err := locate(ctx, tx, t.Viewer, t.Table)
	if err != nil {
		return catalog.Domain{}, err
	}
	d, err := sqldb.One(ctx, tx, scanDomain, selectDomain+` WHERE d.org_id = ? AND d.id = ? AND d.name_key = ''
		AND EXISTS (SELECT 1 FROM column_domains a WHERE a.domain_id = d.id AND a.delta_id = ?)`, t.Org, t.Domain, table.DeltaID)
	if err == nil {
		err = sqldb.Compare(t.ExpectedVersion, d.Version)
	}
	return d, err
}

// valueIn returns the value with an id and the text of its parent.
func valueIn(values []catalog.DomainValue, id catalog.ValueID) (found catalog.DomainValue, parent string, err error) {
	texts := make(map[catalog.ValueID]string, len(values))
	for _, v := range values {
		texts[v.ID] = v.Value
		if v.ID == id {
			return v, texts[v.Parent], nil
		}
	}
	return found, "", catalog.ErrNotFound
}

// AddDomainValues implements [catalog.Domains].
func (s *Store) AddDomainValues(ctx context.Context, t catalog.DomainTarget,
	values []catalog.NewDomainValue) (changed catalog.Domain, added []catalog.DomainValue, err error) {
	changed, err = s.changeValues(ctx, t, func(tx sqldb.Session, d catalog.Domain, present []catalog.DomainValue) error {
		if err := unchanging(ctx, tx, d.ID); err != nil {
			return err
		}
		for _, v := range values {
			if v.Parent != "" && d.Kind != catalog.DomainHierarchical {
				return catalog.ErrDomainKind
			}
		}
		if err := catalog.ValidateDomainValues(d.Kind, values); err != nil {
			return err
		}
		ids, parents := idsByText(present), map[string]catalog.ValueID{}
		for _, v := range present {
			if v.Parent == "" {
				parents[v.Value] = v.ID
			}
		}
		added = identified(values, parents, nil)
		for i, n := range values {
			if _, taken := ids[textBelow{n.Parent, n.Value}]; taken {
				return &catalog.ExistsError{Field: fmt.Sprintf("values[%d].value", i)}
			}
			if n.Parent != "" && added[i].Parent == "" {
				return catalog.FieldErrors{{Field: fmt.Sprintf("values[%d].parent", i), Message: "must be a parent of the domain"}}
			}
		}
		if len(present)+len(added) > catalog.MaxDomainValues {
			return catalog.FieldErrors{{Field: "values", Message: fmt.Sprintf("a domain has at most %d", catalog.MaxDomainValues)}}
		}
		ordinal, err := sqldb.One(ctx, tx, sqldb.Value[int64],
			"SELECT COALESCE(MAX(v.ordinal), -1) + 1 FROM domain_values v WHERE v.domain_id = ?", d.ID)
		if err != nil {
			return err
		}
		return insertValues(ctx, tx, d.ID, ordinal, added)
	})
	if err != nil {
		return catalog.Domain{}, nil, err
	}
	return changed, added, nil
}

// DescribeDomainValue implements [catalog.Domains].
func (s *Store) DescribeDomainValue(ctx context.Context, t catalog.DomainTarget, id catalog.ValueID,
	label, description string) (catalog.Domain, error) {
	if err := catalog.ValidateDomainLabel(label, description); err != nil {
		return catalog.Domain{}, err
	}
	return s.changeValues(ctx, t, func(tx sqldb.Session, d catalog.Domain, values []catalog.DomainValue) error {
		if _, _, err := valueIn(values, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE domain_values SET label = ?, description = ? WHERE id = ?", label, description, id)
		return err
	})
}

// deleteValue removes a value and its children.
func deleteValue(ctx context.Context, tx sqldb.Session, domain catalog.DomainID, id catalog.ValueID) error {
	_, err := tx.Exec(ctx, "DELETE FROM domain_values WHERE domain_id = ? AND (id = ? OR parent_id = ?)", domain, id, id)
	return err
}
