package catalog

import (
	"context"
	"math"
)

// FileDeletions records deletions of files of tables by this server. A replica drops what it
// has cached of the files before it confirms the epoch of the record.
type FileDeletions interface {
	// RecordFileDeletion records a deletion after the files are gone. It raises the epoch, and
	// the record has the new one. It removes records that are a week old. While files are
	// being deleted, [WriteLeases.DeleteUnder] announces the deletion.
	RecordFileDeletion(ctx context.Context, deletion FileDeletion) error
	// FileDeletionsSince returns the records of all organisations with an epoch above the given
	// one, oldest first.
	FileDeletionsSince(ctx context.Context, epoch uint64) ([]FileDeletion, error)
}

// FileDeletion is the deletion of files below a place.
type FileDeletion struct {
	Org OrgID
	Place
	// Table is the table whose files were deleted. It is empty if no rows were deleted, because
	// the files are elsewhere.
	Table DeltaID
	// Kept is the oldest version of the table that still has all its files, or [NoVersion].
	Kept int64
	// Epoch is set by the store.
	Epoch uint64
}

// NoVersion as [FileDeletion.Kept] says that all files of the table were deleted.
const NoVersion int64 = math.MaxInt64

// Concerns reports whether rows of a version of a table, read when the deletions up to an epoch
// were known, may be in files that were deleted.
func (d FileDeletion) Concerns(table DeltaID, version int64, epoch uint64) bool {
	return d.Table != "" && d.Table == table && version < d.Kept && epoch < d.Epoch
}

// Validate returns nil or [FieldErrors].
func (d FileDeletion) Validate() error {
	var e FieldErrors
	e.tablePath("path", d.Path)
	if d.Table != "" {
		e.deltaID("table_id", d.Table)
	}
	if d.Kept < 0 {
		e.add("kept", "must not be negative")
	}
	return e.Err()
}
