package access

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
)

// Writable is a table that its holder may change. The type says which class of changes the
// caller may make: [OwnRows], [Changeable], [WholeTable], [Registration] or [SystemTable]. A
// [Table], which is for reading, is not Writable.
type Writable interface {
	// Located returns the table's record in the catalog.
	Located() catalog.LocatedTable
	// Judge returns an error if the caller may no longer make changes of the class. It reads
	// the rules anew. A change that takes long is judged again before its commit.
	Judge(ctx context.Context) error
	writable()
}

// seenTable is the Table in the other types. The name keeps the field private, so that no other
// package can make a value of these types from a Table.
type seenTable = Table

// AsSeen returns the table as its caller sees it, for reading.
func (t Table) AsSeen() Table { return t }

// OwnRows is a table in which the caller changes rows that it sees. New rows must satisfy its
// row filter. Only [Tables.OpenOwnRows] makes one.
type OwnRows struct{ seenTable }

// Changeable is a table for changes that neither depend on hidden rows nor affect who sees them,
// such as a comment or the layout of files. Only
// [Tables.OpenChangeable] makes one. Other changes need [Changeable.ForColumns] or
// [Changeable.Whole].
type Changeable struct {
	seenTable
	// concerns selects the columns that the change is about; nil means none.
	concerns func(column string) bool
}

// WholeTable is a table that the caller changes regardless of who sees which row: all rows, or
// what all rows must satisfy. The work runs on all rows; what the reply says about rows comes
// from the caller's view, which it has the methods of. Only [Changeable.Whole] makes one.
type WholeTable struct{ seenTable }

// Registration is the catalog's record of a table that the caller may change as a whole. The log
// of the table need not be readable. Only [Tables.OpenRegistration] makes one.
type Registration struct {
	tables  Tables
	caller  caller.Identity
	located catalog.LocatedTable
}

// SystemTable is a table that the server itself reads or changes, under no policy. Nothing of
// it may reach a caller. Only [Tables.OpenUnfiltered] makes one.
type SystemTable struct{ seenTable }

func (OwnRows) writable()      {}
func (Changeable) writable()   {}
func (WholeTable) writable()   {}
func (Registration) writable() {}
func (SystemTable) writable()  {}

// OpenOwnRows is [Tables.Open] for a caller who changes rows.
func (o Tables) OpenOwnRows(ctx context.Context, a caller.Identity, ref Ref) (OwnRows, error) {
	t, err := o.Open(ctx, a, ref)
	return OwnRows{t}, err
}

// OpenChangeable is [Tables.Open] for a caller who changes the table and not its rows.
func (o Tables) OpenChangeable(ctx context.Context, a caller.Identity, ref Ref) (Changeable, error) {
	t, err := o.Open(ctx, a, ref)
	return Changeable{seenTable: t}, err
}

// Judge returns nil: running writes of rows are held to their basis by the watcher of running
// work. See [Tables.CheckBasis].
func (OwnRows) Judge(context.Context) error { return nil }

// Judge returns nil.
func (SystemTable) Judge(context.Context) error { return nil }

// Judge returns [ErrPartlyVisible] if a policy now reads a column that the change is about, and
// the caller may not change the whole table.
func (c Changeable) Judge(ctx context.Context) error {
	_, err := c.judge(ctx)
	return err
}

// Judge returns [ErrPartlyVisible] if the caller may no longer change the whole table.
func (t WholeTable) Judge(ctx context.Context) error {
	_, err := t.judgeWhole(ctx)
	return err
}

// Whole returns the table for a change of the whole table. The caller must see every row and
// column unmasked, by the policies and not by the rows, or hold rls_policies:write, with which
// it could change the policies. In the latter case it records the change in the audit log.
// Error: [ErrPartlyVisible].
func (c Changeable) Whole(ctx context.Context) (WholeTable, error) {
	return c.WholeFor(ctx, Changing)
}

// WholeFor is [Changeable.Whole] for a change or for a preview of one, which is not recorded.
func (c Changeable) WholeFor(ctx context.Context, purpose Purpose) (WholeTable, error) {
	why, err := c.judgeWhole(ctx)
	return WholeTable{c.seenTable}, c.tables.note(ctx, c.caller, purpose, err, grounds{c.located, why})
}

// Purpose is what a caller is judged for.
type Purpose int

const (
	// Changing is for a change that follows if it is permitted. The entry in the audit log
	// precedes the change, so that no change lacks one.
	Changing Purpose = iota
	// Previewing is for a dry run, and for a judgement that will be repeated before the change.
	Previewing
)

