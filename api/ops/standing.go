package ops

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// credential is the state of a caller's membership and key at one epoch.
type credential struct {
	member  bool
	role    auth.Role
	keyed   bool
	revoked bool
	granted auth.ScopeSet
	expires time.Time
}

// allows reports whether work that began as the caller may go on.
func (c credential) allows(a Actor, now time.Time) bool {
	if !c.member || !c.role.AtLeast(a.Role) {
		return false
	}
	return !c.keyed || !c.revoked && now.Before(c.expires) && c.granted.Contains(a.Granted)
}

// credential reads the member and the key of a caller. An access token has no record
// in the catalog: its expiry blocks new requests, but work that it started continues
// while the member remains.
func (r *Revocations) credential(ctx context.Context, m *moment, a Actor) (credential, error) {
	key := ""
	if a.KeyID != nil {
		key = a.KeyID.String()
	}
	return answer(ctx, m, r.memory.credentials, []string{string(a.Org), string(a.User), key}, func() (credential, error) {
		system := authz.System(ctx, "credential of running work")
		member, err := r.store.Membership(system, a.Org, a.User)
		if errors.Is(err, catalog.ErrNotFound) {
			return credential{}, nil
		}
		c := credential{member: true, role: auth.Role(member.Role)}
		if err != nil || a.KeyID == nil {
			return c, err
		}
		record, err := r.store.APIKey(system, a.Org, catalog.KeyID(key))
		c.keyed, c.revoked = true, record.Revoked() || errors.Is(err, catalog.ErrNotFound)
		if c.revoked {
			return c, nil
		}
		c.granted, c.expires = auth.StoredScopes(record.Scopes), record.ExpiresAt
		return c, err
	})
}

// basis is what determines the rows of running work, apart from the versions of the
// tables: the caller, the tables, and the policies that were applied to each.
type basis struct {
	subject subject
	tables  []usedPolicies
	// listed holds tables that the rows name, as information_schema does. policies
	// holds all policies that can apply to them.
	listed   []catalog.LocatedTable
	policies enforced
}

// usedPolicies is a table with the policies that were applied to it.
type usedPolicies struct {
	usedTable
	policies enforced
}

// located returns the tables of the basis.
func (b basis) located() []catalog.LocatedTable {
	out := slices.Clone(b.listed)
	for _, t := range b.tables {
		out = append(out, t.located)
	}
	return out
}

// governed returns the tables of the basis, each once for every table id whose policies
// govern the version that is read.
func (b basis) governed() []catalog.LocatedTable {
	out := slices.Clone(b.listed)
	for _, t := range b.tables {
		out = append(out, t.governed()...)
	}
	return out
}

// check returns a [check] that fails if a statement planned now would have another
// basis. Policies that do not apply to the tables of the basis are not part of it.
func (b basis) check(r *Revocations, a Actor) check {
	if len(b.tables)+len(b.listed) == 0 {
		return nil
	}
	return func(ctx context.Context, m *moment) error {
		located := b.located()
		seen, err := r.visible(ctx, m, a, located)
		if err != nil {
			return err
		}
		for _, t := range located {
			if id, ok := seen[t.ID]; !ok || id != t.DeltaID {
				return errRevoked
			}
		}
		ctx = authz.System(ctx, "policies of running work")
		now, err := rulesFor(ctx, r.store, a, m, b.governed(), r.memory.rules)
		switch {
		case errors.Is(err, catalog.ErrNotFound): // the member
			return errRevoked
		case err != nil:
			return err
		case !b.holds(now):
			return errRevoked
		}
		return nil
	}
}

// holds reports whether the current rules lead to the same rows. A stronger role
// matters only if policies apply; the credential's check covers a weaker one.
func (b basis) holds(now heldRules) bool {
	if !maps.Equal(b.subject.attributes, now.subject.attributes) || len(b.listed) > 0 && !b.policies.equal(now.policies) {
		return false
	}
	governed := len(b.policies) > 0
	for _, t := range b.tables {
		if !t.policies.equal(t.applied(now.policies)) {
			return false
		}
		governed = governed || len(t.policies) > 0
	}
	return !governed || b.subject.role == now.subject.role
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
func (r *Revocations) visible(ctx context.Context, m *moment, a Actor, tables []catalog.LocatedTable) (map[catalog.TableID]catalog.DeltaID, error) {
	fields := viewerFields(a.Viewer)
	for _, t := range tables {
		fields = append(fields, string(t.ID))
	}
	return answer(ctx, m, r.memory.visible, fields, func() (map[catalog.TableID]catalog.DeltaID, error) {
		system := authz.System(ctx, "tables of running work")
		seen := map[catalog.TableID]catalog.DeltaID{}
		note := func(t catalog.LocatedTable) error {
			if readable(t) {
				seen[t.ID] = t.DeltaID
			}
			return nil
		}
		if len(tables) >= manyTables {
			return seen, eachItem(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
				return r.store.ListTables(system, a.Viewer, catalog.TableFilter{}, page)
			}, note)
		}
		for _, t := range tables {
			found, err := r.store.Table(system, a.Viewer, t.ID)
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

// equal reports whether both are the same policies, in the same versions.
func (e enforced) equal(other enforced) bool {
	return len(e) == len(other) && !slices.ContainsFunc(e, func(p catalog.Policy) bool {
		return !slices.ContainsFunc(other, func(q catalog.Policy) bool { return p.ID == q.ID && p.Version == q.Version })
	})
}
