package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/sessions"
)

// Queries runs statements of callers. It is the only way to the engine.
type Queries struct {
	Store   catalog.Store
	Lake    *Lake
	Tables  Tables
	Plans   *Plans
	Pool    *sessions.Pool
	Audit   *Auditor
	Metrics *QueryMetrics
	Limits  QueryLimits
	// Confirmed returns nil while this replica knows the catalog's state of the
	// last seconds.
	Confirmed func() error
}

// QueryLimits bounds statements.
type QueryLimits struct {
	DefaultTimeout, MaxTimeout time.Duration
	Guard                      sqlguard.Limits
}

// Query is one statement of a caller.
type Query struct {
	SQL  string
	Args engine.Args
	// Schema resolves table names without a schema; empty means the only
	// visible one.
	Schema string
	// Timeout is capped; zero means the default.
	Timeout time.Duration
}

// Run starts a statement. The caller closes the result. Errors:
// *[StatementError], *sqlguard.Error, the sentinels of this package, and those
// of sessions, delta and the catalog.
func (o *Queries) Run(ctx context.Context, q Query) (*Rows, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return nil, err
	}
	run := &Rows{ID: uuid.NewString(), audit: o.Audit, actor: a, sql: q.SQL, started: time.Now()}
	if err := o.start(ctx, a, q, run); err != nil {
		run.failed(err)
		return nil, err
	}
	return run, nil
}

func (o *Queries) start(ctx context.Context, a Actor, q Query, run *Rows) error {
	if err := o.Confirmed(); err != nil {
		return err
	}
	timeout, err := o.timeout(q.Timeout)
	if err != nil {
		return err
	}
	lap := o.Metrics.start()
	opts := sqlguard.Options{Limits: o.Limits.Guard, Catalog: catalog.CatalogName, Schema: q.Schema, User: a.Email}
	statement, err := o.Plans.parse(ctx, q.SQL, opts)
	if err != nil {
		return err
	}
	lap.done(phaseGuard)
	switch statement.Kind() {
	case sqlguard.KindShowTables, sqlguard.KindShowAllTables:
		return o.showTables(ctx, a, statement, q.Schema, run)
	case sqlguard.KindExplain:
		return &StatementError{Code: "statement_not_allowed", Message: "EXPLAIN is not served"}
	}
	tables, err := o.tables(ctx, a, statement.Tables(), q.Schema)
	if err != nil {
		return err
	}
	relations, err := o.relations(ctx, a, tables, run)
	if err != nil {
		return err
	}
	lap.done(phaseResolve)
	plan, err := o.Plans.bind(ctx, statement, q.SQL, opts, relations)
	if err != nil {
		return err
	}
	lap.done(phasePlan)
	p := &prepared{statement: statement, plan: plan, args: q.Args, columns: visibleColumns(relations)}
	return o.execute(ctx, a, p, timeout, run)
}

// prepared is a statement that may run.
type prepared struct {
	statement *sqlguard.Query
	plan      *sqlguard.Plan
	args      engine.Args
	// columns are the names that a message about an unknown one may suggest.
	columns []string
}

func visibleColumns(relations []sqlguard.Relation) []string {
	var names []string
	for _, r := range relations {
		for _, c := range r.Columns {
			names = append(names, c.Name)
		}
	}
	return names
}

func (o *Queries) timeout(wanted time.Duration) (time.Duration, error) {
	switch {
	case wanted == 0:
		return o.Limits.DefaultTimeout, nil
	case wanted < time.Millisecond || wanted > o.Limits.MaxTimeout:
		return 0, invalid("timeout_ms", "must be between 1 and %d", o.Limits.MaxTimeout.Milliseconds())
	}
	return wanted, nil
}

// usedTable is a table reference of a statement, resolved.
type usedTable struct {
	ref     sqlguard.TableRef
	located catalog.LocatedTable
	// snap is the version that is read, head the newest one. Which policies
	// apply is decided by both: an older version does not shake one off because
	// it lacks the column.
	snap, head *delta.Snapshot
}

