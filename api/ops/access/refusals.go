package access

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// tableRefusal is the refusal of a table that a caller asked for.
type tableRefusal struct {
	err error
	// place is where the table lies, for the log.
	place string
	// file is the object at fault below the table's folder, and column the one that it
	// cannot be read in; empty if they are unknown or the caller may not learn them.
	file, column string
	// discloses reports that the caller may learn them.
	discloses bool
}

// Error names the place. It is for the log only.
func (e *tableRefusal) Error() string { return "table at " + e.place + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *tableRefusal) Unwrap() error { return e.err }

// Disclosed returns the object at fault and its column, if they are known. It returns false
// if the caller may not learn them.
func (e *tableRefusal) Disclosed() (file, column string, ok bool) {
	return e.file, e.column, e.discloses
}

// refuse adds the table's place and, for a caller who may learn it, the file at fault to
// a refusal of a table. It conceals columns as [Tables.conceal] does. The snapshots of
// v are nil if they could not be opened. Other errors are returned unchanged.
func (o Tables) refuse(ctx context.Context, v tableVersion, err error) error {
	err = o.conceal(ctx, v.located, err)
	if known := (*tableRefusal)(nil); errors.As(err, &known) {
		return err
	}
	var refusal *delta.RefusalError
	var feature *delta.FeatureError
	switch {
	case errors.As(err, &refusal):
		out := &tableRefusal{err: err, place: placeOf(v.located)}
		if refusal.Name != "" && o.seesFiles(ctx, v) {
			out.file, out.discloses = refusal.Name, true
		}
		return out
	case errors.As(err, &feature), errors.Is(err, delta.ErrPartitionValue):
		return &tableRefusal{err: err, place: placeOf(v.located)}
	}
	return err
}

// refuseHead is [Tables.refuse] for the newest version.
func (o Tables) refuseHead(ctx context.Context, t catalog.LocatedTable, head *delta.Snapshot, err error) error {
	return o.refuse(ctx, tableVersion{located: t, snap: head, head: head}, err)
}

// placeOf returns the full path of a table's folder.
func placeOf(t catalog.LocatedTable) string {
	return strings.TrimSuffix(string(t.StorageConfig.Location), "/") + "/" + t.Path
}

// seesFiles reports whether the caller may learn the names of a table's files, which can
// hold values of any row and column. The caller must see the whole table and have the
// right to modify it. Without a snapshot, the columns of the table are unknown, so every
// policy that could apply counts. On an error it returns false.
func (o Tables) seesFiles(ctx context.Context, v tableVersion) bool {
	a, err := caller.From(ctx)
	if err != nil || o.permissions.Permits(ctx, a.Viewer, v.located.Config, auth.ScopeTablesModify) != nil {
		return false
	}
	if v.snap == nil || v.head == nil {
		policies, err := policiesFor(ctx, o.store, a.Org, []catalog.LocatedTable{v.located})
		return err == nil && len(policies) == 0
	}
	t, err := o.seen(ctx, a, v)
	return err == nil && t.Whole()
}

// RefuseRun is [Tables.refuse] for a statement over the tables of b that failed because of a
// data file. It takes the file's name from the versions that the statement reads, because
// the engine's text can name anything.
func (o Tables) RefuseRun(ctx context.Context, b Basis, err error) error {
	for _, t := range b.tables {
		found, out := o.refuseFile(ctx, t.tableVersion, err)
		if found || len(b.tables) == 1 {
			return out
		}
	}
	return err
}

// RefuseRead is [Tables.RefuseRun] for work on the table that is not a statement of the
// caller. The work may have read other tables as well.
func (t Table) RefuseRead(ctx context.Context, err error) error {
	if t.snap == nil {
		return err
	}
	_, out := t.tables.refuseFile(ctx, t.tableVersion, err)
	return out
}

// refuseFile adds what the caller may learn to an error about a data file. It reports
// whether the file is one of the version's.
func (o Tables) refuseFile(ctx context.Context, v tableVersion, err error) (found bool, _ error) {
	var failure *engine.Error
	if !errors.As(err, &failure) || !failure.Unreadable() && (failure.Kind != engine.KindIO || failure.Class != engine.ClassMissing) {
		return false, err
	}
	if known := (*tableRefusal)(nil); errors.As(err, &known) {
		return true, err
	}
	out := &tableRefusal{err: err, place: placeOf(v.located)}
	name := fileOf(v.snap, failure)
	if name == "" && failure.File != "" {
		return false, err // of another table
	}
	if out.discloses = o.seesFiles(ctx, v); out.discloses {
		out.file, out.column = name, failure.Column
	}
	return name != "", out
}

// conceal removes the name of the column from a delta.PartitionError if a policy hides
// or masks columns of the table. It does not compare names, because the caller's view is
// unknown here, and an older version may have another name for the policy's column.
func (o Tables) conceal(ctx context.Context, t catalog.LocatedTable, err error) error {
	var unreadable *delta.PartitionError
	if !errors.As(err, &unreadable) {
		return err
	}
	policies, failed := policiesFor(authz.System(ctx, "names of columns in errors"), o.store, t.Org, []catalog.LocatedTable{t})
	if failed != nil {
		return failed
	}
	if slices.ContainsFunc(policies, func(p catalog.Policy) bool { return p.Kind != catalog.PolicyRows }) {
		return unreadable.Unnamed()
	}
	return err
}

// quotedText finds what a message puts in quotation marks.
var quotedText = regexp.MustCompile(`"([^"]+)"|'([^']+)'`)

// fileOf returns the data file of a version that a failure of the engine names, itself or
// in quotation marks in its message, or "".
func fileOf(snap *delta.Snapshot, failure *engine.Error) string {
	if failure.File != "" {
		for f := range snap.Files() {
			if f.Name == failure.File {
				return f.Name
			}
		}
		return ""
	}
	for _, quoted := range quotedText.FindAllStringSubmatch(failure.Text, -1) {
		place := quoted[1] + quoted[2]
		decoded, err := url.PathUnescape(place) // of a remote store
		for f := range snap.Files() {
			if end := "/" + f.Name; strings.HasSuffix(place, end) || err == nil && strings.HasSuffix(decoded, end) {
				return f.Name
			}
		}
	}
	return ""
}
