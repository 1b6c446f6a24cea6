package maintain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

// Optimize asks for fewer, larger files, or for files along a Z-order curve.
type Optimize struct {
	// TargetBytes is the size of the files to make; 0 is the table's own.
	TargetBytes int64
	// Where chooses partitions: a condition over partition columns.
	Where    string
	ZOrderBy []string
	DryRun   bool
}

// Optimized holds the numbers of files that were added and removed; both are nil for a
// caller who neither sees the whole table nor may change it as a whole.
type Optimized struct{ FilesAdded, FilesRemoved *int64 }

// Optimize rewrites files of a table in one commit that changes no row. It continues when the
// caller goes away; if it takes longer than patience, the operation is returned.
// Errors: catalog.FieldErrors, catalog.DeniedError, those of opening a table, of
// the engine and of a commit.
func (o Service) Optimize(
	ctx context.Context, path access.Path, in Optimize, patience time.Duration, result func(Optimized) any,
) (none Optimized, _ *catalog.Operation, err error) {
	m, err := o.find(ctx, path)
	if err != nil {
		return none, nil, err
	}
	if err := m.may(ctx, in); err != nil {
		return none, nil, err
	}
	if in.Where != "" {
		if _, err := o.partitions(ctx, m, in.Where); err != nil {
			return none, nil, err
		}
	}
	return operation.StartAndWait(ctx, o.Operations, m.actor, catalog.OperationOptimize, patience,
		func(ctx context.Context, t *operation.Task) (Optimized, error) {
			return o.optimize(ctx, t, path, in)
		}, result)
}

// optimize does the work when its turn has come. It checks the caller's rights and the
// table again.
func (o Service) optimize(ctx context.Context, t *operation.Task, path access.Path, in Optimize) (out Optimized, err error) {
	m, err := o.find(ctx, path)
	if err != nil {
		return out, err
	}
	if err := m.may(ctx, in); err != nil {
		return out, err
	}
	run := maintenanceRun{catalog.OperationOptimize, time.Now()}
	opts := maintenance.OptimizeOptions{
		TargetBytes: in.TargetBytes, ZOrderBy: in.ZOrderBy, Predicate: in.Where, DryRun: in.DryRun, KeepOrder: m.HidesRows(),
		UserID: string(m.actor.User), UserName: m.actor.Email,
		Source: func(snap *delta.Snapshot, list *engine.FileList) engine.Source {
			source := m.SourceAt(snap)
			source.Files = list
			return source
		},
	}
	var files atomic.Int64
	progress := m.progress(t)
	opts.Rewritten = func(n int64) { progress(files.Add(n)) }
	if in.Where != "" {
		if opts.Partition, err = o.partitions(ctx, m, in.Where); err != nil {
			return out, err
		}
	}
	done, err := o.rewrite(ctx, m, opts)
	var unfit *maintenance.ZOrderError
	if errors.As(err, &unfit) {
		err = fault.Invalid(fmt.Sprintf("zorder_by[%d]", unfit.At), "%s", unfit.Reason)
	}
	if m.learnsNumbers() {
		out.FilesAdded, out.FilesRemoved = &done.FilesAdded, &done.FilesRemoved
	}
	if !in.DryRun {
		o.count(run.op, m, changeAdded, done.FilesAdded, done.BytesAdded)
		o.count(run.op, m, changeRemoved, done.FilesRemoved, done.BytesRemoved)
	}
	o.finish(ctx, run, m, err, slog.Bool("dry_run", in.DryRun), slog.Int64("files_added", done.FilesAdded),
		slog.Int64("files_removed", done.FilesRemoved),
		slog.Int64("bytes_added", done.BytesAdded), slog.Int64("bytes_removed", done.BytesRemoved))
	return out, err
}

// may requires the rights that an optimize needs. Whether an optimize to a chosen size makes a
// version reveals the sizes of files, and so the number of hidden rows, and the failure of a
// condition reveals values of partitions. So these are for callers who may change the whole
// table.
func (m *maintained) may(ctx context.Context, in Optimize) error {
	if in.TargetBytes != 0 || in.Where != "" {
		if err := m.needWhole(ctx, in.DryRun); err != nil {
			return err
		}
	}
	return m.mayOrderBy(in.ZOrderBy)
}

// mayOrderBy refuses hidden and masked columns with the error for columns that do not
// exist.
func (m maintained) mayOrderBy(columns []string) error {
	for i, name := range columns {
		f, ok := m.Column(name)
		if !ok || f.Name != name || m.Masks(name) {
			return fault.Invalid(fmt.Sprintf("zorder_by[%d]", i), "is not a column of the table")
		}
	}
	return nil
}

// rewrite runs an optimize in a session of its own, on behalf of the caller.
func (o Service) rewrite(ctx context.Context, m maintained, opts maintenance.OptimizeOptions) (done maintenance.Optimized, err error) {
	if opts.DryRun {
		return maintenance.Optimize(ctx, m.snap, opts)
	}
	if opts.Scratch, err = os.MkdirTemp(o.Temp, "optimize-"); err != nil {
		return done, err
	}
	defer func() { _ = os.RemoveAll(opts.Scratch) }() // the next start removes the rest
	// No client holds a connection for the work.
	held, err := o.Pool.OpenWhenFree(ctx, m.ServiceKey(), opts.Scratch)
	if err != nil {
		return done, err
	}
	defer held.Release()
	held.Lease.Diagnose = m.seesAll()
	opts.Session, opts.Writer, opts.Lease = held.Session, held.Writer(), held.Lease
	writing, lease, err := o.Leases.Begin(ctx, m.rights, catalog.WriteRows)
	if err != nil {
		return done, err
	}
	defer lease.End()
	opts.Commit = func(ctx context.Context, txn *delta.Txn) (*delta.Snapshot, error) {
		snap, err := lease.Attempt(ctx, txn)
		if err == nil {
			lease.Settle(snap)
		}
		return snap, err
	}
	done, err = maintenance.Optimize(writing, m.snap, opts)
	return done, m.RefuseRead(ctx, write.LeaseError(writing, err))
}
