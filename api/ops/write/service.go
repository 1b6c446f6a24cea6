package write

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/sessions"
)

// Service changes the rows of tables on behalf of callers: all rows of a request,
// or none, in one commit.
type Service struct {
	Store   catalog.Store
	Tables  access.Tables
	Domains *Domains
	// Queries finds the rows that conditions of callers mean.
	Queries *query.Service
	Parser  engine.Parser
	Pool    *sessions.Pool
	// Confirmed and Revocations are those of [query.Service].
	Confirmed   func() error
	Revocations *revocation.Watcher
	Audit       *caller.Auditor
	Leases      Leases
	Metrics     *Metrics
	// Refusals may be nil in tests.
	Refusals *Refusals
	Logger   *slog.Logger
	// Scratch is the directory of files before they are uploaded.
	Scratch string
	// StagedBytes bounds the size of the staged rows of one request.
	StagedBytes int64
	// BodyRows bounds the number of rows in one request; 0 means the limit of files.
	BodyRows int64
	// Timeout bounds one write.
	Timeout time.Duration
}

// Result is what a write did.
type Result struct {
	// Version is the version that the write made; if it changed nothing, the one it read.
	Version                    int64
	Inserted, Updated, Deleted int64
	// KeysUnchecked reports that a dry run has not checked keys, because the caller does not see
	// all rows that have them.
	KeysUnchecked bool
}

// Options are the options of every write.
type Options struct {
	// DryRun checks everything and changes nothing.
	DryRun bool
	// Key is the idempotency key; empty means none.
	Key string
}

// replans bounds how often a change that lost a race is planned again.
const replans = 10

// writing is one write in progress. It belongs to one goroutine.
type writing struct {
	Service
	actor   caller.Identity
	located catalog.LocatedTable
	options Options
	// action names the write in metrics and in the audit log.
	action  string
	scratch string
	// asked is a digest of the request, complete when its body was read.
	asked       asked
	application *dml.Application
	id          string
	// plans counts the plans that needed rows of the table.
	plans int
	// scopes are the scopes that the write needs on the table.
	scopes []auth.Scope
	work   *revocation.Work
	lease  *Lease
	// changes reports whether the write can give a column values; nil means that it can.
	changes func(column string) bool
	// probing ends what [Refusals.begin] began; nil if nothing did.
	probing func()
	// checked reports that the new rows of a plan have passed all checks.
	checked bool
	// whole is set for a change of all rows, under no policy: the table that may be changed so.
	whole access.Writable

	// The fields below are set for every plan.
	table access.Table
	// rights are those that the write is judged by before its commit.
	rights access.Writable
	basis  access.Basis
	rules  TableRules
	target dml.Table
}

// run resolves a table for a caller who holds a scope where the table is, and
// makes plans until one is committed. prepare runs once, on the first version;
// plan runs on the newest one, again after each lost race. words are the parts of the
// request in addition to its body. changes is that of [writing].
func (o Service) run(ctx context.Context, path access.Path, action string, scopes []auth.Scope, words []string, options Options,
	changes func(column string) bool,
	prepare func(context.Context, *writing) error, plan func(context.Context, *writing) (dml.Result, error),
) (out Result, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := o.Confirmed(); err != nil {
		return Result{}, err
	}
	if err := o.Refusals.check(a); err != nil {
		return Result{}, err
	}
	w := &writing{Service: o, actor: a, action: action, options: options, id: uuid.NewString(), scopes: scopes, changes: changes}
	if w.located, err = path.Resolve(ctx, o.Store, a.Viewer); err != nil {
		return Result{}, err
	}
	w.asked = newAsked(append([]string{action, string(w.located.ID)}, words...)...)
	for _, scope := range scopes {
		if err := o.Tables.Permit(ctx, a, w.located.Config, scope); err != nil {
			return Result{}, err
		}
	}
	if err := o.Pool.Room(string(a.Org), string(a.User)); err != nil {
		return Result{}, err
	}
	ctx, w.work = o.Revocations.Begin(ctx, a)
	defer w.work.Done()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if w.scratch, err = os.MkdirTemp(o.Scratch, "write-"); err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(w.scratch) }() // the next start removes the rest
	defer func() {
		if w.probing != nil {
			w.probing()
		}
	}()
	begun := time.Now()
	if out, err = w.planUntilCommitted(ctx, prepare, plan); err != nil {
		err = w.table.RefuseRead(ctx, revocation.EndedBy(ctx, timedOut(ctx, err)))
	}
	o.Metrics.ended(action, err)
	// A client that has hung up was answered, too.
	if n := w.hiddenAnswers(context.WithoutCancel(ctx), err); n > 0 {
		o.Refusals.note(w, n)
		withholdTotal(err)
	}
	w.record(action, out, time.Since(begun), err)
	return out, err
}

