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

// Table is what is written to, as one plan knows it.
type Table struct {
	// Snapshot is the version that the plan is made on.
	Snapshot *delta.Snapshot
	// Source names the version for the engine, without a list of files.
	Source engine.Source
	// Columns are all columns, with their SQL types.
	Columns []engine.Column
	// Rules are those of the version.
	Rules *constraint.Set
	// Filter is the predicate that the writer's rows satisfy, its columns
	// qualified with [rules.Alias]; empty means that the writer sees every row.
	Filter string
	// Hidden are the columns that the writer does not see, Masked those of which
	// something else is seen: no rule over one of them is named in a message.
	Hidden, Masked []string
	// Restricted says that the writer may not learn which files hold which rows:
	// whether the table can be changed then follows from its schema and protocol.
	Restricted bool
	// KeepOrder says that rows stay in the order in which they lie. In a table of
	// which some callers see only some rows, an order that follows from how many rows
	// there are would tell these callers of the others.
	KeepOrder bool
}

// Options are what a write works with.
type Options struct {
	Session Session
	Lease   engine.Lease
	// Scratch is the session's directory.
	Scratch string
	// UserID and UserName go into the commit.
	UserID, UserName string
	// Application is recorded with the commit; nil records none.
	Application *Application
	// DryRun does everything but upload and commit.
	DryRun bool
	// KeyFiles is told how many data files of the table each check of a key reads;
	// nil is told nothing.
	KeyFiles func(n int)
	// Publish, if not nil, is called for each attempt to write to the log. It calls
	// commit, or returns an error instead. Dry runs do not call it.
	Publish func(ctx context.Context, commit func() (*delta.Snapshot, error)) (*delta.Snapshot, error)
}

// Application is a transaction of the protocol: see [delta.Txn.SetTransaction]. A
// table that has one of its ID takes no other: [delta.ErrConcurrentTransaction].
type Application struct {
	ID      string
	Version int64
}

// ParameterKey is the operation parameter of a commit that holds the id of its
// application, as JSON.
const ParameterKey = "idempotencyKey"

// Result says what a write did.
type Result struct {
	// Snapshot is the version that holds the change: the one that the plan was
	// made on when there was nothing to change.
	Snapshot                   *delta.Snapshot
	Inserted, Updated, Deleted int64
}

// write is one write in progress. It belongs to one goroutine.
type write struct {
	Table
	Options
	names names
	dirs  int
	// ids reads what rows keep when they move; nil means that they need keep nothing.
	ids *datafile.RowIDs
}

// names are those of columns of ours, which no column of the table has.
type names struct{ file, row, atFile, atRow, index, visible, changed, gathered string }

func newWrite(ctx context.Context, t Table, o Options) (*write, error) {
	if err := delta.CheckWritable(t.Snapshot, t.Rules.Duties()...); err != nil {
		return nil, err
	}
	if err := pruning.Load(ctx, t.Snapshot); err != nil {
		return nil, err
	}
	own := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	return &write{Table: t, Options: o, ids: datafile.RowIDsOf(t.Snapshot), names: names{
		own + "file", own + "row", own + "at_file", own + "at_row", own + "index", own + "visible", own + "changed", own + "gathered",
	}}, nil
}

// changes refuses tables whose rows stay as they are, and those of which nobody
// could tell the feed of changes from the rows.
func (w *write) changes() error {
	if w.Snapshot.AppendOnly() {
		return &delta.FeatureError{Feature: "appendOnly", Write: true, Reason: "rows may only be added"}
	}
	if w.Snapshot.ChangeFeed() && slices.ContainsFunc(w.Columns, func(c engine.Column) bool { return reservedByFeed(c.Name) }) {
		return &delta.FeatureError{Feature: "changeDataFeed", Write: true, Reason: "a column has the name of one of the feed's own"}
	}
	return nil
}

func (w *write) positions() engine.PositionColumns {
	return engine.PositionColumns{File: w.names.file, Row: w.names.row}
}

// files lists the data files that can hold a row which fulfils the condition.
// Whether a restricted list is made does not follow from the files that there are.
func (t Table) files(snap *delta.Snapshot, condition engine.Condition, restricted bool) (*engine.FileList, bool) {
	if restricted {
		return pruning.ListRestricted(snap, t.Columns, condition)
	}
	if list, ok := pruning.List(snap, t.Columns, condition); ok {
		return list, true
	}
	// Many partition values make a long list, which is better than none.
	return pruning.ListRestricted(snap, t.Columns, condition)
}

// read is a version of the table, or the files of a list of it.
func (w *write) read(snap *delta.Snapshot, list *engine.FileList) relation {
	s := w.source(snap, list)
	return relation{from: s.Relation(), sources: []engine.Source{s}}
}

func (w *write) source(snap *delta.Snapshot, list *engine.FileList) engine.Source {
	s := w.Source
	s.Version, s.Incarnation, s.Files = snap.Version(), snap.Incarnation(), list
	return s
}

// restrict keeps the files of a list whose number and path pass.
func restrict(list *engine.FileList, keep func(number int, path string) bool) *engine.FileList {
	var groups []engine.FileGroup
	number := 0
	for _, g := range list.Groups {
		kept := engine.FileGroup{Partition: g.Partition}
		for _, p := range g.Paths {
			if keep(number, p) {
				kept.Paths = append(kept.Paths, p)
			}
			number++
		}
		if len(kept.Paths) > 0 {
			groups = append(groups, kept)
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
	if gone := restrictDeleted(list, keep); len(gone) > 0 {
		out = out.WithDeleted(gone)
	}
	if list.Positions != (engine.PositionColumns{}) {
		out = out.WithPositions(list.Positions)
	}
	return out
}

// restrictDeleted are the rows that are gone from the files that pass, by the new
// numbers of these.
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

// paths are the files of a list in its order.
func paths(list *engine.FileList) []string {
	var out []string
	for _, g := range list.Groups {
		out = append(out, g.Paths...)
	}
	return out
}

// liveFiles finds files of a snapshot by name.
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

// columnList prints columns of a relation, or of none.
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

// statement is SQL of ours over sources.
func (w *write) statement(sql string, sources ...engine.Source) engine.Statement {
	return engine.Statement{SQL: sql, Sources: sources, Lease: w.Lease}
}

// unseen reports whether the writer does not see one of the columns as it is.
func (t Table) unseen(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(t.Hidden, name) || slices.Contains(t.Masked, name) })
}

// whole reports whether the writer sees every value of the table as it is.
func (t Table) whole() bool { return t.Filter == "" && len(t.Hidden) == 0 && len(t.Masked) == 0 }

// numbers runs a query whose columns are BIGINT.
func (w *write) numbers(ctx context.Context, sql string, sources ...engine.Source) ([][]int64, error) {
	return int64s(ctx, w.Session, w.statement(sql, sources...))
}
