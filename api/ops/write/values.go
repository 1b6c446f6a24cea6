package write

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// ColumnValue is a value of a column, in canonical text. Columns are identified by their
// physical names.
type ColumnValue struct {
	Column, Value string
	// ParentColumn and Parent limit the rows to those with a value in another column. They
	// are empty if all rows are meant.
	ParentColumn, Parent string
	// Filled is a column that must have a value. If Column is empty, all rows are meant in
	// which it has one.
	Filled string
}

// Replacement gives all rows with a value another one.
type Replacement struct {
	// Table is an [access.WholeTable], or an [access.SystemTable] where the server finishes
	// what it cannot undo.
	Table access.Writable
	ColumnValue
	// To is the new value, in canonical text.
	To string
	// Asker is the caller, whom a refusal could tell about the values that other domains allow.
	Asker caller.Identity
	// By and ByName are named as the author in the commit and in the audit log.
	By     catalog.UserID
	ByName string
}

// ReplaceValue gives every row of the table with a value another one, in one commit, under
// no policy. The rights of r.Table are judged again before the commit. All rules of
// the table hold as for other writes. It returns the version, the newest one if no row has
// the value, and the number of rows. Errors: those of [Service.Update]; rows that break a
// rule are a [dml.RowsError], which must not be shown to callers who do not see all rows.
func (o Service) ReplaceValue(ctx context.Context, r Replacement) (out Result, err error) {
	if err := o.Confirmed(); err != nil {
		return Result{}, err
	}
	w := &writing{Service: o, actor: caller.Identity{Org: r.Table.Located().Org, User: r.By}, action: "rows.replace", id: uuid.NewString(),
		located: r.Table.Located(), whole: r.Table}
	w.actor.Email = r.ByName
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if w.scratch, err = os.MkdirTemp(o.Scratch, "write-"); err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(w.scratch) }() // the next start removes the rest
	begun := time.Now()
	out, err = w.planUntilCommitted(ctx, func(context.Context, *writing) error { return nil },
		func(ctx context.Context, w *writing) (dml.Result, error) { return w.replaceValue(ctx, r) })
	o.Metrics.ended(w.action, err)
	w.record(w.action, out, time.Since(begun), err)
	return out, err
}

func (w *writing) replaceValue(ctx context.Context, r Replacement) (dml.Result, error) {
	rows, found := rowsWith(w.table, r.ColumnValue)
	if !found {
		return dml.Result{Snapshot: w.table.Snapshot()}, nil
	}
	if _, judged := r.Table.(access.WholeTable); judged {
		for _, c := range w.rules.Columns {
			if !slices.Contains(c.Rule.Columns, rows.column.Name) {
				continue
			}
			if err := w.Domains.PermitSource(ctx, r.Asker, c); err != nil {
				return dml.Result{}, err
			}
		}
	}
	held, opts, err := w.session(ctx)
	if err != nil {
		return dml.Result{}, err
	}
	defer releaseAsync(held)
	list, ok := pruning.List(w.table.Snapshot(), w.target.Columns, rows.condition)
	if !ok {
		return dml.Result{}, dml.ErrNotListed
	}
	prefix := "lw_" + strconv.Itoa(w.plans) + uuid.NewString()
	at := engine.PositionColumns{File: prefix + "file", Row: prefix + "row"}
	changes := dml.Changes{List: list.WithPositions(at), Set: []engine.Column{rows.column}}
	source := w.target.Source
	source.Files = changes.List
	dir := "replaced-" + strconv.Itoa(w.plans)
	w.plans++
	files, err := opts.Session.Write(ctx, engine.WriteStatement{Dir: dir, Layout: engine.ScratchLayout(), Statement: engine.Statement{
		SQL: "SELECT " + engine.QuoteIdent(at.File) + " AS " + dml.ChangeFile + ", " + engine.QuoteIdent(at.Row) + " AS " + dml.ChangeRow + ", " +
			domain.Literal(rows.field.Type, r.To) + " AS " + dml.ChangeValue(0) +
			" FROM " + source.Relation() + " AS " + engine.QuoteIdent(constraint.Alias) + " WHERE " + rows.sql,
		Sources: []engine.Source{source}, Lease: opts.Lease,
	}})
	if err != nil {
		return dml.Result{}, err
	}
	for _, f := range files {
		changes.File, changes.Count = dir+"/"+f.Name, changes.Count+f.Rows
	}
	if len(files) > 1 {
		return dml.Result{}, errors.New("the engine wrote the positions to several files")
	}
	return dml.Update(ctx, w.target, opts, changes)
}