func writtenOf(r dml.Result) Result {
	return Result{Version: r.Snapshot.Version(), Inserted: r.Inserted, Updated: r.Updated, Deleted: r.Deleted}
}

// planUntilCommitted opens the table, prepares the write and plans it, again and again while
// commits of others or changes of rules get in between, until it is committed or refused.
func (w *writing) planUntilCommitted(
	ctx context.Context, prepare func(context.Context, *writing) error, plan func(context.Context, *writing) (dml.Result, error),
) (Result, error) {
	if err := w.open(ctx); err != nil {
		return Result{}, err
	}
	// A vacuum deletes no files of this write until the lease ends.
	ctx, lease, err := w.Leases.Begin(ctx, w.rights, catalog.WriteRows)
	if err != nil {
		return Result{}, err
	}
	defer lease.End()
	w.lease = lease
	schema := w.table.Snapshot().Metadata().SchemaString
	if err := prepare(ctx, w); err != nil {
		return Result{}, err
	}
	if earlier, err := w.claim(ctx, w.asked); err != nil || earlier != nil {
		return orNothing(earlier), err
	}
	if err := w.probe(ctx); err != nil {
		return Result{}, err
	}
	for n := 1; ; n++ {
		result, err := plan(ctx, w)
		if err == nil {
			if !w.options.DryRun {
				w.table.Committed(ctx, result.Snapshot)
			}
			out := writtenOf(result)
			out.KeysUnchecked = w.options.DryRun && !w.table.Whole()
			return out, w.settle(ctx, out)
		}
		twin := errors.Is(err, delta.ErrConcurrentTransaction) && w.application != nil
		lost := errors.Is(err, delta.ErrConflict) || errors.Is(err, catalog.ErrDomainsChanged)
		if !twin && !lost || n == replans || pause(ctx, n) != nil {
			return Result{}, withCause(ctx, err)
		}
		if again := w.open(ctx); again != nil {
			return Result{}, again
		}
		// Another request with the key can have been faster. This one must not be planned on
		// top of it, or it would be done twice.
		if w.application != nil {
			earlier, again := w.earlier(ctx, time.Time{})
			if again != nil || earlier != nil {
				return orNothing(earlier), again
			}
		}
		if w.table.Snapshot().Metadata().SchemaString != schema {
			return Result{}, err // the rows were staged under another schema
		}
	}
}

func orNothing(w *Result) Result {
	if w == nil {
		return Result{}
	}
	return *w
}

// withCause adds the cause of a context that has ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return errors.Join(cause, err)
	}
	return err
}

// timedOut distinguishes a statement that ran until the deadline of its write from one that was
// cancelled.
func timedOut(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, engine.ErrInterrupted) {
		return engine.ErrTimeout
	}
	return err
}

