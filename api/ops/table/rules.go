package table

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/sessions"
)

// Rules changes the columns of a table, and what its rows must satisfy: nullability, keys and
// CHECK constraints. A new rule is checked against all rows, so only callers who may change the
// whole table can make one: see [access.WholeTable].
type Rules struct {
	Store   catalog.Store
	Tables  access.Tables
	Domains *write.Domains
	Parser  engine.Parser
	Pool    *sessions.Pool
	// Confirmed and Revocations are those of [query.Service].
	Confirmed   func() error
	Revocations *revocation.Watcher
	Leases      write.Leases
	Operations  operation.Service
	// task is set if an operation does the work.
	task *operation.Task
}

// ruled is a table whose rules the caller may see or change, at one version.
type ruled struct {
	actor caller.Identity
	table catalog.LocatedTable
	snap  *delta.Snapshot
	view  access.Table
	// door is set by [Rules.find].
	door access.Changeable
	// domains are the rules of domains that questions are about.
	domains write.TableRules
}

func ruledBy(t access.Table) ruled {
	return ruled{actor: t.Caller(), table: t.Located(), snap: t.Snapshot(), view: t}
}

// find opens the newest version for a caller who must have tables:modify where the table
// is.
func (o Rules) find(ctx context.Context, path access.Path) (ruled, error) {
	if err := o.Confirmed(); err != nil {
		return ruled{}, err
	}
	a, err := caller.From(ctx)
	if err != nil {
		return ruled{}, err
	}
	door, err := o.Tables.OpenChangeable(ctx, a, access.Ref{Path: path, Scope: auth.ScopeTablesModify})
	r := ruledBy(door.AsSeen())
	r.door = door
	return r, err
}

func (o Rules) open(ctx context.Context, ref access.Ref) (ruled, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return ruled{}, err
	}
	t, err := o.Tables.Open(ctx, a, ref)
	return ruledBy(t), err
}

// forColumn returns the door for a change of one column.
func (r ruled) forColumn(ctx context.Context, name string) (access.Changeable, error) {
	return r.door.ForColumns(ctx, func(column string) bool { return strings.EqualFold(column, name) })
}

// alteration is a change of the table at one version.
type alteration struct {
	// table is the table for the class of the change.
	table access.Writable
	// change is the new metadata, unless txn has everything to commit, with publish.
	change delta.Change
	txn    *delta.Txn
	// operation and parameters describe it in the log.
	operation  string
	parameters map[string]string
	// everyRow reports that the change was checked against all rows of the table.
	everyRow bool
	// publish makes an attempt to commit txn.
	publish func(ctx context.Context) (*delta.Snapshot, error)
	// after, if not nil, runs after the commit.
	after func(ctx context.Context) error
}

const alterAttempts = 10

// alter changes the table's metadata in one commit. plan plans the change at the newest
// version, and again after a lost race; a nil alteration changes nothing. Errors: those of plan, of opening a table and
// of commits.
func (o Rules) alter(ctx context.Context, path access.Path, plan func(context.Context, ruled) (*alteration, error)) error {
	_, err := o.altered(ctx, path, plan)
	return err
}

// altered is alter that returns the table at the version that it made, or at the unchanged
// one. The view is that before the change.
func (o Rules) altered(ctx context.Context, path access.Path, plan func(context.Context, ruled) (*alteration, error)) (ruled, error) {
	for attempt := 1; ; attempt++ {
		r, err := o.find(ctx, path)
		if err != nil {
			return r, err
		}
		a, err := plan(ctx, r)
		if err != nil || a == nil {
			return r, err
		}
		snap, err := o.commit(ctx, r, *a)
		err = r.view.Conceal(ctx, err)
		lost := errors.Is(err, delta.ErrConflict) || errors.Is(err, catalog.ErrDomainsChanged)
		if err != nil && (attempt == alterAttempts || !lost) {
			return r, err
		}
		r.view.Changed(ctx)
		if err == nil {
			r.snap = snap
			o.remember(ctx, r)
			if a.after != nil {
				err = a.after(ctx)
			}
			return r, err
		}
	}
}

// commit makes one attempt to commit an alteration, under a lease that moves respect.
func (o Rules) commit(ctx context.Context, r ruled, a alteration) (*delta.Snapshot, error) {
	if a.txn != nil {
		return a.publish(ctx)
	}
	txn := r.snap.Begin(delta.Operation{
		Name: a.operation, Parameters: a.parameters, UserID: string(r.actor.User), UserName: r.actor.Email,
	})
	txn.Alter(a.change)
	if a.everyRow {
		txn.ReadWholeTable()
	}
	committing, lease, err := o.Leases.Begin(ctx, a.table, catalog.WriteRows)
	if err != nil {
		return nil, err
	}
	defer lease.End()
	if err := o.memory().Forget(ctx, r.table, r.snap, a.change); err != nil {
		return nil, err
	}
	snap, err := lease.Attempt(committing, txn)
	return snap, write.LeaseError(committing, err)
}

func (o Rules) memory() write.Memory { return write.Memory{Store: o.Store} }

// remember remembers the rules of a version that was just committed. If that fails, the next
// write of rows remembers them.
func (o Rules) remember(ctx context.Context, r ruled) {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	_ = o.memory().Altered(ctx, r.table, r.snap)
}

// ask runs questions about all rows of the table, in a session that no statement
// of anybody has used or will use.
func (o Rules) ask(ctx context.Context, r ruled, questions func(context.Context, constraint.Scope, constraint.Relation) error) error {
	ctx, work := o.Revocations.Begin(ctx, r.actor)
	defer work.Done()
	scopes := o.Tables.CheckScopes(r.actor, r.table.Config, []auth.Scope{auth.ScopeTablesModify})
	work.SetCheck(o.Tables.CheckBasis(r.actor, access.BasisOf(r.view)).And(scopes))
	if err := o.answers(ctx, r, questions); err != nil {
		return revocation.EndedBy(ctx, err)
	}
	return nil
}

func (o Rules) answers(ctx context.Context, r ruled, questions func(context.Context, constraint.Scope, constraint.Relation) error) error {
	if err := r.view.CheckRows(ctx); err != nil {
		return err
	}
	open := o.Pool.Open
	if o.task != nil { // no client holds a connection for it
		open = o.Pool.OpenWhenFree
	}
	held, err := open(ctx, r.domains.SessionKey(r.view), "")
	if err != nil {
		return err
	}
	defer held.Release()
	held.Lease.Diagnose = r.view.Whole()
	source := r.view.WholeSource()
	scope := constraint.Scope{Session: held, Sources: []engine.Source{source}, Lease: held.Lease}
	return r.view.RefuseRead(ctx, questions(ctx, scope, constraint.Relation{From: source.Relation()}))
}

// RowsError: existing rows violate a rule: 409.
type RowsError struct{ Problems catalog.FieldErrors }

// Error implements error.
func (e *RowsError) Error() string { return "existing rows violate the rule: " + e.Problems.Error() }

// ProblemCode names the line in the table of errors.
func (e *RowsError) ProblemCode() string { return "constraint_violation" }

// Unwrap returns the fields.
func (e *RowsError) Unwrap() error { return e.Problems }

// against returns the problem of one field. The count is for callers who see all rows.
func (r ruled) against(field string, count int64, what string) catalog.FieldError {
	if r.view.Whole() {
		return catalog.FieldError{Field: field, Message: strconv.FormatInt(count, 10) + " " + what}
	}
	return catalog.FieldError{Field: field, Message: "there are " + what}
}
