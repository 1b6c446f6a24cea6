package maintain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Vacuum asks for the deletion of files that no version of a table needs.
type Vacuum struct {
	// Mode is "full", also for "", or "lite".
	Mode   string
	DryRun bool
	// Retention is nil for the table's own. Less than that needs Insist and an
	// administrator.
	Retention    *time.Duration
	Insist       bool
	KeepVersions bool
}

// Vacuumed is what a vacuum deleted, or would delete.
type Vacuumed struct {
	DryRun bool
	// Files are names below the table's folder, at most maxVacuumNames of them.
	Files []string
	// Count counts all; nil for a caller who neither sees the whole table nor may change it as
	// a whole.
	Count *int64
}

// Bounds of the names in an answer, and of their bytes in the record of an
// operation.
const (
	maxVacuumNames = 100_000
	maxRecordNames = 900 << 10
)

// Recorded is the part of the answer that fits the record of an operation: the
// first names only when there are very many.
func (v Vacuumed) Recorded() Vacuumed {
	room := maxRecordNames
	for i, name := range v.Files {
		// Six bytes is the longest form of a character in JSON, for one byte of text.
		if room -= 6*len(name) + 3; room < 0 {
			v.Files = v.Files[:i]
			break
		}
	}
	return v
}

// Vacuum deletes files that no version of a table needs. It continues when the caller goes
// away; if it takes longer than patience, the operation is returned. Errors:
// catalog.FieldErrors, catalog.DeniedError, access.ErrPartlyVisible, those of opening a table.
func (o Service) Vacuum(
	ctx context.Context, path access.Path, v Vacuum, patience time.Duration, result func(Vacuumed) any,
) (Vacuumed, *catalog.Operation, error) {
	m, err := o.find(ctx, path)
	if err != nil {
		return Vacuumed{}, nil, err
	}
	if v.Mode != "" && v.Mode != string(maintenance.VacuumFull) && v.Mode != string(maintenance.VacuumLite) {
		return Vacuumed{}, nil, fault.Invalid("mode", "must be full or lite")
	}
	if err := v.guard(ctx, &m); err != nil {
		return Vacuumed{}, nil, err
	}
	return operation.StartAndWait(ctx, o.Operations, m.actor, catalog.OperationVacuum, patience,
		func(ctx context.Context, t *operation.Task) (Vacuumed, error) {
			return o.vacuum(ctx, t, path, v)
		}, func(v Vacuumed) any { return result(v.Recorded()) })
}

// guard enforces the retention that the table promises to readers of older versions. To choose
// another one is for callers who may change the whole table.
func (v Vacuum) guard(ctx context.Context, m *maintained) error {
	if v.Retention == nil {
		return nil
	}
	if err := m.needWhole(ctx, v.DryRun); err != nil {
		return err
	}
	switch {
	case *v.Retention >= m.snap.DeletedFileRetention():
		return nil
	case !v.Insist:
		return errShortRetention
	case m.actor.Role != auth.RoleAdmin:
		return &catalog.DeniedError{Reason: "short_retention_needs_admin"}
	}
	return nil
}

var errShortRetention = fault.Invalid("retention_hours",
	"is less than the table promises; an administrator can insist with enforce_retention_duration false")

// deleting announces a vacuum to restores on every replica, before it reads theirs: they are
// refused until it has ended, and it deletes nothing until they have. A dry run needs no
// announcement.
func (o Service) deleting(ctx context.Context, m maintained, v Vacuum) (context.Context, *write.Lease, error) {
	if v.DryRun {
		return ctx, nil, nil
	}
	return o.Leases.Begin(ctx, m.rights, catalog.WriteVacuum)
}

// vacuum does the work when its turn has come. It checks the caller's rights and the table
// again.
func (o Service) vacuum(ctx context.Context, t *operation.Task, path access.Path, v Vacuum) (out Vacuumed, err error) {
	m, err := o.find(ctx, path)
	if err != nil {
		return out, err
	}
	if err := v.guard(ctx, &m); err != nil {
		return out, err
	}
	out = Vacuumed{DryRun: v.DryRun, Files: []string{}}
	run, bytes := maintenanceRun{catalog.OperationVacuum, time.Now()}, int64(0)
	deleting, lease, err := o.deleting(ctx, m, v)
	if err != nil {
		return out, err
	}
	if lease != nil {
		defer lease.End()
	}
	gone := catalog.FileDeletion{Org: m.actor.Org, Table: m.Located().DeltaID}
	gone.Place = catalog.Place{Config: m.Located().Config, Path: m.Located().Path}
	files, err := maintenance.Vacuum(deleting, m.snap, maintenance.VacuumOptions{
		Mode: maintenance.VacuumMode(v.Mode), Retention: v.Retention, AllowShortRetention: v.Insist, KeepVersions: v.KeepVersions,
		DryRun: v.DryRun,
		OldestWrite: func(ctx context.Context) (time.Time, error) { // before each batch
			if err := m.rights.Judge(ctx); err != nil {
				return time.Time{}, err
			}
			return o.Leases.Oldest(ctx, m.actor.Org, m.Located().DeltaID)
		},
		Kept:     func(version int64) { gone.Kept = version },
		Deleting: func(ctx context.Context) error { return lease.Deleting(ctx, gone) },
		Deleted: func(files []objstore.Object) {
			for _, f := range files {
				bytes += f.Size
				if m.seesAll() && len(out.Files) < maxVacuumNames {
					out.Files = append(out.Files, f.Name)
				}
			}
		},
		Checked: m.progress(t),
		// Other writers also log vacuums of local tables only.
		LogCommits: m.Local() && !v.DryRun, UserID: string(m.actor.User), UserName: m.actor.Email,
	})
	err = write.LeaseError(deleting, err)
	if !v.DryRun {
		// Also if this run has found nothing: an earlier one may have been interrupted after it
		// had deleted files.
		err = errors.Join(err, lease.Deleted(o.Deletions.Record(ctx, gone)))
	}
	if errors.Is(err, maintenance.ErrRetention) {
		err = errShortRetention // the property has changed
	}
	if m.learnsNumbers() {
		out.Count = &files
	}
	if !v.DryRun {
		o.count(run.op, m, changeRemoved, files, bytes)
	}
	o.finish(ctx, run, m, err, slog.Bool("dry_run", v.DryRun), slog.Int64("files_removed", files), slog.Int64("bytes_removed", bytes))
	return out, err
}
