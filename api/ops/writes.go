package ops

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/sessions"
)

// Writes changes the rows of tables on behalf of callers: all rows of a request,
// or none, in one commit.
type Writes struct {
	Queries     *Queries
	Permissions Permissions
	Leases      WriteLeases
	Metrics     *WriteMetrics
	Logger      *slog.Logger
	// Scratch is the directory for files that are on their way.
	Scratch string
	// StagedBytes bounds the rows of one request as they are kept on the way.
	StagedBytes int64
	// BodyRows bounds the number of rows in one request; 0 means the limit of files.
	BodyRows int64
	// Timeout bounds one write.
	Timeout time.Duration
}

// Written is what a write did.
type Written struct {
	// Version is the one that holds the change; without one, that which was read.
	Version                    int64
	Inserted, Updated, Deleted int64
}

// WriteOptions are what every write takes.
type WriteOptions struct {
	// DryRun judges everything and changes nothing.
	DryRun bool
	// Key is the idempotency key; empty means none.
	Key string
}

// replans is how often a change that lost a race is planned again.
const replans = 10

// writing is one write in progress. It belongs to one goroutine.
type writing struct {
	Writes
	actor   Actor
	located catalog.LocatedTable
	options WriteOptions
	// action names the write in figures and in the audit log.
	action  string
	scratch string
	// asked is what the request asks for, complete when its body was read.
	asked       asked
	application *dml.Application
	id          string
	// kept counts the answers that were kept in scratch.
	kept int
	// scopes are the scopes that the write needs on the table.
	scopes  []auth.Scope
	watched *watched

	// What follows is read anew for every plan.
	moment *moment
	basis  basis
	used   usedTable
	view   view
	target dml.Table
}

// run resolves a table for a caller who holds a scope where the table is, and
// makes plans until one is committed. prepare runs once, on the first version;
// plan runs on the newest one, again after each lost race. words are what the
// request asks for beside its body.
func (o Writes) run(ctx context.Context, path TablePath, action string, scopes []auth.Scope, words []string, options WriteOptions,
	prepare func(context.Context, *writing) error, plan func(context.Context, *writing) (dml.Result, error),
) (out Written, err error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return Written{}, err
	}
	if err := o.Queries.Confirmed(); err != nil {
		return Written{}, err
	}
	w := &writing{Writes: o, actor: a, action: action, options: options, id: uuid.NewString(), scopes: scopes}
	if w.located, err = path.resolve(ctx, o.Queries.Store, a.Viewer); err != nil {
		return Written{}, err
	}
	w.asked = newAsked(append([]string{action, string(w.located.ID)}, words...)...)
	for _, scope := range scopes {
		if err := o.Permissions.Permits(ctx, a.Viewer, w.located.Config, scope); err != nil {
			return Written{}, err
		}
	}
	if err := o.Queries.Pool.Room(string(a.Org), string(a.User)); err != nil {
		return Written{}, err
	}
	ctx, w.watched = o.Queries.Revocations.begin(ctx, a)
	defer w.watched.done()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if w.scratch, err = os.MkdirTemp(o.Scratch, "write-"); err != nil {
		return Written{}, err
	}
	defer func() { _ = os.RemoveAll(w.scratch) }() // the next start sweeps the rest
	begun := time.Now()
	if out, err = w.committed(ctx, prepare, plan); err != nil {
		err = endedBy(ctx, err)
	}
	o.Metrics.ended(action, err)
	w.record(action, out, time.Since(begun), err)
	return out, err
}

func writtenOf(r dml.Result) Written {
	return Written{Version: r.Snapshot.Version(), Inserted: r.Inserted, Updated: r.Updated, Deleted: r.Deleted}
}

func (w *writing) committed(ctx context.Context, prepare func(context.Context, *writing) error, plan func(context.Context, *writing) (dml.Result, error)) (Written, error) {
	if err := w.open(ctx); err != nil {
		return Written{}, err
	}
	// A vacuum leaves the files of this write alone until it has ended.
	ctx, done, err := w.Leases.Begin(ctx, w.located, catalog.WriteRows)
	if err != nil {
		return Written{}, err
	}
	defer done()
	schema := w.used.snap.Metadata().SchemaString
	if err := prepare(ctx, w); err != nil {
		return Written{}, err
	}
	if earlier, err := w.claim(ctx, w.asked); err != nil || earlier != nil {
		return orNothing(earlier), err
	}
	for n := 1; ; n++ {
		result, err := plan(ctx, w)
		if err == nil {
			if !w.options.DryRun {
				w.Queries.Lake.Committed(ctx, w.located, result.Snapshot)
			}
			out := writtenOf(result)
			return out, w.settle(ctx, out)
		}
		twin := errors.Is(err, delta.ErrConcurrentTransaction) && w.application != nil
		if !twin && !errors.Is(err, delta.ErrConflict) || n == replans || pause(ctx, n) != nil {
			return Written{}, withCause(ctx, err)
		}
		if again := w.open(ctx); again != nil {
			return Written{}, again
		}
		// Another request with the key can have been quicker, whichever race was lost:
		// planned on top of it, this one would be done twice.
		if w.application != nil {
			earlier, again := w.earlier(ctx, time.Time{})
			if again != nil || earlier != nil {
				return orNothing(earlier), again
			}
		}
		if w.used.snap.Metadata().SchemaString != schema {
			return Written{}, err // the rows were read as those of another schema
		}
	}
}

