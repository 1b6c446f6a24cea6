package access

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Basis is what determines the rows of running work, apart from the versions of the
// tables: the caller, the tables, and the policies that were applied to each. The zero
// value is that of work without tables.
type Basis struct {
	subject Subject
	tables  []Table
	// lists reports that the rows name tables, as information_schema does: listed holds
	// them, policies all policies that can apply to them.
	lists    bool
	listed   []catalog.LocatedTable
	policies policySet
}

// BasisOf returns the basis of work that reads tables of one caller.
func BasisOf(tables ...Table) Basis {
	if len(tables) == 0 {
		return Basis{}
	}
	return Basis{subject: tables[0].own, tables: tables}
}

// ListBasis returns the basis of an answer that names the tables which the caller sees.
func (o Tables) ListBasis(ctx context.Context, a caller.Identity, v *memo.EpochView) (Basis, error) {
	var listed []catalog.LocatedTable
	if err := o.EachVisible(ctx, a, func(t catalog.LocatedTable) {
		if readable(t) {
			listed = append(listed, t)
		}
	}); err != nil {
		return Basis{}, err
	}
	held, err := rulesAt(ctx, o.store, a, v, listed, nil)
	return Basis{subject: held.subject, lists: true, listed: listed, policies: held.policies}, err
}

// With returns the basis of work that also does what other is about.
func (b Basis) With(other Basis) Basis {
	b.tables = slices.Concat(b.tables, other.tables)
	if other.lists {
		b.lists, b.listed, b.policies = true, other.listed, other.policies
	}
	if b.subject.User == "" {
		b.subject = other.subject
	}
	return b
}

// Tables returns the tables that are read.
func (b Basis) Tables() []Table { return b.tables }

// Lists reports whether the rows name tables that are not read.
func (b Basis) Lists() bool { return b.lists }

// Historical reports whether a table is read at another version than its newest.
func (b Basis) Historical() bool { return slices.ContainsFunc(b.tables, Table.Historical) }

// Whole reports whether the caller sees every value of each table that is read, unmasked.
func (b Basis) Whole() bool {
	return !slices.ContainsFunc(b.tables, func(t Table) bool { return !t.Whole() })
}

// located returns the tables of the basis.
func (b Basis) located() []catalog.LocatedTable {
	out := slices.Clone(b.listed)
	for _, t := range b.tables {
		out = append(out, t.located)
	}
	return out
}

// governed returns the tables of the basis, each once for every table id whose policies
// govern the version that is read.
func (b Basis) governed() []catalog.LocatedTable {
	out := slices.Clone(b.listed)
	for _, t := range b.tables {
		out = append(out, t.governed()...)
	}
	return out
}

// CheckBasis returns a [revocation.Check] that fails if a statement of the caller that is planned
// now would have another basis. Policies that do not apply to the tables of the basis are
// not part of it.
func (o Tables) CheckBasis(a caller.Identity, b Basis) revocation.Check {
	if len(b.tables)+len(b.listed) == 0 {
		return nil
	}
	return func(ctx context.Context, v *memo.EpochView) error {
		located := b.located()
		seen, err := o.visible(ctx, v, a, located)
		if err != nil {
			return err
		}
		for _, t := range located {
			if id, ok := seen[t.ID]; !ok || id != t.DeltaID {
				return revocation.ErrRevoked
			}
		}
		ctx = authz.System(ctx, "policies of running work")
		now, err := rulesAt(ctx, o.store, a, v, b.governed(), o.memory.rules)
		switch {
		case errors.Is(err, catalog.ErrNotFound): // the member
			return revocation.ErrRevoked
		case err != nil:
			return err
		case !b.holds(now):
			return revocation.ErrRevoked
		}
		return nil
	}
}

// holds reports whether the current rules lead to the same rows. A stronger role
// matters only if policies apply; the credential's check covers a weaker one.
func (b Basis) holds(now rules) bool {
	if !maps.Equal(b.subject.Attributes, now.subject.Attributes) || len(b.listed) > 0 && !b.policies.equal(now.policies) {
		return false
	}
	governed := len(b.policies) > 0
	for _, t := range b.tables {
		if !t.policies.equal(t.tableVersion.applicable(now.policies)) {
			return false
		}
		governed = governed || len(t.policies) > 0
	}
	return !governed || b.subject.Role == now.subject.Role
}

// readable reports whether statements that read a table may continue. A table that was
// not found in its folder exposes nothing, and may return before the catalog learns of
// it.
func readable(t catalog.LocatedTable) bool {
	return t.State == catalog.TableLive || t.State == catalog.TableVanished
}

// manyTables is the number of tables from which on they are read as a list.
const manyTables = 32

// visible returns the identities of readable tables that a caller sees. It includes at
// least those among tables.
func (o Tables) visible(
	ctx context.Context, v *memo.EpochView, a caller.Identity, tables []catalog.LocatedTable,
) (map[catalog.TableID]catalog.DeltaID, error) {
	fields := ViewerFields(a.Viewer)
	for _, t := range tables {
		fields = append(fields, string(t.ID))
	}
	return memo.ReadAt(ctx, v, o.memory.visible, fields, func() (map[catalog.TableID]catalog.DeltaID, error) {
		system := authz.System(ctx, "tables of running work")
		seen := map[catalog.TableID]catalog.DeltaID{}
		note := func(t catalog.LocatedTable) error {
			if readable(t) {
				seen[t.ID] = t.DeltaID
			}
			return nil
		}
		if len(tables) >= manyTables {
			return seen, catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
				return o.store.ListTables(system, a.Viewer, catalog.TableFilter{}, page)
			}, note)
		}
		for _, t := range tables {
			found, err := o.store.Table(system, a.Viewer, t.ID)
			if err != nil && !errors.Is(err, catalog.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				_ = note(found)
			}
		}
		return seen, nil
	})
}

// CheckScopes returns a [revocation.Check] that fails if the caller no longer has scopes where a
// configuration is.
func (o Tables) CheckScopes(a caller.Identity, config catalog.ConfigID, scopes []auth.Scope) revocation.Check {
	return func(ctx context.Context, _ *memo.EpochView) error {
		ctx = auth.WithPrincipal(ctx, a.Principal)
		for _, s := range scopes {
			err := o.permissions.Permits(ctx, a.Viewer, config, s)
			if errors.Is(err, auth.ErrForbidden) || errors.Is(err, catalog.ErrDenied) || errors.Is(err, catalog.ErrNotFound) {
				return revocation.ErrRevoked
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
