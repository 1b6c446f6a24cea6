package maintain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

const (
	// sandboxIdle is the time after the last use of a table in a sandbox when it is dropped.
	sandboxIdle = 30 * 24 * time.Hour
	// sandboxGrace is the time between the drop of a table and the removal of its files,
	// within which statements that read them end.
	sandboxGrace = time.Hour
	// sandboxBatch bounds the tables of one pass.
	sandboxBatch = 100
)

// Sandboxes drops tables of sandboxes that nobody uses, and removes the files of dropped
// ones. Any number of replicas may sweep at once.
type Sandboxes struct {
	Store catalog.Sandboxes
	Lake  *lake.Lake
	// Deletions records the files that were removed.
	Deletions *deletion.Deletions
	Now       func() time.Time
	Logger    *slog.Logger
}

// Sweep makes one pass. A table that fails does not keep the others from being handled;
// it is tried again by a later pass.
func (o Sandboxes) Sweep(ctx context.Context) error {
	ctx = authz.System(ctx, "sandboxes")
	return errors.Join(o.drop(ctx), o.purge(ctx))
}

func (o Sandboxes) drop(ctx context.Context) error {
	// A use is recorded once in an interval.
	since := o.Now().Add(-sandboxIdle - access.UseInterval)
	idle, err := o.Store.IdleTables(ctx, since, sandboxBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range idle {
		switch err := o.Store.DropIdleTable(ctx, t.ID, since); {
		case errors.Is(err, catalog.ErrNotFound): // used or dropped meanwhile
		case err != nil:
			errs = append(errs, err)
		default:
			o.Logger.Info("unused table of a sandbox dropped", "organisation", string(t.Org), "table", t.FQN())
		}
	}
	return errors.Join(errs...)
}

func (o Sandboxes) purge(ctx context.Context) error {
	dropped, err := o.Store.ClaimDroppedTables(ctx, o.Now().Add(-sandboxGrace), sandboxBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range dropped {
		bucket, err := o.Lake.Folder(ctx, t.StorageConfig, t.Path)
		if err == nil {
			err = errors.Join(maintenance.Purge(ctx, bucket), o.Deletions.Record(ctx, deletion.Purged(t)))
		}
		if err == nil {
			err = o.Store.ForgetTable(ctx, t.ID, t.Version)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
