package domain

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// Bounds of changes of values. The holder of a change renews it every changeBeat; another
// replica takes over a change that was not renewed for changeLost.
const (
	changeBeat = 5 * time.Second
	changeLost = 30 * time.Second
)

// Changes carries out changes of values together with their rows, and finishes those of
// replicas that have ended. It is safe for concurrent use.
type Changes struct {
	domains Service
	audit   *caller.Auditor
	logger  *slog.Logger
	// holder names this process in the catalog's records.
	holder string

	mu      sync.Mutex
	running map[catalog.ValueChangeID]bool
}

// NewChanges returns the changes of a process. holder is a name that no two processes have
// at once.
func NewChanges(domains Service, audit *caller.Auditor, logger *slog.Logger, holder string) *Changes {
	return &Changes{
		domains: domains, audit: audit, logger: logger, holder: holder, running: map[catalog.ValueChangeID]bool{},
	}
}

// change does work that changes a value in rows, as an operation, which does not end with the
// request, and describes the domain after it. check refuses the work: before the operation
// begins, and again when its turn has come.
func (o Service) change(
	ctx context.Context, v valued, async bool, check, work func(context.Context) error, result func(Changed) any,
) (Changed, *catalog.Operation, error) {
	if err := check(ctx); err != nil {
		return Changed{}, nil, err
	}
	patience := o.Operations.Patience
	if async {
		patience = 0
	}
	return operation.StartAndWait(ctx, o.Operations, v.actor, catalog.OperationRewrite, patience,
		func(ctx context.Context, _ *operation.Task) (Changed, error) {
			if err := check(ctx); err != nil {
				return Changed{}, err
			}
			if err := work(ctx); err != nil {
				return Changed{}, err
			}
			return o.after(ctx, v)
		}, result)
}

// begin records a change and carries it out.
func (c *Changes) begin(ctx context.Context, v valued, change catalog.ValueChange) error {
	change.ID, change.Org, change.Domain, change.By, change.Holder =
		catalog.NewID[catalog.ValueChangeID](), v.actor.Org, v.domain.ID, v.actor.User, c.holder
	c.hold(change.ID)
	defer c.release(change.ID)
	begun, err := c.domains.Store.BeginValueChange(ctx, v.target, change)
	if err != nil {
		return oneField(changeError(err))
	}
	return concealed(v, c.carry(ctx, v.actor, begun, true))
}

// concealed leaves out of an error what depends on rows and columns that the caller does not
// see: all rows are rewritten, under no policy.
func concealed(v valued, err error) error {
	var rows *dml.RowsError
	var source *write.SourceError
	switch {
	case seeWhole(v.uses):
		return err
	case errors.As(err, &rows):
		return &dml.RowsError{Kind: rows.Kind, Quiet: true}
	case errors.As(err, &source):
		return &write.SourceError{Code: source.Code, Reason: source.Reason}
	}
	return err
}

// Resume carries out the changes of holders that have ended.
func (c *Changes) Resume(ctx context.Context) error {
	taken, err := c.domains.Store.TakeValueChanges(authz.System(ctx, "changes of values"), c.holder, time.Now().Add(-changeLost))
	if err != nil {
		return err
	}
	var errs []error
	for _, change := range taken {
		if !c.hold(change.ID) {
			continue
		}
		// The change may have ended, or another replica may have it, since the list was read.
		if err := c.domains.Store.RenewValueChange(authz.System(ctx, "changes of values"), change.ID, c.holder); err != nil {
			c.release(change.ID)
			if !errors.Is(err, catalog.ErrNotFound) {
				errs = append(errs, err)
			}
			continue
		}
		system := authz.System(ctx, "change of a value")
		a, err := caller.Author(system, c.domains.Store, change.Org, change.By)
		if err == nil {
			err = c.carry(system, a, change, false)
		}
		errs = append(errs, err)
		c.release(change.ID)
	}
	return errors.Join(errs...)
}

// hold marks a change as one that this process works on, and reports whether it was not.
func (c *Changes) hold(id catalog.ValueChangeID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[id] {
		return false
	}
	c.running[id] = true
	return true
}