// CountValue returns the number of rows with a value, among the rows that the table's view
// shows: all of them if it is from [access.Tables.OpenUnfiltered].
func (o Service) CountValue(ctx context.Context, t access.Table, v ColumnValue) (n int64, err error) {
	rows, found := rowsWith(t, v)
	if !found {
		return 0, nil
	}
	hidden, err := hiddenRows(t)
	if err != nil {
		return 0, err
	}
	held, err := o.Pool.Open(ctx, t.ServiceKey(), "")
	if err != nil {
		return 0, err
	}
	defer held.Release()
	held.Lease.Diagnose = t.Whole()
	source := t.Source()
	shield, err := o.shield(ctx, t)
	if err != nil {
		return 0, err
	}
	if list, ok := filesOf(t, shield, rows.condition); ok {
		source.Files = list
	}
	from := source.Relation()
	if shield != nil {
		from = engine.Shielded(from, rows.names)
	}
	scope := constraint.Scope{Session: held, Sources: []engine.Source{source}, Lease: held.Lease}
	rule := constraint.DomainRule(rows.column.Name, nil, func(string) string { return "coalesce(" + rows.sql + ", false)" })
	n, err = scope.CountBroken(ctx, rule.Unless(hidden), constraint.Relation{From: from})
	return n, t.RefuseRead(ctx, err)
}

// shield returns what values of the caller may exclude; nil if the caller sees all rows.
func (o Service) shield(ctx context.Context, t access.Table) (*pruning.Shield, error) {
	if t.Whole() {
		return nil, nil
	}
	bytes, err := o.Queries.ShieldBytes(ctx, t.Caller())
	return t.Shield(bytes), err
}

// filesOf lists the files that can hold rows that satisfy a condition and that the table's view
// shows. shield is that of the table.
func filesOf(t access.Table, shield *pruning.Shield, condition engine.Condition) (*engine.FileList, bool) {
	if shield != nil {
		return shield.List(t.Snapshot(), t.AllColumns(), true, condition)
	}
	return pruning.List(t.Snapshot(), t.AllColumns(), condition)
}

// Outside finds the rows of a table whose values are outside a domain, which the catalog
// need not have yet, among the rows that the table's view shows: all of them if it is from
// [access.Tables.OpenUnfiltered]. values are those of a domain that lists them. Errors: catalog.ErrNotFound if the
// version lacks the column, [SourceError], and those of opening a source.
func (o Service) Outside(ctx context.Context, t access.Table, d catalog.ColumnDomain, values []catalog.DomainValue) (Outside, error) {
	rule, err := o.Domains.Rule(ctx, t, d, values)
	if err != nil {
		return Outside{}, err
	}
	held, err := o.Pool.Open(ctx, TableRules{Columns: []ColumnRule{rule}}.SessionKey(t), "")
	if err != nil {
		return Outside{}, err
	}
	defer held.Release()
	held.Lease.Diagnose = t.Whole()
	out, err := rule.Outside(ctx, constraint.Scope{Session: held, Lease: held.Lease}, t)
	return out, t.RefuseRead(ctx, err)
}

// valueRows are the rows with a value.
type valueRows struct {
	field  delta.Field
	column engine.Column
	// names are the columns of the condition.
	names []string
	// sql is the condition over the table with the alias of package constraint.
	sql       string
	condition engine.Condition
}

// rowsWith returns the rows of a table with a value. It returns false if the version lacks
// a column.
func rowsWith(t access.Table, v ColumnValue) (out valueRows, found bool) {
	filled, found := t.PhysicalColumn(v.Filled)
	if v.Filled != "" && !found {
		return out, false
	}
	has := domain.Column{Name: filled.Name, Type: filled.Type}.NotNull()
	if v.Filled != "" {
		out.names = append(out.names, filled.Name)
	}
	if v.Column == "" {
		out.column.Name, out.sql = filled.Name, has
		return out, true
	}
	if out.field, found = t.PhysicalColumn(v.Column); !found {
		return out, false
	}
	out.column = engine.Column{Name: out.field.Name, Type: deltasql.Type(out.field.Type), Nullable: true}
	out.sql, out.condition = domain.Equal(domain.Column{Name: out.field.Name, Type: out.field.Type}, v.Value)
	out.names = append(out.names, out.field.Name)
	if v.Filled != "" {
		out.sql += " AND " + has
	}
	if v.ParentColumn == "" {
		return out, true
	}
	parent, found := t.PhysicalColumn(v.ParentColumn)
	out.names = append(out.names, parent.Name)
	sql, condition := domain.Equal(domain.Column{Name: parent.Name, Type: parent.Type}, v.Parent)
	out.sql, out.condition = out.sql+" AND "+sql, engine.AllOf(out.condition, condition)
	return out, found
}

// hiddenRows returns the condition under which the view of a table hides a row.
func hiddenRows(t access.Table) (string, error) {
	if t.Whole() {
		return "false", nil
	}
	filter, err := t.FilterOver(constraint.Alias)
	if err != nil || filter.Predicate == "" {
		return "false", err
	}
	return "NOT coalesce(TRY((" + filter.Predicate + ")), false)", nil
}
