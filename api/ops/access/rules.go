package access

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

// Subject is the member that policies are compiled for.
type Subject struct {
	User       catalog.UserID
	Role       catalog.Role
	Attributes map[string]string
}

// SubjectOf returns a member as policies see it.
func SubjectOf(m catalog.Membership) Subject {
	return Subject{User: m.User, Role: m.Role, Attributes: m.Attributes}
}

// policySet holds enabled policies that can concern some tables.
type policySet []catalog.Policy

// policiesFor reads the enabled policies of the tables, in one statement.
func policiesFor(ctx context.Context, store catalog.Policies, org catalog.OrgID, tables []catalog.LocatedTable) (policySet, error) {
	ids := make([]catalog.DeltaID, len(tables))
	for i, t := range tables {
		ids[i] = t.DeltaID
	}
	return store.EnabledPolicies(ctx, org, ids)
}

// rules are the policies that apply to one member's statements over some tables.
type rules struct {
	policies policySet
	subject  Subject
	// views caches what follows from the rules for versions of tables.
	views *memo.Cache[appliedView]
}

// maxViews bounds the cached views of one set of rules.
const maxViews = 32

// rulesStore is what rules are read from.
type rulesStore interface {
	catalog.Policies
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
}

// rulesAt reads policies and member as they were at one epoch. If one were older than
// the other, a statement could combine an attribute with a policy that was narrowed
// before the attribute was given, and see rows that were never visible to anybody.
func rulesAt(
	ctx context.Context, store rulesStore, a caller.Identity, v *memo.EpochView, tables []catalog.LocatedTable, cache *memo.Cache[rules],
) (rules, error) {
	fields := []string{string(a.Org), string(a.User)}
	for _, t := range tables {
		fields = append(fields, string(t.DeltaID))
	}
	return memo.ReadAt(ctx, v, cache, fields, func() (rules, error) { return readRules(ctx, store, a, tables) })
}

func readRules(ctx context.Context, store rulesStore, a caller.Identity, tables []catalog.LocatedTable) (rules, error) {
	policies, err := policiesFor(ctx, store, a.Org, tables)
	if err != nil {
		return rules{}, err
	}
	member, err := store.Membership(ctx, a.Org, a.User)
	return rules{policies, SubjectOf(member), memo.NewCache[appliedView](maxViews)}, err
}

// RulesDigest returns a digest of what decides which rows of the tables the caller sees:
// its role and attributes, and the policies.
func (o Tables) RulesDigest(ctx context.Context, a caller.Identity, tables []catalog.LocatedTable) (string, error) {
	held, err := readRules(ctx, o.store, a, tables)
	if err != nil {
		return "", err
	}
	k := memo.NewDigest()
	k.Text(string(held.subject.User), string(held.subject.Role))
	k.Numbers(int64(len(held.subject.Attributes)), int64(len(held.policies)))
	for _, name := range slices.Sorted(maps.Keys(held.subject.Attributes)) {
		k.Text(name, held.subject.Attributes[name])
	}
	for _, p := range held.policies {
		k.Text(string(p.ID))
		k.Numbers(p.Version)
	}
	return hex.EncodeToString([]byte(k.String())), nil
}

