package ops

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/sessions"
)

// TableRules sets what the rows of a table must satisfy: nullability, keys and
// CHECK constraints. What is set is checked against all rows, whoever asks; a
// caller who does not see all of them learns yes or no of NOT NULL and of the keys
// that others made, makes no key, and proves no constraint.
type TableRules struct {
	Tables
	Queries    *Queries
	Writes     WriteLeases
	Operations Operations
	// task is set where an operation does the work.
	task *Task
}

// ruled is a table whose rules the caller may change, at its newest version.
type ruled struct {
	actor Actor
	table catalog.LocatedTable
	snap  *delta.Snapshot
	view  view
	// basis is the basis of view.
	basis basis
}

// find resolves a path for the caller, who must hold tables:modify where the
// table is.
func (o TableRules) find(ctx context.Context, path TablePath) (r ruled, err error) {
	if err := o.Queries.Confirmed(); err != nil {
		return r, err
	}
	if r.actor, r.table, r.snap, err = o.Tables.find(ctx, path); err != nil {
		return r, err
	}
	if err := o.Permissions.Permits(ctx, r.actor.Viewer, r.table.Config, auth.ScopeTablesModify); err != nil {
		return r, err
	}
	r.view, r.basis, err = o.viewWithBasis(ctx, r.actor, usedTable{located: r.table, snap: r.snap, head: r.snap})
	return r, err
}

// column finds a column by its name, exactly or else in any case. A hidden one is
// not told from one that does not exist.
func (r ruled) column(name string) (delta.Field, bool) {
	fields := r.snap.Schema().Fields
	i := slices.IndexFunc(fields, func(f delta.Field) bool { return f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f delta.Field) bool { return strings.EqualFold(f.Name, name) })
	}
	if i < 0 || r.view.hides(fields[i].Name) {
		return delta.Field{}, false
	}
	return fields[i], true
}

// alteration is what a change comes to at one version of the table.
type alteration struct {
	// change is the new metadata, unless txn carries all there is to commit.
	change delta.Change
	txn    *delta.Txn
	// operation and parameters describe it in the log.
	operation  string
	parameters map[string]string
	// everyRow says that the change was judged by the table's rows.
	everyRow bool
	// after, if not nil, runs after the commit.
	after func(ctx context.Context) error
}

const alterAttempts = 10

// alter changes the table's metadata in one commit. plan judges the change at the
// newest version, and again at the next one when another commit came between; a
// nil alteration changes nothing. Errors: those of plan, of opening a table and
// of commits.
func (o TableRules) alter(ctx context.Context, path TablePath, plan func(context.Context, ruled) (*alteration, error)) error {
	_, err := o.altered(ctx, path, plan)
	return err
}

// altered is alter that returns the table at the version it made, or at the one
// that plan left as it was. The view is the one before.
func (o TableRules) altered(ctx context.Context, path TablePath, plan func(context.Context, ruled) (*alteration, error)) (ruled, error) {
	for attempt := 1; ; attempt++ {
		r, err := o.find(ctx, path)
		if err != nil {
			return r, err
		}
		a, err := plan(ctx, r)
		if err != nil || a == nil {
			return r, err
		}
		snap, err := r.commit(ctx, *a)
		err = o.concealed(ctx, r.table, err)
		if err != nil && (attempt == alterAttempts || !errors.Is(err, delta.ErrConflict)) {
			return r, err
		}
		o.refresh(ctx, r)
		if err == nil {
			r.snap = snap
			if a.after != nil {
				err = a.after(ctx)
			}
			return r, err
		}
	}
}

// refresh makes the next look at the table see this commit, or the one that won.
// Where the log cannot be looked at now, that look will say so.
func (o TableRules) refresh(ctx context.Context, r ruled) {
	o.Lake.Changed(ctx, r.table)
}

func (r ruled) commit(ctx context.Context, a alteration) (*delta.Snapshot, error) {
	if a.txn != nil {
		return a.txn.Commit(ctx)
	}
	txn := r.snap.Begin(delta.Operation{
		Name: a.operation, Parameters: a.parameters, UserID: string(r.actor.User), UserName: r.actor.Email,
	})
	txn.Alter(a.change)
	if a.everyRow {
		txn.ReadWholeTable()
	}
	return txn.Commit(ctx)
}

// ask runs questions about all rows of the table, in a session that no statement
// of anybody has seen or will see.
func (o TableRules) ask(ctx context.Context, r ruled, questions func(context.Context, constraint.Scope, constraint.Relation) error) error {
	ctx, watched := o.Queries.Revocations.begin(ctx, r.actor)
	defer watched.done()
	watched.judgeBy(r.basis.check(o.Queries.Revocations, r.actor).and(hasScopes(o.Permissions, r.actor, r.table.Config, []auth.Scope{auth.ScopeTablesModify})))
	if err := o.answers(ctx, r, questions); err != nil {
		return endedBy(ctx, err)
	}
	return nil
}

func (o TableRules) answers(ctx context.Context, r ruled, questions func(context.Context, constraint.Scope, constraint.Relation) error) error {
	if err := checkRows(ctx, r.snap); err != nil {
		return o.refuseHead(ctx, r.table, r.snap, err)
	}
	source := sourceOf(r.table, r.snap)
	if files, ok := pruning.List(r.snap, columnsOf(r.snap), engine.Condition{}); ok {
		source.Files = files
	}
	key := sessions.Key{Org: string(r.actor.Org), User: string(r.actor.User), Roots: []string{sessionRoot(r.table.StorageConfig)}}
	open := func() (*sessions.Held, error) { return o.Queries.Pool.Open(ctx, key, "") }
	if o.task != nil { // nobody holds a connection for it
		open = func() (*sessions.Held, error) { return openWhenFree(ctx, o.Queries.Pool, key, "") }
	}
	held, err := open()
	if err != nil {
		return err
	}
	defer held.Release()
	scope := constraint.Scope{Session: held, Sources: []engine.Source{source}, Lease: held.Lease}
	return questions(ctx, scope, constraint.Relation{From: source.Relation()})
}

// RowsError says that rows of the table stand against a rule: 409.
type RowsError struct{ Problems catalog.FieldErrors }

// Error implements error.
func (e *RowsError) Error() string { return "rows stand against it: " + e.Problems.Error() }

// ProblemCode names the line in the table of errors.
func (e *RowsError) ProblemCode() string { return "constraint_violation" }

// Unwrap returns the fields.
func (e *RowsError) Unwrap() error { return e.Problems }

// against is a problem of one field. The count is for callers who see all rows.
func (r ruled) against(field string, count int64, what string) catalog.FieldError {
	if r.view.whole() {
		return catalog.FieldError{Field: field, Message: strconv.FormatInt(count, 10) + " " + what}
	}
	return catalog.FieldError{Field: field, Message: "there are " + what}
}
