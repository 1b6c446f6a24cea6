package enginetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// columnIDs reads files in which columns are found by field id, whatever their
// names are, including names of other columns.
func (s suite) columnIDs(t *testing.T) {
	session := s.openScratch(t)
	ids := func(names ...string) engine.FileLayout {
		l := engine.FileLayout{}
		for i, name := range names {
			if name != "" {
				l.FieldIDs = append(l.FieldIDs, engine.FieldID{Column: name, ID: i + 1})
			}
		}
		return l
	}
	files := []engine.DataFile{
		session.write(t, "SELECT 1::BIGINT AS a, 'x' AS b", ids("a", "b"))[0],
		session.write(t, "SELECT 'y' AS a, 2::BIGINT AS b, 5::BIGINT AS id", ids("b", "a"))[0], // swapped names
		session.write(t, "SELECT 'z' AS file_index", ids("", "file_index"))[0],                 // one column is missing
		session.write(t, "SELECT 9::BIGINT AS a, 'no' AS b", engine.FileLayout{})[0],           // both are missing
	}
	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt, Nullable: true}, {Name: "text", Type: sqltype.Varchar, Nullable: true}}
	stored := []engine.Column{{Name: "a", Type: sqltype.BigInt}, {Name: "b", Type: sqltype.Varchar}}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Name)
	}
	read := func(name string, list *engine.FileList) ([]string, error) {
		src := engine.Source{Location: session.dir, Identity: name, Files: list}
		return TryRows(t.Context(), session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}})
	}
	list := engine.NewFileList(columns, false, []engine.FileGroup{{Paths: paths}}).WithStored(stored).WithColumnIDs([]int{1, 2})
	rows, err := read("ids", list)
	require.NoError(t, err)
	require.Equal(t, []string{"1|x", "2|y", "(null)|z", "(null)|(null)"}, rows)
	rows, err = read("positions",
		list.WithPositions(engine.PositionColumns{File: "f", Row: "r"}).WithDeleted([]engine.DeletedRows{{File: 1, Rows: bitmap(t, 0)}}))
	require.NoError(t, err)
	require.Equal(t, []string{"1|x|0|0", "(null)|z|2|0", "(null)|(null)|3|0"}, rows)
	for name, bad := range map[string]*engine.FileList{
		"too few ids":  list.WithColumnIDs([]int{1}),
		"another type": list.WithColumnIDs([]int{2, 1}),
	} {
		_, err := read(name, bad)
		require.Equal(t, "file_schema", failure(t, err).Class, name)
	}
}