// on returns the policies of one table: its own, and those of every table that
// has their column.
func (s policySet) on(table catalog.DeltaID, columns []engine.Column) policySet {
	var out policySet
	for _, p := range s {
		switch {
		case p.Table == table:
		case p.Table == "" && (p.Column == "" || policy.HasColumn(columns, p.Column)):
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// own returns the policies about one table, without those for every table.
func (s policySet) own(table catalog.DeltaID) policySet {
	return slices.DeleteFunc(slices.Clone(s), func(p catalog.Policy) bool { return p.Table != table })
}

// of returns the policies about one table and those for every table.
func (s policySet) of(table catalog.DeltaID) policySet {
	return slices.DeleteFunc(slices.Clone(s), func(p catalog.Policy) bool { return p.Table != "" && p.Table != table })
}

// ofRows returns the policies that decide rows, or those that hide and mask columns.
func (s policySet) ofRows(rows bool) policySet {
	return slices.DeleteFunc(slices.Clone(s), func(p catalog.Policy) bool { return rows != (p.Kind == catalog.PolicyRows) })
}

// equal reports whether both are the same policies, in the same versions.
func (s policySet) equal(other policySet) bool {
	return len(s) == len(other) && !slices.ContainsFunc(s, func(p catalog.Policy) bool {
		return !slices.ContainsFunc(other, func(q catalog.Policy) bool { return p.ID == q.ID && p.Version == q.Version })
	})
}

// checkColumns returns an error if a policy hides or masks a column that its table does
// not have at its newest version. The protected values may be there under another name,
// so the table is closed until the policy is corrected. No lock orders changes of
// policies and changes of columns: a change of columns sees a policy that comes first,
// and a policy that comes too late closes the table here. Row policies need no such
// check, because they hide the rows that they cannot decide.
func (s policySet) checkColumns(table catalog.DeltaID, columns []engine.Column) error {
	for _, p := range s {
		if p.Table == table && p.Kind != catalog.PolicyRows && !policy.HasColumn(columns, p.Column) {
			return fmt.Errorf("%w: %s version %d: the table has no column %q", sqlfilter.ErrPolicy, p.ID, p.Version, p.Column)
		}
	}
	return nil
}

// hideRows reports whether the policies, all of which apply, hide rows from anybody. The
// layout of the table's rows must then not reveal how many there are.
func (s policySet) hideRows() bool {
	return slices.ContainsFunc(s, func(p catalog.Policy) bool { return p.Kind == catalog.PolicyRows })
}

// tableAlias qualifies the columns of a predicate.
const tableAlias = "t"

// filter compiles the policies, all of which apply, for one subject over the
// columns of a table's newest version.
func (s policySet) filter(who Subject, columns []engine.Column) (sqlfilter.Filter, error) {
	return s.filterOver(who, columns, tableAlias)
}

// filterOver is filter with another alias for the table.
func (s policySet) filterOver(who Subject, columns []engine.Column, alias string) (sqlfilter.Filter, error) {
	return sqlfilter.Compile(s.request(who, columns, alias, lostFrom(columns)))
}

// uncertainty reports whether a row policy cannot rely on the absence of a column
// that is not among those it is compiled for.
type uncertainty func(p catalog.Policy, column string) bool

// lostFrom returns the uncertainty about columns of a table's newest version. A policy
// of every table also applies to tables that never had its column. If a policy of one
// table names a missing column, another writer has renamed or dropped it.
func lostFrom(newest []engine.Column) uncertainty {
	return func(p catalog.Policy, column string) bool {
		return p.Table != "" && !policy.HasColumn(newest, column)
	}
}

// PolicyReading returns how the literals of a policy's text are read.
func PolicyReading(p catalog.Policy) policy.Reading {
	if p.BuilderManaged {
		return policy.ReadNotation
	}
	return policy.ReadTyped
}

func (s policySet) request(who Subject, columns []engine.Column, alias string, uncertain uncertainty) sqlfilter.Request {
	request := sqlfilter.Request{
		Policies:  make([]sqlfilter.Policy, len(s)),
		Principal: sqlfilter.Principal{UserID: string(who.User), Role: string(who.Role), Attributes: who.Attributes},
		Columns:   columns,
		Alias:     alias,
	}
	for i, p := range s {
		request.Policies[i] = sqlfilter.Policy{
			ID: string(p.ID), Version: p.Version, Kind: policy.Kind(p.Kind), Text: p.Text, Reading: PolicyReading(p), ColumnName: p.Column,
			Uncertain: func(column string) bool { return uncertain(p, column) },
		}
	}
	return request
}
