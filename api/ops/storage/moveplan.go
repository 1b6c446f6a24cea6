package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

// TablesError names tables that cannot be moved: 409.
type TablesError struct{ Problems catalog.FieldErrors }

// Error implements error.
func (e *TablesError) Error() string { return "tables cannot be moved: " + e.Problems.Error() }

// ProblemCode names the line in the table of errors.
func (e *TablesError) ProblemCode() string { return "table_not_movable" }

// FieldProblems yields the tables and the reasons.
func (e *TablesError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range e.Problems {
			if !yield(p.Field, p.Message) {
				return
			}
		}
	}
}

// moveEnds are the configurations of a move.
type moveEnds struct{ source, target catalog.StorageConfig }

// movePlan is what a move would do.
type movePlan struct {
	all    move.Count
	tables int64
}

// permitted returns the configurations of a move that the caller may make, whatever the source
// holds. Configurations that the caller does not see are not found.
func (o *Moves) permitted(ctx context.Context, a caller.Identity, n catalog.NewMove) (ends moveEnds, err error) {
	if ends.source, err = o.Store.StorageConfig(ctx, a.Viewer, n.Source.Config); err != nil {
		return ends, err
	}
	if ends.target, err = o.Store.StorageConfig(ctx, a.Viewer, n.Target.Config); err != nil {
		return ends, err
	}
	scopes := []auth.Scope{auth.ScopeStorageWrite}
	shares := ends.target.Personal() || ends.target.Workspace != ends.source.Workspace
	if shares {
		scopes = append(scopes, auth.ScopeStorageConfigsShare)
	}
	for _, scope := range scopes {
		for _, config := range []catalog.StorageConfig{ends.source, ends.target} {
			if err := o.Tables.Permit(ctx, a, config.ID, scope); err != nil {
				return ends, err
			}
		}
	}
	if shares && !ends.target.Personal() {
		if err := feature.Require(ctx, o.Store, a.Org, catalog.FeatureSharing); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

// plan refuses a move that cannot be made. It says nothing about tables before it is certain
// that the caller may change all of them.
func (o *Moves) plan(ctx context.Context, a caller.Identity, n catalog.NewMove, ends moveEnds) (movePlan, error) {
	if err := validPlaces(n, ends); err != nil {
		return movePlan{}, err
	}
	if err := o.outsideTables(ctx, n, ends); err != nil {
		return movePlan{}, err
	}
	tables, err := o.wholeTables(ctx, a, n, ends, access.Previewing)
	if err != nil {
		return movePlan{}, err
	}
	if err := o.movable(ctx, tables); err != nil {
		return movePlan{}, err
	}
	job, err := o.job(ctx, n.Source, n.Target, ends)
	if err != nil {
		return movePlan{}, err
	}
	if err := job.Vacant(ctx); err != nil {
		if errors.Is(err, move.ErrOccupied) {
			err = ErrNotEmpty
		}
		return movePlan{}, err
	}
	all, err := job.Measure(ctx)
	if err == nil && all.Objects == 0 {
		err = fault.Invalid("source_path", "has no objects")
	}
	registered := int64(0)
	for _, t := range tables {
		if t.ID != "" && t.State != catalog.TableDropped {
			registered++
		}
	}
	return movePlan{all: all, tables: registered}, err
}

// wholeTables returns the tables at the source. The caller must have the right to change each as
// a whole.
func (o *Moves) wholeTables(
	ctx context.Context, a caller.Identity, n catalog.NewMove, ends moveEnds, purpose access.Purpose,
) ([]catalog.LocatedTable, error) {
	tables, err := o.tablesAt(ctx, n.Source, ends.source)
	if err != nil {
		return nil, err
	}
	return tables, o.Tables.JudgeTables(ctx, a, tables, purpose)
}

// stillPermitted judges the rights of the caller of a move again, before its switch.
func (o *Moves) stillPermitted(ctx context.Context, a caller.Identity, n catalog.NewMove) error {
	member, err := o.Store.Membership(authz.System(ctx, "caller of a move"), a.Org, a.User)
	if err != nil {
		return err
	}
	if catalog.Role(a.Role).Includes(member.Role) {
		a.Role = auth.Role(member.Role)
		a.Scopes = a.Granted.Intersect(a.Role.Scopes())
	}
	ctx = auth.WithPrincipal(ctx, a.Principal)
	ends, err := o.permitted(ctx, a, n)
	if err == nil {
		_, err = o.wholeTables(ctx, a, n, ends, access.Changing)
	}
	return err
}

// validPlaces checks what can be said without the stores.
func validPlaces(n catalog.NewMove, ends moveEnds) error {
	if err := n.Validate(); err != nil {
		return err
	}
	source, target := ends.source.Location.Within(n.Source.Path), ends.target.Location.Within(n.Target.Path)
	if source.Overlaps(target) {
		return fault.Invalid("destination_path", "must neither contain the source nor lie in it")
	}
	if ends.source.Sandbox || ends.target.Sandbox {
		return catalog.ErrSandbox
	}
	for field, path := range map[string]string{"source_path": n.Source.Path, "destination_path": n.Target.Path} {
		if path != "" && objstore.ValidName(path) != nil {
			return fault.Invalid(field, "has parts that names of objects cannot have")
		}
	}
	for segment := range strings.SplitSeq(n.Target.Path, "/") {
		if strings.HasPrefix(segment, "_") || strings.HasPrefix(segment, ".") || strings.Contains(segment, "=") {
			return fault.Invalid("destination_path", "must not have parts that begin with '_' or '.', or hold '='")
		}
	}
	return nil
}

// outsideTables refuses places in the folder of a table, registered or not.
func (o *Moves) outsideTables(ctx context.Context, n catalog.NewMove, ends moveEnds) error {
	for _, at := range []struct {
		field, path string
		config      catalog.StorageConfig
	}{{"source_path", n.Source.Path, ends.source}, {"destination_path", n.Target.Path, ends.target}} {
		bucket, err := o.Lake.Root(ctx, at.config)
		if err != nil {
			return err
		}
		for path := at.path; path != ""; {
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
			table, err := storage.IsTable(ctx, bucket, path)
			if err != nil {
				return err
			}
			if table {
				return fault.Invalid(at.field, "must not lie in the folder of a table")
			}
		}
	}
	return nil
}

// tablesAt returns the tables at a place: the registered ones, dropped ones included, and those
// whose logs a discovery would find.
func (o *Moves) tablesAt(ctx context.Context, at catalog.Place, config catalog.StorageConfig) (tables []catalog.LocatedTable, err error) {
	system := authz.System(ctx, "tables of a move")
	known := map[string]bool{}
	filter := catalog.TableFilter{Config: config.ID, States: catalog.TableStates()}
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(system, catalog.SystemViewer(config.Org), filter, page)
	}, func(t catalog.LocatedTable) error {
		if at.Covers(config.ID, t.Path) {
			known[t.Path] = true
			tables = append(tables, t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	bucket, err := o.Lake.Folder(ctx, config, at.Path)
	if err != nil {
		return nil, err
	}
	covered, err := storage.Discover(ctx, bucket, storage.DiscoverOptions{}, func(found storage.FoundTable) error {
		path := strings.Trim(at.Path+"/"+found.Path, "/")
		if known[path] {
			return nil
		}
		if len(tables) > catalog.MaxMovedTables {
			return errTooManyTables
		}
		snap, err := o.Lake.Any(ctx, config, path)
		t := catalog.LocatedTable{StorageConfig: config, Table: catalog.Table{
			Org: config.Org, Config: config.ID, Path: path, State: catalog.TableLive,
		}}
		switch {
		case err == nil:
			t.DeltaID = catalog.DeltaID(snap.TableID())
		case immovableReason(err) == "":
			return err
		}
		tables = append(tables, t)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(tables) > catalog.MaxMovedTables:
		return nil, errTooManyTables
	case !covered.Complete():
		return nil, fault.Invalid("source_path", "cannot be listed as a whole")
	}
	return tables, nil
}

var errTooManyTables = fault.Invalid("source_path", "must not hold more than %d tables", catalog.MaxMovedTables)

// immovableReason returns the reason if a log cannot be read because it names files elsewhere, or
// else "".
func immovableReason(err error) string {
	var refused *delta.RefusalError
	if !errors.As(err, &refused) {
		return ""
	}
	switch refused.Reason {
	case delta.ReasonAbsolutePath, delta.ReasonShallowClone, delta.ReasonUnsafePath:
		return string(refused.Reason)
	}
	return ""
}

// logsAtOnce is the number of tables of a move whose logs are read at the same time.
const logsAtOnce = 8

// movable refuses, by name, tables that would not be the same at another place.
func (o *Moves) movable(ctx context.Context, tables []catalog.LocatedTable) error {
	reasons := make([]string, len(tables))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(logsAtOnce)
	for i, t := range tables {
		group.Go(func() (err error) {
			if err = groupCtx.Err(); err == nil { // else another table has failed
				reasons[i], err = o.immovable(groupCtx, t)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var problems catalog.FieldErrors
	for i, reason := range reasons {
		if reason != "" {
			problems = append(problems, catalog.FieldError{
				Field: fmt.Sprintf("tables[%d]", len(problems)), Message: tables[i].Path + ": " + reason})
		}
	}
	if len(problems) > 0 {
		return &TablesError{problems}
	}
	return nil
}

// immovable returns the reason why a table would not be the same at another place, or "".
func (o *Moves) immovable(ctx context.Context, t catalog.LocatedTable) (string, error) {
	snap, err := o.Lake.Any(ctx, t.StorageConfig, t.Path)
	switch {
	case errors.Is(err, delta.ErrTableNotFound):
		return "", nil // it has vanished or its files are gone
	case err == nil && t.State == catalog.TableIdentityChanged:
		return "", access.ErrTableIdentity
	case err == nil && snap.AbsolutePaths():
		return string(delta.ReasonAbsolutePath), nil
	case err == nil:
		return immovableReason(delta.CheckReadable(snap)), nil
	}
	if reason := immovableReason(err); reason != "" {
		return reason, nil
	}
	return "", err
}

// job returns the work on objects of a move.
func (o *Moves) job(ctx context.Context, source, target catalog.Place, ends moveEnds) (job move.Job, err error) {
	if job.Source, err = o.Lake.Folder(ctx, ends.source, source.Path); err != nil {
		return job, err
	}
	job.Target, err = o.Lake.Folder(ctx, ends.target, target.Path)
	return job, err
}