func pause(ctx context.Context, n int) error {
	timer := time.NewTimer(rand.N(min(10*time.Millisecond<<n, time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writing) openTable(ctx context.Context) error {
	if w.whole != nil {
		t, err := w.Tables.OpenUnfiltered(ctx, w.located)
		w.table, w.rights = t.AsSeen(), w.whole
		return err
	}
	t, err := w.Tables.OpenOwnRows(ctx, w.actor, access.Ref{Table: &w.located, Newest: true, Rows: true})
	if err == nil { // whether the former plan answered something is judged by its table
		w.table, w.rights = t.AsSeen(), t
	}
	return err
}

// open opens the newest version as the caller may see and write it.
func (w *writing) open(ctx context.Context) (err error) {
	if err := w.openTable(ctx); err != nil {
		return err
	}
	w.located = w.table.Located()
	var filter sqlfilter.Filter
	if w.whole == nil {
		w.basis = access.BasisOf(w.table)
		w.watchBasis()
		if filter, err = w.table.FilterOver(constraint.Alias); err != nil {
			return err
		}
	}
	snap := w.table.Snapshot()
	set, err := RuleSet(authz.System(ctx, "rules of a table"), w.Store, w.Parser, w.located, snap)
	if err != nil {
		return err
	}
	if w.rules, err = w.Domains.Rules(ctx, w.table, w.changes); err != nil {
		return err
	}
	shield, err := w.shield(ctx, w.table)
	if err != nil {
		return err
	}
	w.target = dml.Table{
		Snapshot: snap, Source: w.table.Source(), Columns: w.table.AllColumns(), Rules: set, Domains: w.rules.Domains(),
		Filter: filter.Predicate, FilterColumns: filter.Columns, Hidden: filter.HiddenColumns,
		Masked: slices.Sorted(maps.Keys(filter.Masks)), Restricted: w.table.Filtered(),
		Shield: shield, KeepOrder: w.table.HidesRows(),
	}
	return nil
}

// session opens the service session of a plan. It reads the table's configuration and
// those of its domains' sources only, and unfiltered.
func (w *writing) session(ctx context.Context) (*sessions.Held, dml.Options, error) {
	held, err := w.Pool.Open(ctx, w.rules.SessionKey(w.table), w.scratch)
	if err != nil {
		return nil, dml.Options{}, err
	}
	held.Lease.Diagnose = w.table.Whole()
	service, ok := held.Session.(dml.Session)
	if !ok {
		held.Release()
		return nil, dml.Options{}, errNoWriter
	}
	return held, dml.Options{
		Session: service, Lease: held.Lease, Scratch: w.scratch, UserID: string(w.actor.User), UserName: w.actor.Email, DryRun: w.options.DryRun,
		KeyFiles: func(n int) {
			w.Logger.Debug("keys checked", "op", w.action, "table_id", string(w.located.DeltaID), "files", n)
		},
		Application: w.application,
		Checked:     func() { w.checked = true },
		Publish:     func(ctx context.Context, txn *delta.Txn) (*delta.Snapshot, error) { return w.publish(ctx, txn) },
	}, nil
}

var errNoWriter = errors.New("the engine's sessions do not write files")

// releaseAsync ends a session of this write. Only the closing pool waits for it: the engine
// takes as long as some writes to free its memory, and the lease stays until then.
func releaseAsync(held *sessions.Held) { go held.Release() }

// record writes an audit entry, without values.
func (w *writing) record(action string, out Result, elapsed time.Duration, err error) {
	outcome := catalog.OutcomeAllow
	var denied *dml.RowsError
	switch {
	case errors.Is(err, dml.ErrHiddenMatch), errors.As(err, &denied) && denied.Kind == dml.BrokenFilter:
		outcome = catalog.OutcomeDeny
	case err != nil:
		outcome = catalog.OutcomeError
	}
	entry := caller.NewEntry(w.actor, action, "write/"+w.id, outcome)
	entry.Details, _ = json.Marshal(map[string]any{ // numbers and names: cannot fail
		"table": w.located.DeltaID, "version": out.Version, "inserted": out.Inserted, "updated": out.Updated, "deleted": out.Deleted,
		"dry_run": w.options.DryRun, "elapsed_ms": elapsed.Milliseconds(),
	})
	w.Audit.Record(entry)
}
