package access

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// ReadVersion is a version of a table whose rows were read.
type ReadVersion struct {
	Table   catalog.DeltaID `json:"table"`
	Version int64           `json:"version"`
	// Dropped is an epoch: the rows are in no file that was deleted up to it.
	Dropped uint64 `json:"dropped"`
}

// Versions returns the versions of the tables that are read.
func (b Basis) Versions() []ReadVersion {
	out := make([]ReadVersion, len(b.tables))
	for i, t := range b.tables {
		out[i] = ReadVersion{Table: t.located.DeltaID, Version: t.snap.Version(), Dropped: t.emptied}
	}
	return out
}

// FilesDeleted reports whether files that any of the versions needs may have been deleted since
// they were read, up to an epoch.
func (o Tables) FilesDeleted(ctx context.Context, read []ReadVersion, epoch uint64) (bool, error) {
	since := epoch
	for _, v := range read {
		since = min(since, v.Dropped)
	}
	if since == epoch {
		return false, nil
	}
	deletions, err := o.store.FileDeletionsSince(authz.System(ctx, "deleted files"), since)
	if err != nil {
		return false, err
	}
	for _, d := range deletions {
		for _, v := range read {
			if d.Concerns(v.Table, v.Version, v.Dropped) {
				return true, nil
			}
		}
	}
	return false, nil
}

// CheckFiles returns a [revocation.Check] that fails when files that a statement needs are deleted.
// Its rows, which may wait for a slow client, do not outlive them.
func (o Tables) CheckFiles(b Basis) revocation.Check {
	read := b.Versions()
	return func(ctx context.Context, v *memo.EpochView) error {
		deleted, err := o.FilesDeleted(ctx, read, v.Epoch())
		if err == nil && deleted {
			err = revocation.ErrRevoked
		}
		return err
	}
}