// tables resolves every reference and opens each at the version asked for.
func (o *Queries) tables(ctx context.Context, a Actor, refs []sqlguard.TableRef, schema string) ([]usedTable, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	names := make([]catalog.TableName, len(refs))
	for i, ref := range refs {
		name, err := o.name(ctx, a, ref, schema)
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	resolved, err := o.Store.ResolveTables(ctx, a.Viewer, names)
	if err != nil {
		return nil, err
	}
	used := make([]usedTable, len(refs))
	for i, r := range resolved {
		if r.Err != nil {
			return nil, o.unknownTable(ctx, a, refs[i], r.Err)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, r := range resolved {
		group.Go(func() (err error) {
			used[i], err = o.open(groupCtx, refs[i], r.Table)
			return err
		})
	}
	return used, group.Wait()
}

func (o *Queries) open(ctx context.Context, ref sqlguard.TableRef, t catalog.LocatedTable) (usedTable, error) {
	t, head, err := o.Tables.open(ctx, t)
	u := usedTable{ref: ref, located: t, snap: head, head: head}
	switch {
	case err != nil:
	case ref.AtVersion != nil && *ref.AtVersion != head.Version():
		u.snap, err = o.Lake.At(ctx, t, delta.AtVersion(*ref.AtVersion))
	case ref.AtTimestamp != nil:
		u.snap, err = o.Lake.At(ctx, t, delta.AtTimestamp(*ref.AtTimestamp))
	}
	return u, err
}

// name completes a reference. A catalog other than ours holds nothing.
func (o *Queries) name(ctx context.Context, a Actor, ref sqlguard.TableRef, schema string) (catalog.TableName, error) {
	if ref.Catalog != "" && catalog.FoldName(ref.Catalog) != catalog.CatalogName {
		return catalog.TableName{}, o.unknownTable(ctx, a, ref, catalog.ErrNotFound)
	}
	if ref.Schema != "" {
		schema = ref.Schema
	}
	if schema != "" {
		return catalog.TableName{Schema: schema, Table: ref.Name}, nil
	}
	configs, err := o.Store.ListStorageConfigs(ctx, a.Viewer, catalog.Page{Size: 2})
	if err != nil {
		return catalog.TableName{}, err
	}
	if len(configs.Items) != 1 {
		return catalog.TableName{}, &StatementError{
			Code: "table_not_found", Line: ref.Position.Line, Column: ref.Position.Column,
			Message: "table " + quoted(ref.Name) + " needs a schema: write schema.table, or send schema with the request",
		}
	}
	return catalog.TableName{Schema: configs.Items[0].Schema(), Table: ref.Name}, nil
}

// unknownTable says that a name does not resolve. A table that is hidden from
// the caller is not told from one that does not exist; near names are visible
// ones only.
func (o *Queries) unknownTable(ctx context.Context, a Actor, ref sqlguard.TableRef, cause error) error {
	e := &StatementError{Line: ref.Position.Line, Column: ref.Position.Column}
	switch {
	case errors.Is(cause, catalog.ErrAmbiguous):
		e.Code, e.Message = "ambiguous_name", "schema "+quoted(ref.Schema)+" is ambiguous: use its cfg_<id> form"
		return e
	case !errors.Is(cause, catalog.ErrNotFound):
		return cause
	}
	e.Code, e.Message = "table_not_found", "there is no table "+quoted(ref.Name)
	list, err := o.Store.ListTables(ctx, a.Viewer, catalog.TableFilter{}, catalog.Page{Size: catalog.MaxPageSize})
	if err != nil {
		return err
	}
	names := make([]string, len(list.Items))
	for i, t := range list.Items {
		names[i] = t.Name
	}
	e.Near = near(ref.Name, names)
	return e
}

// relations turns tables into what the statement may read of them: the columns
// and the rows that the caller's policies leave.
func (o *Queries) relations(ctx context.Context, a Actor, used []usedTable, run *Rows) ([]sqlguard.Relation, error) {
	if len(used) == 0 {
		return nil, nil
	}
	located := make([]catalog.LocatedTable, len(used))
	for i, u := range used {
		located[i] = u.located
	}
	held, err := rulesFor(ctx, o.Store, a, located)
	if err != nil {
		return nil, err
	}
	relations := make([]sqlguard.Relation, len(used))
	for i, u := range used {
		if relations[i], err = relation(u, held.policies, held.subject); err != nil {
			return nil, err
		}
		run.reads(u, u.applied(held.policies))
	}
	return relations, o.keepWhole(ctx, a, relations)
}

// keepWhole leaves conditions of the statement out of filtered copies where the
// organisation asks for it: the time that a copy takes then tells nothing.
func (o *Queries) keepWhole(ctx context.Context, a Actor, relations []sqlguard.Relation) error {
	if !slices.ContainsFunc(relations, func(r sqlguard.Relation) bool { return r.Filtered }) {
		return nil
	}
	// A setting of the organisation holds whatever the caller may read.
	org, err := o.Store.Organisation(authz.System(ctx, "barrier setting"), a.Org)
	if err != nil {
		return err
	}
	for i := range relations {
		relations[i].KeepWhole = org.Config.Enabled(catalog.FeatureRowFilterBarrierAlways)
	}
	return nil
}

// applied are the policies that govern what is read of the table.
func (u usedTable) applied(policies enforced) enforced {
	return policies.on(u.located.DeltaID, append(columnsOf(u.head), columnsOf(u.snap)...))
}

func relation(u usedTable, policies enforced, s subject) (sqlguard.Relation, error) {
	source, err := sourceOf(u.located, u.snap)
	if err != nil {
		return sqlguard.Relation{}, err
	}
	columns := columnsOf(u.snap)
	filter, err := u.applied(policies).filter(s, columns)
	if err != nil {
		return sqlguard.Relation{}, err
	}
	return sqlguard.Relation{
		Columns: columns, Source: source, Filtered: filter.Restricted, Predicate: filter.Predicate,
	}, nil
}

// execute takes a session and starts the plan.
func (o *Queries) execute(ctx context.Context, a Actor, p *prepared, timeout time.Duration, run *Rows) error {
	roots, err := o.roots(ctx, a)
	if err != nil {
		return err
	}
	// One clock for the wait and the run: the caller's deadline counts from the
	// moment the statement was accepted.
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, engine.ErrTimeout)
	lap := o.Metrics.start()
	held, err := o.Pool.Acquire(ctx, sessions.Key{Org: string(a.Org), User: string(a.User), Roots: roots})
	if err != nil {
		cancel()
		return timedOut(ctx, err)
	}
	lap.done(phaseQueue)
	lease := held.Lease
	lease.Timeout = timeout
	result, err := held.Query(ctx, engine.Statement{
		SQL: p.plan.SQL, Args: p.args, Sources: p.plan.Sources, Barriers: p.plan.Barriers, Lease: lease,
	})
	if err != nil {
		held.Release()
		cancel()
		return p.inOurWords(timedOut(ctx, err))
	}
	lap.done(phaseStart)
	run.Result, run.cancel, run.held, run.ctx = result, cancel, held, ctx
	run.metrics = o.Metrics
	run.explain = func(err error) error { return p.inOurWords(timedOut(ctx, err)) }
	run.Queued = held.Queued
	return nil
}

// timedOut tells our own deadline from a caller that went away.
func timedOut(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), engine.ErrTimeout) {
		return engine.ErrTimeout
	}
	return err
}

// roots are the directories of everything that is visible to the caller now. A
// change leads to another session.
func (o *Queries) roots(ctx context.Context, a Actor) ([]string, error) {
	var roots []string
	err := eachItem(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
		return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
	}, func(config catalog.StorageConfig) error {
		if root, ok := localRoot(config); ok {
			roots = append(roots, root)
		}
		return nil
	})
	return roots, err
}