// MayChangeWhole reports whether [Changeable.Whole] would succeed.
func (t Table) MayChangeWhole(ctx context.Context) (bool, error) {
	_, err := t.judgeWhole(ctx)
	if errors.Is(err, ErrPartlyVisible) {
		return false, nil
	}
	return err == nil, err
}

// ForColumns returns the table for a change that is about the columns that concerns selects. If
// a policy reads one of them, the change is one of the whole table. Error: [ErrPartlyVisible].
func (c Changeable) ForColumns(ctx context.Context, concerns func(column string) bool) (Changeable, error) {
	c.concerns = concerns
	why, err := c.judge(ctx)
	return c, c.tables.note(ctx, c.caller, Changing, err, grounds{c.located, why})
}

// basis is why a caller may change a whole table.
type basis int

const (
	// seesWhole: its policies hide and mask nothing, or the change does not need it.
	seesWhole basis = iota
	// changesPolicies: it holds rls_policies:write.
	changesPolicies
)

func (c Changeable) judge(ctx context.Context) (basis, error) {
	if c.concerns == nil {
		return seesWhole, nil
	}
	read, err := c.PolicyReads(ctx, c.concerns)
	if err != nil || !read {
		return seesWhole, err
	}
	return c.judgeWhole(ctx)
}

// PolicyReads reports whether a policy, enabled or not, is about one of the columns that
// concerns selects, or decides by it.
func (t Table) PolicyReads(ctx context.Context, concerns func(column string) bool) (bool, error) {
	policies, err := t.tables.PoliciesAbout(ctx, t.located)
	return slices.ContainsFunc(t.AllColumns(), func(column engine.Column) bool {
		return concerns(column.Name) && readBy(policies, column.Name)
	}), err
}

// judgeWhole judges by the rules of now, and by the columns of the version that was opened.
func (t Table) judgeWhole(ctx context.Context) (basis, error) {
	held, err := t.tables.currentRules(ctx, t.caller, t.governed())
	if err != nil {
		return seesWhole, err
	}
	if t.tableVersion.showsAll(held.policies, held.subject) {
		return seesWhole, nil
	}
	return mayChangePolicies(t.caller, held.subject)
}

// currentRules returns the rules of the caller at the current epoch.
func (o Tables) currentRules(ctx context.Context, a caller.Identity, tables []catalog.LocatedTable) (rules, error) {
	ctx = authz.System(ctx, "changes of whole tables")
	v, err := memo.NewEpochView(ctx, o.store)
	if err != nil {
		return rules{}, err
	}
	held, err := rulesAt(ctx, o.store, a, v, tables, nil)
	if errors.Is(err, catalog.ErrNotFound) { // the caller is not a member any more
		err = ErrPartlyVisible
	}
	return held, err
}

// mayChangePolicies returns [ErrPartlyVisible] unless the caller holds rls_policies:write, by
// its credential and by the role that it has now.
func mayChangePolicies(a caller.Identity, member Subject) (basis, error) {
	if a.Scopes.Has(auth.ScopePoliciesWrite) && auth.Role(member.Role).Scopes().Has(auth.ScopePoliciesWrite) {
		return changesPolicies, nil
	}
	return seesWhole, ErrPartlyVisible
}

// grounds are why the caller may change one table as a whole.
type grounds struct {
	table catalog.LocatedTable
	why   basis
}

// note counts a refusal, which err is, or records in the audit log that the caller changes tables
// of which it does not see everything, once for each table in a request. It returns err.
func (o Tables) note(ctx context.Context, a caller.Identity, purpose Purpose, err error, judged ...grounds) error {
	if errors.Is(err, ErrPartlyVisible) && o.denials != nil {
		o.denials.Inc()
	}
	if err != nil || purpose != Changing || o.audit == nil {
		return err
	}
	for _, j := range judged {
		const action = "table.changed_beyond_own_view"
		resource := "table/" + string(j.table.DeltaID)
		if j.why == changesPolicies && caller.Once(ctx, action, resource) {
			o.audit.Record(caller.NewEntry(a, action, resource, catalog.OutcomeAllow))
		}
	}
	return nil
}

// newDenials registers lakewarden_partly_visible_denials_total.
func newDenials(registerer prometheus.Registerer) prometheus.Counter {
	denials := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lakewarden_partly_visible_denials_total",
		Help: "Changes of whole tables that were refused because the caller sees only a part.",
	})
	registerer.MustRegister(denials)
	return denials
}
