package maintenance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// append adds the rows of a query as a file with the given field ids.
func (w *deltaRSTable) append(snap *delta.Snapshot, sql string, ids []engine.FieldID) *delta.Snapshot {
	w.Helper()
	opts := w.options()
	files, err := opts.Writer.Write(w.Context(), engine.WriteStatement{
		Statement: engine.Statement{SQL: sql, Lease: opts.Lease}, Layout: engine.FileLayout{FieldIDs: ids},
	})
	require.NoError(w, err)
	name := uuid.NewString() + ".parquet"
	require.NoError(w, os.Rename(filepath.Join(opts.Scratch, files[0].Name), filepath.Join(w.dir, name)))
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(w, txn.Add(delta.AddFile{Name: name, Size: files[0].Bytes, Stats: fmt.Sprintf(`{"numRecords":%d}`, files[0].Rows)}))
	snap, err = txn.Commit(w.Context())
	require.NoError(w, err)
	return snap
}

func (w *deltaRSTable) alter(snap *delta.Snapshot, a *delta.Alteration) *delta.Snapshot {
	w.Helper()
	change, err := a.Change()
	require.NoError(w, err)
	txn := snap.Begin(delta.Operation{Name: "CHANGE COLUMN"})
	txn.Alter(change)
	snap, err = txn.Commit(w.Context())
	require.NoError(w, err)
	return snap
}

// texts returns the values of a query over the table t as the engine reads it.
func (w *deltaRSTable) texts(sql string, columns []engine.Column) (out []string) {
	w.Helper()
	snap, opts := w.load(), w.options()
	list, ok := pruning.List(snap, columns, engine.Condition{})
	require.True(w, ok)
	source := opts.Source(snap, list)
	result, err := opts.Session.Query(w.Context(),
		engine.Statement{SQL: fmt.Sprintf(sql, source.Relation()), Sources: []engine.Source{source}, Lease: opts.Lease})
	require.NoError(w, err)
	batch, err := result.Next(w.Context())
	require.NoError(w, err)
	values := batch.Column(0).(*array.String)
	for i := range values.Len() {
		out = append(out, strings.Clone(values.Value(i))) // the batch is released
	}
	batch.Release()
	require.NoError(w, result.Close())
	return out
}

// inFile returns the values of a query over the only file of the table.
func (w *deltaRSTable) inFile(sql string) []string {
	w.Helper()
	files := w.files()
	require.Len(w, files, 1)
	return ask[[]string](w, w.rs, map[string]any{"do": "query", "sql": fmt.Sprintf(sql, filepath.Join(w.dir, files[0]))})
}

func TestOptimizeWidenedColumns(t *testing.T) {
	w := newDeltaRSTable(t)
	snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{Schema: delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Integer, Nullable: true}, {Name: "d", Type: delta.Decimal{Precision: 5, Scale: 2}, Nullable: true},
	}}})
	require.NoError(t, err)
	snap = w.append(snap, "SELECT 1::INTEGER AS id, 1.25::DECIMAL(5, 2) AS d", nil)
	change := snap.Alter()
	require.NoError(t, change.WidenColumn([]string{"id"}, delta.Long))
	require.NoError(t, change.WidenColumn([]string{"d"}, delta.Decimal{Precision: 12, Scale: 4}))
	w.append(w.alter(snap, change), "SELECT 5000000000::BIGINT AS id, 12345678.1234::DECIMAL(12, 4) AS d", nil)

	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt}, {Name: "d", Type: sqltype.MustParse("DECIMAL(12,4)")}}
	want := []string{"1 1.2500", "5000000000 12345678.1234"}
	const rows = "SELECT id || ' ' || d FROM %s ORDER BY id"
	require.Equal(t, want, w.texts(rows, columns))
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, want, w.texts(rows, columns))
	require.Equal(t, append(want, "BIGINT DECIMAL(12,4)"),
		w.inFile("SELECT id || ' ' || d FROM '%[1]s' UNION ALL SELECT any_value(typeof(id) || ' ' || typeof(d)) FROM '%[1]s' ORDER BY 1"))

	t.Run("inside of a list", func(t *testing.T) {
		w := newDeltaRSTable(t)
		snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{Schema: delta.Struct{Fields: []delta.Field{
			{Name: "l", Type: delta.Array{Element: delta.Integer, ContainsNull: true}, Nullable: true},
		}}})
		require.NoError(t, err)
		change := snap.Alter()
		require.NoError(t, change.WidenColumn([]string{"l", "element"}, delta.Long))
		w.alter(snap, change)
		_, err = maintenance.Optimize(t.Context(), w.load(), w.options())
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	})
}