func orNothing(w *Written) Written {
	if w == nil {
		return Written{}
	}
	return *w
}

// withCause prefers why a context ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return errors.Join(cause, err)
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

// open reads the newest version, and what the caller may see and write of it, at
// one moment.
func (w *writing) open(ctx context.Context) error {
	t, snap, err := w.Queries.Tables.openNewest(ctx, w.located)
	if err == nil {
		err = w.Queries.Tables.refuseHead(ctx, t, snap, checkRows(ctx, snap))
	}
	if err != nil {
		return err
	}
	w.located, w.used = t, usedTable{located: t, snap: snap, head: snap}
	if w.moment, err = newMoment(ctx, w.Queries.Store); err != nil {
		return err
	}
	held, err := rulesFor(ctx, w.Queries.Store, w.actor, w.moment, []catalog.LocatedTable{t}, nil)
	if err != nil {
		return err
	}
	w.basis = basis{subject: held.subject, tables: []usedPolicies{{w.used, w.used.applied(held.policies)}}}
	w.watchBasis()
	if w.view, err = w.used.view(held.policies, held.subject); err != nil {
		return err
	}
	columns := columnsOf(snap)
	filter, err := w.used.applied(held.policies).filterOver(held.subject, columns, constraint.Alias)
	if err != nil {
		return err
	}
	set, err := ruleSet(authz.System(ctx, "rules of a table"), w.Queries.Store, w.Queries.Plans.parser, w.actor.Org, snap)
	if err != nil {
		return err
	}
	w.target = dml.Table{
		Snapshot: snap, Source: sourceOf(t, snap), Columns: columns, Rules: set, Filter: filter.Predicate, Hidden: filter.HiddenColumns,
		Masked: sortedKeys(filter.Masks), Restricted: w.view.filtered(),
		KeepOrder: w.used.applied(held.policies).hideRows(),
	}
	return nil
}

// session opens the service session of a plan. It reads the table's configuration
// only, and unfiltered.
func (w *writing) session(ctx context.Context) (*sessions.Held, dml.Options, error) {
	return w.sessionOver(ctx, []string{sessionRoot(w.located.StorageConfig)})
}

func (w *writing) sessionOver(ctx context.Context, roots []string) (*sessions.Held, dml.Options, error) {
	held, err := w.Queries.Pool.Open(ctx, sessions.Key{Org: string(w.actor.Org), User: string(w.actor.User), Roots: roots}, w.scratch)
	if err != nil {
		return nil, dml.Options{}, err
	}
	service, ok := held.Session.(dml.Session)
	if !ok {
		held.Release()
		return nil, dml.Options{}, errors.New("the engine's sessions do not write files")
	}
	return held, dml.Options{
		Session: service, Lease: held.Lease, Scratch: w.scratch, UserID: string(w.actor.User), UserName: w.actor.Email, DryRun: w.options.DryRun,
		KeyFiles: func(n int) {
			w.Logger.Debug("keys checked", "op", w.action, "table_id", string(w.located.DeltaID), "files", n)
		},
		Application: w.application, Publish: w.publish,
	}, nil
}

// letGo ends a session of this write. Nobody waits for it but the pool, when that is
// closed: it takes the engine as long as some writes do to give its memory back, and
// the lease stays until then.
func letGo(held *sessions.Held) { go held.Release() }

// record writes who changed what, without values.
func (w *writing) record(action string, out Written, elapsed time.Duration, err error) {
	outcome := catalog.OutcomeAllow
	var denied *dml.RowsError
	switch {
	case errors.Is(err, dml.ErrHiddenMatch), errors.As(err, &denied) && denied.Kind == dml.BrokenFilter:
		outcome = catalog.OutcomeDeny
	case err != nil:
		outcome = catalog.OutcomeError
	}
	entry := entryFor(w.actor, action, "write/"+w.id, outcome)
	entry.Details, _ = json.Marshal(map[string]any{ // numbers and names: cannot fail
		"table": w.located.DeltaID, "version": out.Version, "inserted": out.Inserted, "updated": out.Updated, "deleted": out.Deleted,
		"dry_run": w.options.DryRun, "elapsed_ms": elapsed.Milliseconds(),
	})
	w.Queries.Audit.Record(entry)
}