func (c *Changes) release(id catalog.ValueChangeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// carry carries out a change that this process holds. A change that fails is withdrawn or
// resumed later; see givenUp.
func (c *Changes) carry(ctx context.Context, a caller.Identity, change catalog.ValueChange, waited bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beating sync.WaitGroup
	defer beating.Wait()
	beat, stop := context.WithCancel(authz.System(context.WithoutCancel(ctx), "change of a value"))
	defer stop()
	beating.Go(func() { c.beat(beat, change, cancel) })

	rows, whole, err := c.complete(ctx, a, &change, waited)
	cause := context.Cause(ctx)
	switch {
	case err == nil || errors.Is(cause, errTakenOver):
	case givenUp(change, waited, err):
		err = errors.Join(err, c.withdraw(ctx, a, change))
	case waited && change.Narrowed:
		err = errors.Join(errGoesOn, err)
	}
	c.record(a, change, rows, whole, err)
	if err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err
}

// errGoesOn is the error of a request whose change has not ended but cannot be undone, because
// its previous value is no longer allowed. The change is resumed.
var errGoesOn = fault.New("value_change_running", "change of a value continues")

// givenUp reports whether a change that failed is withdrawn. A deletion always is, because it
// has rewritten nothing. Another change is withdrawn while its previous value is allowed, if
// its caller waits for it, may not make it any more, or another attempt would fail in the same
// way.
func givenUp(change catalog.ValueChange, waited bool, err error) bool {
	if change.Kind == catalog.ValueDelete || change.Narrowed {
		return change.Kind == catalog.ValueDelete
	}
	var broken *dml.RowsError
	var source *write.SourceError
	return waited || errors.Is(err, catalog.ErrDenied) || errors.As(err, &broken) || errors.As(err, &source) ||
		errors.Is(err, dml.ErrNotListed)
}

// errTakenOver is the cause of the end of a change that another replica has taken over.
var errTakenOver = fault.New("unavailable", "change of a value was taken over")

// beat renews a change until ctx ends.
func (c *Changes) beat(ctx context.Context, change catalog.ValueChange, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(changeBeat)
	defer ticker.Stop()
	alive := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		renewing, release := context.WithTimeout(ctx, changeBeat)
		err := c.domains.Store.RenewValueChange(renewing, change.ID, c.holder)
		release()
		switch {
		case err == nil:
			alive = now
		case ctx.Err() != nil:
			return
		case errors.Is(err, catalog.ErrNotFound), time.Since(alive) > changeLost-changeBeat:
			cancel(errTakenOver)
			return
		}
	}
}

// complete rewrites the rows, disallows the previous value, which it records in change, and
// rewrites the rows that were committed in between. whole reports that its author sees all of
// each table. If waited is false, the change is resumed, and the scopes of its author are judged, too.
func (c *Changes) complete(
	ctx context.Context, a caller.Identity, change *catalog.ValueChange, waited bool,
) (rows int64, whole bool, err error) {
	uses, _, err := c.domains.usesOf(ctx, a, change.Domain)
	if err != nil {
		return 0, false, err
	}
	whole = seeWhole(uses)
	if !change.Narrowed {
		// Each table is judged again before its commit, and all before the change cannot be undone
		// any more.
		judging := ctx
		if !waited {
			judging = auth.WithPrincipal(ctx, a.Principal)
		}
		var tables []access.WholeTable
		for _, u := range uses {
			table, err := c.domains.wholeTable(judging, a, u, auth.ScopeDomainsWrite, auth.ScopeRowsUpdate)
			if err != nil {
				return rows, whole, err
			}
			n, err := c.rewrite(ctx, a, u, table, *change)
			if err != nil {
				return rows, whole, err
			}
			rows, tables = rows+n, append(tables, table)
		}
		for _, t := range tables {
			if err := t.Judge(ctx); err != nil {
				return rows, whole, err
			}
		}
		if err := c.domains.Store.NarrowValueChange(authz.System(ctx, "change of a value"), change.ID); err != nil {
			return rows, whole, err
		}
		change.Narrowed = true
	}
	more, err := c.finish(ctx, a, *change)
	return rows + more, whole, err
}