func TestOptimizeColumnsFoundByID(t *testing.T) {
	w := newDeltaRSTable(t)
	snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{
			{Name: "a", Type: delta.Long, Nullable: true}, {Name: "b", Type: delta.String, Nullable: true},
		}},
		Properties: map[string]string{"delta.columnMapping.mode": "id"},
	})
	require.NoError(t, err)
	ids := snap.FileColumns()
	name := func(i int) string { return engine.QuoteIdent(ids[i].FileName) }
	// In the second file, each column has the name of the other.
	snap = w.append(snap, "SELECT 1::BIGINT AS "+name(0)+", 'one' AS "+name(1),
		[]engine.FieldID{{Column: ids[0].FileName, ID: ids[0].ID}, {Column: ids[1].FileName, ID: ids[1].ID}})
	w.append(snap, "SELECT 2::BIGINT AS "+name(1)+", 'two' AS "+name(0),
		[]engine.FieldID{{Column: ids[1].FileName, ID: ids[0].ID}, {Column: ids[0].FileName, ID: ids[1].ID}})

	columns := []engine.Column{{Name: "a", Type: sqltype.BigInt}, {Name: "b", Type: sqltype.Varchar}}
	want := []string{"1 one", "2 two"}
	const rows = "SELECT a || ' ' || b FROM %s ORDER BY a"
	require.Equal(t, want, w.texts(rows, columns))
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, want, w.texts(rows, columns))
	require.Equal(t, want, w.inFile("SELECT "+name(0)+" || ' ' || "+name(1)+" FROM '%s' ORDER BY 1"))
	found := w.inFile("SELECT name || ' ' || field_id FROM parquet_schema('%s') " +
		"WHERE field_id IS NOT NULL AND type IS NOT NULL ORDER BY field_id")
	require.Equal(t, []string{
		fmt.Sprint(ids[0].FileName, " ", ids[0].ID), fmt.Sprint(ids[1].FileName, " ", ids[1].ID),
	}, found)
}

// TestOptimizeMembersFoundByID finds members by field id although names are
// misleading.
func TestOptimizeMembersFoundByID(t *testing.T) {
	w := newDeltaRSTable(t)
	long := func(name string) delta.Field { return delta.Field{Name: name, Type: delta.Long, Nullable: true} }
	pair := delta.Struct{Fields: []delta.Field{long("x"), long("y")}}
	snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{
			{Name: "s", Type: pair, Nullable: true}, {Name: "l", Type: delta.Array{Element: pair, ContainsNull: true}, Nullable: true},
		}},
		Properties: map[string]string{"delta.columnMapping.mode": "id"},
	})
	require.NoError(t, err)
	columns := snap.FileColumns()
	s, l := columns[0], columns[1]
	for _, swapped := range []bool{false, true} {
		member := func(of []delta.FileColumn, x, y int64) (sql string, ids []engine.FieldID) {
			names := []string{of[0].FileName, of[1].FileName}
			if swapped {
				names[0], names[1] = names[1], names[0]
			}
			return fmt.Sprintf("{'%s': %d::BIGINT, '%s': %d::BIGINT}", names[0], x, names[1], y),
				[]engine.FieldID{{Column: names[0], ID: of[0].ID}, {Column: names[1], ID: of[1].ID}}
		}
		first := int64(1)
		if swapped {
			first = 5
		}
		alone, aloneIDs := member(s.Children, first, first+1)
		listed, listedIDs := member(l.Children[0].Children, first+2, first+3)
		snap = w.append(snap, "SELECT "+alone+" AS "+engine.QuoteIdent(s.FileName)+", ["+listed+"] AS "+engine.QuoteIdent(l.FileName),
			[]engine.FieldID{
				{Column: s.FileName, ID: s.ID, Children: aloneIDs},
				{Column: l.FileName, ID: l.ID, Children: []engine.FieldID{{Column: "element", ID: 1000, Children: listedIDs}}},
			})
	}
	table := []engine.Column{{Name: "s", Type: sqltype.MustParse("STRUCT(x BIGINT, y BIGINT)")},
		{Name: "l", Type: sqltype.MustParse("STRUCT(x BIGINT, y BIGINT)[]")}}
	want := []string{"{'x': 1, 'y': 2} [{'x': 3, 'y': 4}]", "{'x': 5, 'y': 6} [{'x': 7, 'y': 8}]"}
	const rows = "SELECT s::VARCHAR || ' ' || l::VARCHAR FROM %s ORDER BY 1"
	require.Equal(t, want, w.texts(rows, table))
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, want, w.texts(rows, table))
	require.Equal(t, []string{"1 2", "5 6"}, w.inFile("SELECT "+
		"struct_extract("+engine.QuoteIdent(s.FileName)+", '"+s.Children[0].FileName+"') || ' ' || struct_extract("+
		engine.QuoteIdent(s.FileName)+", '"+s.Children[1].FileName+"') FROM '%s' ORDER BY 1"))
}

