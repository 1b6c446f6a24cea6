package ops

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// usedTable is a table reference of a statement, resolved.
type usedTable struct {
	ref     sqlguard.TableRef
	located catalog.LocatedTable
	// snap is the version that is read, head the newest one. The columns of both decide
	// which policies apply, so reading an older version that lacks a policy's column does
	// not avoid the policy.
	snap, head *delta.Snapshot
	// opened reports that the caller may read snap, which belongs to a replaced table: see
	// [Tables.openReplaced].
	opened bool
	// fromLog reports that the version is read through its log: see [Queries.ReadLog].
	fromLog bool
}

// tables resolves every reference and opens each at the version asked for.
func (o *Queries) tables(ctx context.Context, a Actor, m *moment, refs []sqlguard.TableRef, schema string, age *time.Duration) ([]usedTable, error) {
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
	resolved, err := o.resolve(ctx, a, m, names)
	if err != nil {
		return nil, err
	}
	used := make([]usedTable, len(refs))
	for i, r := range resolved {
		if r.Err != nil {
			return nil, o.unknownTable(ctx, a, refs[i], r.Err)
		}
	}
	if err := tooManyVersions(resolved, refs); err != nil {
		return nil, err
	}
	if age, err = o.staleness(ctx, a, m, resolved, age); err != nil {
		return nil, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, r := range resolved {
		group.Go(func() (err error) {
			used[i], err = o.open(groupCtx, refs[i], r.Table, age)
			return err
		})
	}
	return used, group.Wait()
}

// staleness is the bound on how long ago remote logs were looked at, where a
// statement asks for one. Policies go by the names of columns. One that was made for
// the names of now would not find its column in a log that was looked at before
// another writer renamed it, so what a statement may read under policies is never
// older than usual.
func (o *Queries) staleness(ctx context.Context, a Actor, m *moment, resolved []catalog.Resolved, age *time.Duration) (*time.Duration, error) {
	if age == nil || *age <= RemoteAge {
		return age, nil
	}
	located := make([]catalog.LocatedTable, len(resolved))
	for i, r := range resolved {
		located[i] = r.Table
	}
	held, err := rulesFor(ctx, o.Store, a, m, located, o.Memory.rules)
	if err != nil || len(held.policies) > 0 {
		return nil, err
	}
	return age, nil
}

func (o *Queries) resolve(ctx context.Context, a Actor, m *moment, names []catalog.TableName) ([]catalog.Resolved, error) {
	fields := viewerFields(a.Viewer)
	for _, n := range names {
		fields = append(fields, n.Schema, n.Table)
	}
	return answer(ctx, m, o.Memory.tables, fields, func() ([]catalog.Resolved, error) {
		return o.Store.ResolveTables(ctx, a.Viewer, names)
	})
}

// open opens a table at the version that a reference asks for; age is that of
// [Tables.openWithin]. It leaves versions of replaced tables to [Tables.openReplaced].
func (o *Queries) open(ctx context.Context, ref sqlguard.TableRef, t catalog.LocatedTable, age *time.Duration) (usedTable, error) {
	t, head, err := o.Tables.openWithin(ctx, t, age)
	u := usedTable{ref: ref, located: t, snap: head, head: head}
	switch {
	case err != nil:
	case ref.AtVersion != nil && *ref.AtVersion != head.Version():
		u.snap, err = o.Tables.Lake.At(ctx, t, delta.AtVersion(*ref.AtVersion))
	case ref.AtTimestamp != nil:
		u.snap, err = o.Tables.Lake.At(ctx, t, delta.AtTimestamp(*ref.AtTimestamp))
	}
	if err == nil && !u.replaced() {
		err = checkRows(ctx, u.snap)
	}
	u.fromLog = err == nil && o.ReadLog != nil && o.ReadLog(t) && pruning.ReadsLog(u.snap)
	return u, o.Tables.refuse(ctx, u, err)
}

// name completes a reference; schema is what an unqualified name means. A catalog
// other than ours holds nothing.
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
	return catalog.TableName{}, &StatementError{
		Code: "table_not_found", Line: ref.Position.Line, Column: ref.Position.Column,
		Message: "table " + quoted(ref.Name) + " needs a schema: write schema.table, or send schema with the request",
	}
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
	e.Near = nearTables(ref.Name, list.Items)
	return e
}