// finish completes a change whose previous value is no longer allowed. It returns an
// [InUseError] if rows have a value that is to be deleted. Rows that were written while both
// values were allowed can break a rule with the new one. They remain, outside the domain,
// because the change could not end otherwise.
func (c *Changes) finish(ctx context.Context, a caller.Identity, change catalog.ValueChange) (rows int64, err error) {
	uses, _, err := c.domains.usesOf(ctx, a, change.Domain)
	if err != nil {
		return 0, err
	}
	if err := c.domains.settleUses(ctx, change.Org, uses); err != nil {
		return 0, err
	}
	if change.Kind == catalog.ValueDelete {
		var used int64
		if used, err = c.domains.count(ctx, uses, func(u use) write.ColumnValue { return changedRows(u, change) }); err == nil {
			err = inUse(uses, used)
		}
	} else {
		for _, u := range uses {
			n, failed := c.rewrite(ctx, a, u, u.server, change) // cannot be undone, whoever asked for it
			rows += n
			var broken *dml.RowsError
			if errors.As(failed, &broken) {
				c.logger.Warn("rows remain outside a domain after a change of a value", "change", change.ID, "error", failed)
				failed = nil
			}
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return rows, err
	}
	return rows, c.domains.Store.EndValueChange(authz.System(ctx, "change of a value"), change.ID)
}

// withdraw gives up a change. Rows that already have the new text of a rename get the
// previous text back.
func (c *Changes) withdraw(ctx context.Context, a caller.Identity, change catalog.ValueChange) error {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	system := authz.System(ctx, "change of a value")
	if err := c.domains.Store.RenewValueChange(system, change.ID, c.holder); err != nil {
		if errors.Is(err, catalog.ErrNotFound) { // another replica has it, or has completed it
			err = nil
		}
		return err
	}
	if err := c.domains.Store.WithdrawValueChange(system, change.ID); err != nil {
		return err
	}
	if change.Kind != catalog.ValueRename {
		return nil
	}
	change.From, change.To, change.Narrowed = change.To, change.From, true
	if _, err := c.finish(ctx, a, change); err != nil {
		c.logger.Warn("withdrawn change of a value is not finished yet", "change", change.ID, "error", err)
	}
	return nil
}

// rewrite gives the rows of one table the new value, in one commit, and returns their number.
func (c *Changes) rewrite(ctx context.Context, a caller.Identity, u use, table access.Writable, change catalog.ValueChange) (int64, error) {
	rows := changedRows(u, change)
	n, err := c.domains.countAll(ctx, u.located, rows)
	if err != nil || n == 0 {
		return 0, err
	}
	result, err := c.domains.Writes.ReplaceValue(ctx, write.Replacement{
		Table: table, ColumnValue: rows, To: change.To, Asker: a, By: a.User, ByName: a.Email,
	})
	return result.Updated, err
}

// changedRows returns the rows of a column that a change of a value concerns, as [rowsOf]
// does. A parent is a value of the parent column in rows with a child.
func changedRows(u use, change catalog.ValueChange) write.ColumnValue {
	switch {
	case u.Domain.Kind != catalog.DomainHierarchical:
		return write.ColumnValue{Column: u.Column, Value: change.From}
	case change.Parent == "":
		return write.ColumnValue{Column: u.ColumnDomain.Parent, Value: change.From, Filled: u.Column}
	}
	return write.ColumnValue{Column: u.Column, Value: change.From, ParentColumn: u.ColumnDomain.Parent, Parent: change.Parent}
}

// record writes an audit entry, without values.
func (c *Changes) record(a caller.Identity, change catalog.ValueChange, rows int64, whole bool, err error) {
	outcome := catalog.OutcomeAllow
	if err != nil {
		outcome = catalog.OutcomeError
	}
	entry := caller.NewEntry(a, "domain."+string(change.Kind), "domain/"+string(change.Domain), outcome)
	entry.Details, _ = json.Marshal(map[string]any{"value": change.Value, "rows": rows, "whole_table": whole}) // numbers and ids: cannot fail
	c.audit.Record(entry)
}