// TestOptimizeStructsOfOtherWriters reads files of other writers, which may lack
// members.
func TestOptimizeStructsOfOtherWriters(t *testing.T) {
	w := newDeltaRSTable(t)
	ask[int](t, w.rs, map[string]any{"do": "members", "path": w.dir})
	want := w.rows()
	require.Len(t, want, 5)
	require.Len(t, w.files(), 4)
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 4}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, want, w.rows())
}

// TestOptimizeReplacedMembers reads a file that has none of its struct's current
// members.
func TestOptimizeReplacedMembers(t *testing.T) {
	for _, mode := range []string{"name", "id"} {
		t.Run(mode, func(t *testing.T) {
			w := newDeltaRSTable(t)
			snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{
				Schema: delta.Struct{Fields: []delta.Field{
					{Name: "n", Type: delta.Long, Nullable: true},
					{Name: "s", Type: delta.Struct{Fields: []delta.Field{{Name: "a", Type: delta.String, Nullable: true}}}, Nullable: true},
				}},
				Properties: map[string]string{"delta.columnMapping.mode": mode},
			})
			require.NoError(t, err)
			add := func(n int, value string) {
				var ids []engine.FieldID
				names := make([]string, 0, 3)
				for _, c := range snap.FileColumns() {
					id := engine.FieldID{Column: c.FileName, ID: c.ID}
					for _, m := range c.Children {
						id.Children = append(id.Children, engine.FieldID{Column: m.FileName, ID: m.ID})
						names = append(names, engine.QuoteIdent(m.FileName))
					}
					ids, names = append(ids, id), append(names, engine.QuoteIdent(c.FileName))
				}
				snap = w.append(snap, fmt.Sprintf("SELECT %d::BIGINT AS %s, {%s: '%s'} AS %s", n, names[0], names[1], value, names[2]), ids)
			}
			add(1, "old")
			change := snap.Alter()
			require.NoError(t, change.AddColumn([]string{"s"}, delta.Field{Name: "b", Type: delta.String, Nullable: true}))
			require.NoError(t, change.DropColumn([]string{"s", "a"}))
			snap = w.alter(snap, change)
			change = snap.Alter()
			require.NoError(t, change.RenameColumn([]string{"s", "b"}, "a"))
			snap = w.alter(snap, change)
			add(2, "new")

			columns := []engine.Column{{Name: "n", Type: sqltype.BigInt}, {Name: "s", Type: sqltype.MustParse("STRUCT(a VARCHAR)")}}
			want := []string{"1 true none", "2 true new"}
			const rows = "SELECT n || ' ' || (s IS NOT NULL) || ' ' || coalesce(s.a, 'none') FROM %s ORDER BY n"
			require.Equal(t, want, w.texts(rows, columns))
			done := w.optimize(nil)
			require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
			require.Equal(t, want, w.texts(rows, columns))
		})
	}
}