// nearTables names tables of another schema with theirs, since it is the schema
// that was wrong; names that are only like this one stand once.
func nearTables(name string, tables []catalog.LocatedTable) []string {
	var elsewhere, names []string
	for _, t := range tables {
		if catalog.FoldName(t.Name) == catalog.FoldName(name) {
			elsewhere = append(elsewhere, t.StorageConfig.Slug+"."+t.Name)
		}
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(elsewhere) > 0 {
		return elsewhere[:min(3, len(elsewhere))]
	}
	return sqlguard.Near(name, names)
}

// relations turns tables into what the statement may read of them: the columns
// and the rows that the caller's policies leave.
func (o *Queries) relations(ctx context.Context, a Actor, m *moment, used []usedTable, run *Rows) ([]sqlguard.Relation, error) {
	if len(used) == 0 {
		return nil, nil
	}
	var governed []catalog.LocatedTable
	for _, u := range used {
		governed = append(governed, u.governed()...)
	}
	held, err := rulesFor(ctx, o.Store, a, m, governed, o.Memory.rules)
	if err != nil {
		return nil, err
	}
	relations := make([]sqlguard.Relation, len(used))
	for i, u := range used {
		if u, err = o.Tables.openReplaced(ctx, a, m, held, u); err != nil {
			return nil, err
		}
		if u.opened {
			if err := o.Tables.refuse(ctx, u, checkRows(ctx, u.snap)); err != nil {
				return nil, err
			}
		}
		v, err := held.viewOf(u)
		if err != nil {
			return nil, err
		}
		relation := u.relation(v.view, v.exposure, o.Limits)
		if relation.Filtered {
			if err := pruning.CheckRestricted(u.snap); err != nil {
				return nil, err
			}
		}
		if relations[i], err = o.Tables.withSecrets(relation, v.view, u.located); err != nil {
			return nil, err
		}
		run.reads(u, v.policies)
		run.partial = run.partial || !v.whole()
	}
	run.basis.subject = held.subject
	return relations, nil
}

// appliedView is a view with the policies that it applies, and with what the bounds of
// the version's files reveal about it.
type appliedView struct {
	view
	policies enforced
	exposure pruning.Exposure
}

// viewOf returns the view of a table under the rules. It is compiled once for each pair
// of versions, because it depends on nothing else.
func (h heldRules) viewOf(u usedTable) (appliedView, error) {
	k := key{sha256.New()}
	k.text(string(u.located.DeltaID), u.snap.Incarnation(), u.head.Incarnation())
	k.numbers(u.snap.Version(), u.head.Version())
	return h.views.get(k.sum(), func() (appliedView, error) {
		v, err := u.view(h.policies, h.subject)
		if err != nil {
			return appliedView{}, err
		}
		return appliedView{v, u.applied(h.policies), u.exposure(v)}, nil
	})
}

// applied are the policies that govern what is read of the table.
func (u usedTable) applied(policies enforced) enforced {
	if u.replaced() { // its columns in the versions between are unknown
		return append(policies.of(u.located.DeltaID), policies.own(u.governed()[1].DeltaID)...)
	}
	return policies.on(u.located.DeltaID, slices.Concat(columnsOf(u.head), columnsOf(u.snap), u.dropped()))
}

// exposure returns what the bounds of the table's files reveal about the rows of a
// view.
func (u usedTable) exposure(v view) pruning.Exposure {
	if !v.Restricted {
		return pruning.Exposure{Bytes: u.snap.TotalBytes()}
	}
	return pruning.ExposureOf(u.snap, v.restriction())
}

// relation is what a statement reads of the table under a view. A table of which
// columns are hidden and nothing else is read where it stands: what is hidden is
// not read at all.
func (u usedTable) relation(v view, e pruning.Exposure, limits QueryLimits) sqlguard.Relation {
	filtered := v.filtered()
	source := sourceOf(u.located, u.snap)
	return sqlguard.Relation{
		Columns: v.columns, Source: source, Narrow: u.narrow(source, v, filtered, shieldsFiles(e, limits)),
		Filtered: filtered, Predicate: v.Predicate, Condition: v.Condition, Shielded: e.Mixed,
		ColumnExpr: v.exprs, Sorted: v.sorted,
		Bytes: e.Bytes,
		// Whether the process survives must not depend on hidden rows: see
		// [gateway.ReadsRemoteLog]. Filling a copy always reads to the end.
		KeepWhole: filtered && gateway.ReadsRemoteLog(source) && (u.fromLog || !pruning.ListsRestricted(u.snap)),
	}
}

// shieldsFiles reports whether the conditions of a statement may exclude only files
// without hidden rows. Otherwise a filtered copy would not fit, and they exclude files by
// all bounds. They never exclude row groups of a file that may hold hidden rows: that is
// [sqlguard.Relation.Shielded].
func shieldsFiles(e pruning.Exposure, limits QueryLimits) bool {
	return e.Mixed && e.MixedBytes <= limits.CopyBytes
}

// narrow reads a table as a list of the files that can hold a row which is
// needed, where it can be read so; otherwise the engine reads the log. The list
// names all columns of the table: the row filter may read hidden ones. If restricted
// is true, the list does not reveal files with hidden rows. If shielded is true, it
// does not reveal their bounds.
func (u usedTable) narrow(source engine.Source, v view, restricted, shielded bool) func(visible, asked engine.Condition) engine.Source {
	columns := columnsOf(u.snap)
	return func(visible, asked engine.Condition) engine.Source {
		var files *engine.FileList
		var ok bool
		switch {
		case u.fromLog:
		case shielded:
			files, ok = pruning.ListShielded(u.snap, columns, pruning.Restriction{Needed: visible, Assured: v.Assured}, asked)
		case restricted:
			files, ok = pruning.ListRestricted(u.snap, columns, engine.AllOf(visible, asked))
		default:
			files, ok = pruning.List(u.snap, columns, engine.AllOf(visible, asked))
		}
		if ok {
			source.Files = files
		}
		return source
	}
}

// maxStatementTables bounds the table versions of one statement: each is a log
// to read and, in the engine, some threads.
const maxStatementTables = 32

func tooManyVersions(resolved []catalog.Resolved, refs []sqlguard.TableRef) error {
	type version struct {
		table catalog.TableID
		at    string
	}
	seen := map[version]bool{}
	for i, r := range resolved {
		seen[version{r.Table.ID, atText(refs[i])}] = true
	}
	if len(seen) > maxStatementTables {
		return &StatementError{Code: "too_complex", Message: "the statement reads more than 32 tables or versions"}
	}
	return nil
}

func atText(ref sqlguard.TableRef) string {
	switch {
	case ref.AtVersion != nil:
		return strconv.FormatInt(*ref.AtVersion, 10)
	case ref.AtTimestamp != nil:
		return ref.AtTimestamp.String()
	}
	return ""
}
