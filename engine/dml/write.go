package dml

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// Session is a service session: one with a scratch directory.
type Session interface {
	engine.Session
	engine.Writer
}

// Table is the table to write to.
type Table struct {
	// Snapshot is the version that the write is planned on.
	Snapshot *delta.Snapshot
	// Source names the version for the engine, without a list of files.
	Source engine.Source
	// Columns are all columns, with their SQL types.
	Columns []engine.Column
	// Rules are the constraints of the version.
	Rules *constraint.Set
	// Domains are the domains of columns.
	Domains []Domain
	// Filter is the predicate that every row the writer sees satisfies. Its columns
	// are qualified with [constraint.Alias]; empty means that the writer sees every
	// row. FilterColumns are the columns that it reads.
	Filter        string
	FilterColumns []string
	// Hidden are the columns that the writer does not see, Masked those of which
	// the writer sees masked values. Messages name no rule about any of them.
	Hidden, Masked []string
	// Restricted says that the writer may not learn which files contain which rows.
	// Whether the table can be changed then depends on its schema and protocol
	// only.
	Restricted bool
	// Shield is that of the rows that the writer does not see; nil if the writer sees all
	// rows. Values of the request exclude only what it allows.
	Shield *pruning.Shield
	// KeepOrder says that rows keep their order. If some callers see only some
	// rows, an order that depends on the number of rows would reveal the number of
	// hidden ones.
	KeepOrder bool
}

// Domain is the rule of a column's domain.
type Domain struct {
	// Rule is checked for new rows, and for changed rows if the write can change one of
	// its columns.
	Rule constraint.Rule
	// Sources are the tables that Rule reads, in addition to the new rows.
	Sources []engine.Source
	// Err, if not nil, is returned for rows that break the rule, because the allowed
	// values are unknown. Rule then is broken by every row with a value.
	Err error
}

// Options holds the session, the identity and the hooks of a write.
type Options struct {
	Session Session
	Lease   engine.Lease
	// Scratch is the session's directory.
	Scratch string
	// UserID and UserName go into the commit.
	UserID, UserName string
	// Application is recorded with the commit; nil records none.
	Application *Application
	// DryRun runs everything except uploads and the commit. For a writer who does not see
	// every value of the table it does not compare keys with the table: its outcome then says
	// nothing about hidden rows.
	DryRun bool
	// KeyFiles, if not nil, is called with the number of data files that each check
	// of a key reads.
	KeyFiles func(n int)
	// Checked, if not nil, is called when the new rows of a plan have passed all checks.
	Checked func()
	// Publish, if not nil, is called for each attempt to write to the log. It commits the
	// transaction, or returns an error instead. Dry runs do not call it.
	Publish func(ctx context.Context, txn *delta.Txn) (*delta.Snapshot, error)
}

// Application identifies an application transaction, see
// [delta.Txn.SetTransaction]. If the table has one with this ID already, the write
// is refused with [delta.ErrConcurrentTransaction].
type Application struct {
	ID      string
	Version int64
}

// ParameterKey is the operation parameter of a commit that holds the application's
// ID as JSON.
const ParameterKey = "idempotencyKey"

// Result reports what a write did.
type Result struct {
	// Snapshot is the version that holds the change, or the version the write was
	// planned on if nothing changed.
	Snapshot                   *delta.Snapshot
	Inserted, Updated, Deleted int64
}

// write is one write in progress. It belongs to one goroutine.
type write struct {
	Table
	Options
	names names
	dirs  int
	// ids reads the ids that rows keep when they move; nil if the table does not
	// track rows.
	ids *datafile.RowIDs
}

// names holds the names of the columns that this package adds. No column of the
// table has these names.
type names struct{ file, row, atFile, atRow, index, visible, changed, deleted, materialized string }

func newWrite(ctx context.Context, t Table, o Options) (*write, error) {
	if err := delta.CheckWritable(t.Snapshot, t.Rules.Duties()...); err != nil {
		return nil, err
	}
	if err := pruning.Load(ctx, t.Snapshot); err != nil {
		return nil, err
	}
	prefix := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	return &write{Table: t, Options: o, ids: datafile.RowIDsOf(t.Snapshot), names: names{
		prefix + "file", prefix + "row", prefix + "at_file", prefix + "at_row", prefix + "index", prefix + "visible", prefix + "changed",
		prefix + "deleted", prefix + "materialized",
	}}, nil
}

// checkMutable refuses append-only tables, and tables with a change data feed of
// which a column has a name that the feed reserves.
func (w *write) checkMutable() error {
	if w.Snapshot.AppendOnly() {
		return &delta.FeatureError{Feature: "appendOnly", Write: true, Reason: "rows may only be added"}
	}
	if w.Snapshot.ChangeFeed() && slices.ContainsFunc(w.Columns, func(c engine.Column) bool { return reservedByFeed(c.Name) }) {
		return &delta.FeatureError{Feature: "changeDataFeed", Write: true, Reason: "a column has a name that the feed reserves"}
	}
	return nil
}

func (w *write) positions() engine.PositionColumns {
	return engine.PositionColumns{File: w.names.file, Row: w.names.row}
}

// files lists the data files that can contain a row that fulfils the condition, which
// has values of the request. Whether a list can be made does not depend on the table's
// files if restricted is true.
func (t Table) files(snap *delta.Snapshot, condition engine.Condition, restricted bool) (*engine.FileList, bool) {
	if t.Shield != nil {
		if list, ok := t.Shield.List(snap, t.Columns, false, condition); ok {
			return list, true
		}
		condition = engine.Condition{} // all files
	}
	if restricted {
		return pruning.ListRestricted(snap, t.Columns, condition)
	}
	if list, ok := pruning.List(snap, t.Columns, condition); ok {
		return list, true
	}
	// A list with many partition values is long, but better than none.
	return pruning.ListRestricted(snap, t.Columns, condition)
}