// parts reads files whose nested columns have different members, and members with
// different names, including the name of another member.
func (s suite) parts(t *testing.T) {
	root := t.TempDir()
	session := s.openScratch(t, root)
	save := func(sql string, layout engine.FileLayout) string {
		name := session.write(t, sql, layout)[0].Name
		require.NoError(t, os.Rename(filepath.Join(session.dir, name), filepath.Join(root, name)))
		return name
	}
	field := func(name string, id int, children ...engine.FieldID) engine.FieldID {
		return engine.FieldID{Column: name, ID: id, Children: children}
	}
	// Ids are unique: those of the second column are greater by 100, those of the
	// third by 200.
	shift := func(by int, ids []engine.FieldID) []engine.FieldID {
		out := slices.Clone(ids)
		for i := range out {
			out[i].ID += by
		}
		return out
	}
	nested := func(ids []engine.FieldID) [][]engine.FieldID {
		return [][]engine.FieldID{
			ids, {field("element", 7, shift(100, ids)...)}, {field("key", 4), field("value", 5, field("element", 6, shift(200, ids)...))},
		}
	}
	// Each column holds the same struct: directly, in a list, and in a map of
	// lists.
	write := func(member string, ids ...engine.FieldID) string {
		layout := engine.FileLayout{}
		if ids != nil {
			parts := nested(ids)
			layout.FieldIDs = []engine.FieldID{field("s", 1, parts[0]...), field("l", 2, parts[1]...), field("m", 3, parts[2]...)}
		}
		return save("SELECT "+member+" AS s, ["+member+", NULL] AS l, MAP {'k': ["+member+"]} AS m", layout)
	}
	paths := []string{
		write("{'x': 1::BIGINT, 'y': 'a'}", field("x", 11), field("y", 12)),
		write("{'y': 'b', 'x': 2::BIGINT}", field("y", 12), field("x", 11)),
		write("{'u': 3::INTEGER, 'v': 'c', 'w': 7}", field("u", 11), field("v", 12), field("w", 13)),
		write("{'X': 4::BIGINT}", field("X", 11)),
		write("{'old': '5'}", field("old", 99)),
		write("{'old': [6]}", field("old", 98)),
		write("{'x': 7::BIGINT, 'y': 'd'}"),
		write("NULL::STRUCT(y VARCHAR)", field("y", 12)),
		save("SELECT 1 AS other", engine.FileLayout{FieldIDs: []engine.FieldID{field("other", 50)}}),
	}
	column := func(name, members string) engine.Column {
		return engine.Column{Name: name,
			Type:     sqltype.MustParse(map[string]string{"s": members, "l": members + "[]", "m": "MAP(VARCHAR, " + members + "[])"}[name[:1]]),
			Nullable: true}
	}
	columns := func(members string) []engine.Column {
		return []engine.Column{column("s", members), column("l", members), column("m", members)}
	}
	members := []engine.FieldID{field("x", 11), field("y", 12)}
	parts := nested(members)
	read := func(list *engine.FileList) ([]string, error) {
		src := engine.Source{Location: root, Identity: "parts", Files: list}
		return TryRows(t.Context(), session,
			engine.Statement{SQL: "SELECT s::VARCHAR, l::VARCHAR, m::VARCHAR FROM " + src.Relation(), Sources: []engine.Source{src}})
	}
	row := func(member string) string {
		return strings.NewReplacer("#", member).Replace("#|[#, NULL]|{k=[#]}")
	}
	gone := row("{'p': NULL, 'q': NULL}")
	list := engine.NewFileList(columns("STRUCT(p BIGINT, q VARCHAR)"), false, []engine.FileGroup{{Paths: paths}}).
		WithStored(columns("STRUCT(x BIGINT, y VARCHAR)")).WithParts(parts)
	rows, err := read(list.WithColumnIDs([]int{1, 2, 3}))
	require.NoError(t, withText(err))
	require.Equal(t, []string{
		row("{'p': 1, 'q': a}"), row("{'p': 2, 'q': b}"), row("{'p': 3, 'q': c}"), row("{'p': 4, 'q': NULL}"), gone, gone,
		"(null)|(null)|(null)", "(null)|[NULL, NULL]|{k=[NULL]}", "(null)|(null)|(null)",
	}, rows)
	rows, err = read(list)
	require.NoError(t, withText(err))
	require.Equal(t, []string{
		row("{'p': 1, 'q': a}"), row("{'p': 2, 'q': b}"), gone, row("{'p': 4, 'q': NULL}"), gone, gone,
		row("{'p': 7, 'q': d}"), "(null)|[NULL, NULL]|{k=[NULL]}", "(null)|(null)|(null)",
	}, rows)

	// Files may have one name for two members of the same type, but not of
	// different types.
	swapped := []string{
		write("{'x': 1, 'y': 2}", field("x", 11), field("y", 12)), write("{'x': 3, 'y': 4}", field("x", 12), field("y", 11)),
		write("{'x': 5, 'y': 6}", field("x", 99), field("y", 11)), write("{'x': 7}", field("x", 99)),
	}
	list = engine.NewFileList(columns("STRUCT(p INTEGER, q INTEGER)"), false, []engine.FileGroup{{Paths: swapped}}).
		WithStored(columns("STRUCT(x INTEGER, y INTEGER)")).WithColumnIDs([]int{1, 2, 3}).WithParts(parts)
	rows, err = read(list)
	require.NoError(t, withText(err))
	require.Equal(t, []string{row("{'p': 1, 'q': 2}"), row("{'p': 4, 'q': 3}"), row("{'p': 6, 'q': NULL}"), row("{'p': NULL, 'q': NULL}")},
		rows)
	for name, path := range map[string]string{
		"of another member":            write("{'x': 'a', 'y': 3}", field("x", 12), field("y", 11)),
		"of an unknown member":         write("{'x': 'a', 'y': 3}", field("x", 99), field("y", 11)),
		"a type that does not convert": write("{'x': 1.5}", field("x", 11)),
	} {
		bad := engine.NewFileList(columns("STRUCT(p INTEGER, q VARCHAR)"), false, []engine.FileGroup{{Paths: []string{paths[0], path}}}).
			WithStored(columns("STRUCT(x INTEGER, y VARCHAR)")).WithColumnIDs([]int{1, 2, 3}).WithParts(parts)
		_, err := read(bad)
		require.Equal(t, "file_schema", failure(t, err).Class, name)
	}
	for name, bad := range map[string]*engine.FileList{
		"too many parts":      list.WithParts(append(slices.Clone(parts), nil)),
		"parts without names": list.WithStored(nil).WithColumnIDs(nil),
		"too few members":     list.WithParts([][]engine.FieldID{members[:1], parts[1], parts[2]}),
	} {
		_, err := read(bad)
		require.Equal(t, "file_schema", failure(t, err).Class, name)
	}
	// Names of files are literal, even if they look like patterns.
	odd := "a[b]*?.parquet"
	require.NoError(t, os.Rename(filepath.Join(root, swapped[0]), filepath.Join(root, odd)))
	swapped[0] = odd
	rows, err = read(engine.NewFileList(list.Columns, false,
		[]engine.FileGroup{{Paths: swapped[:1]}}).WithStored(list.Stored).WithColumnIDs(list.ColumnIDs).WithParts(parts))
	require.NoError(t, withText(err))
	require.Equal(t, []string{row("{'p': 1, 'q': 2}")}, rows)
}