// read returns a relation over the files of a list, or over a whole version if list
// is nil.
func (w *write) read(snap *delta.Snapshot, list *engine.FileList) relation {
	s := w.source(snap, list)
	return relation{from: s.Relation(), sources: []engine.Source{s}}
}

// shielded returns a relation over rows of the table to compare the named columns with
// values of the request.
func (w *write) shielded(r relation, names []string) relation {
	if w.Shield != nil {
		r.from = engine.Shielded(r.from, names)
	}
	return r
}

func (w *write) source(snap *delta.Snapshot, list *engine.FileList) engine.Source {
	s := w.Source
	s.Version, s.Identity, s.Files = snap.Version(), snap.Identity(), list
	return s
}

// restrict returns the part of a list whose files pass keep, which is called with
// the number and path of each file.
func restrict(list *engine.FileList, keep func(number int, path string) bool) *engine.FileList {
	var groups []engine.FileGroup
	number := 0
	for _, g := range list.Groups {
		selected := engine.FileGroup{Partition: g.Partition}
		for i, p := range g.Paths {
			if keep(number, p) {
				selected.Add(p, g.Stamp(i))
			}
			number++
		}
		if len(selected.Paths) > 0 {
			groups = append(groups, selected)
		}
	}
	out := engine.NewFileList(list.Columns, list.Uniform, groups)
	if list.Stored != nil {
		out = out.WithStored(list.Stored)
	}
	if list.ColumnIDs != nil {
		out = out.WithColumnIDs(list.ColumnIDs)
	}
	if list.Parts != nil {
		out = out.WithParts(list.Parts)
	}
	if list.Widened != nil {
		out = out.WithWidened(list.Widened)
	}
	if deleted := restrictDeleted(list, keep); len(deleted) > 0 {
		out = out.WithDeleted(deleted)
	}
	if list.Positions != (engine.PositionColumns{}) {
		out = out.WithPositions(list.Positions)
	}
	return out
}

// restrictDeleted returns the deleted rows in the files that pass keep, with the
// numbers that these files have in the restricted list.
func restrictDeleted(list *engine.FileList, keep func(number int, path string) bool) []engine.DeletedRows {
	if len(list.Deleted) == 0 {
		return nil
	}
	places := make(map[int]int)
	for number, path := range paths(list) {
		if keep(number, path) {
			places[number] = len(places)
		}
	}
	var out []engine.DeletedRows
	for _, d := range list.Deleted {
		if place, kept := places[d.File]; kept {
			out = append(out, engine.DeletedRows{File: place, Rows: d.Rows})
		}
	}
	return out
}

// paths returns the files of a list in its order.
func paths(list *engine.FileList) []string {
	var out []string
	for _, g := range list.Groups {
		out = append(out, g.Paths...)
	}
	return out
}

// liveFiles returns the files of a snapshot that have one of the names.
func liveFiles(snap *delta.Snapshot, names []string) []delta.File {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	var out []delta.File
	for f := range snap.Files() {
		if wanted[f.Name] {
			out = append(out, f)
		}
	}
	return out
}

// columnList returns a list of columns in SQL, qualified by alias unless it is
// empty.
func columnList(alias string, columns []engine.Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = column(alias, c.Name)
	}
	return strings.Join(items, ", ")
}

func column(alias, name string) string {
	if alias == "" {
		return engine.QuoteIdent(name)
	}
	return alias + "." + engine.QuoteIdent(name)
}

// statement returns a statement of this package over sources.
func (w *write) statement(sql string, sources ...engine.Source) engine.Statement {
	return engine.Statement{SQL: sql, Sources: sources, Lease: w.Lease}
}

// hidesAny reports whether one of the columns is hidden from the writer or masked.
func (t Table) hidesAny(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(t.Hidden, name) || slices.Contains(t.Masked, name) })
}

// ComparedWithHidden returns a column that the writer sees, that changes selects, and that a constraint,
// a key, a domain or the writer's row filter checks together with a column that the writer does not see
// unmasked. The outcome of
// a change of such a column of existing rows would tell about the values that the writer does not
// see. It returns false if there is none.
func (t Table) ComparedWithHidden(changes func(column string) bool) (column string, found bool) {
	groups := [][]string{t.FilterColumns}
	for _, rule := range t.Rules.Rows() {
		groups = append(groups, rule.Columns)
	}
	for _, d := range t.Domains {
		groups = append(groups, d.Rule.Columns)
	}
	for _, key := range t.Rules.AllKeys() {
		groups = append(groups, keyColumns(key))
	}
	for _, group := range groups {
		if !t.hidesAny(group) {
			continue
		}
		for _, name := range group {
			if changes(name) && !t.hidesAny([]string{name}) {
				return name, true
			}
		}
	}
	return "", false
}

// seesEverything reports whether the writer sees every value of the table unmasked.
func (t Table) seesEverything() bool {
	return t.Filter == "" && len(t.Hidden) == 0 && len(t.Masked) == 0
}

// int64Rows runs a query whose columns are BIGINT; NULL is -1.
func (w *write) int64Rows(ctx context.Context, sql string, sources ...engine.Source) ([][]int64, error) {
	return queryInt64s(ctx, w.Session, w.statement(sql, sources...))
}

// unique removes duplicate sources.
func unique(sources []engine.Source) []engine.Source {
	var out []engine.Source
	for _, s := range sources {
		if !slices.ContainsFunc(out, func(o engine.Source) bool { return o.Database() == s.Database() }) {
			out = append(out, s)
		}
	}
	return out
}
