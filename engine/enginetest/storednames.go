package enginetest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// storedNames reads files with different names for columns and members, including
// names of other columns of the table.
func (s suite) storedNames(t *testing.T) {
	root := t.TempDir()
	inner := arrow.StructOf(int64Column("p1"), field("p2", arrow.StructOf(int64Column("p3"))))
	older := parquetFile(t, `[{"b": 1, "a": 10, "gone": 5, "s": {"p1": 1, "p2": {"p3": 2}},
		"l": [{"p1": 3, "p2": null}, null], "m": [{"key": "k", "value": {"p1": 4, "p2": null}}]},
		{"b": 2, "a": null, "gone": 5, "s": null, "l": null, "m": null}]`,
		int64Column("b"), int64Column("a"), int64Column("gone"), field("s", inner), field("l", arrow.ListOf(inner)),
		field("m", arrow.MapOf(arrow.BinaryTypes.String, inner)))
	newer := parquetFile(t, `[{"col-new": "x", "b": 3, "l": [], "s": {"p1": 7}}]`,
		field("col-new", arrow.BinaryTypes.String), int64Column("b"), field("l", arrow.ListOf(arrow.StructOf(int64Column("p1")))),
		field("s", arrow.StructOf(int64Column("p1"))))
	for name, content := range map[string][]byte{"older": older, "newer": newer} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o600))
	}
	// The columns a and b are stored under each other's name: both were renamed.
	columns := []engine.Column{
		{Name: "a", Type: sqltype.BigInt, Nullable: true}, {Name: "p", Type: sqltype.Varchar, Nullable: true},
		{Name: "b", Type: sqltype.BigInt, Nullable: true},
		{Name: "s", Type: sqltype.MustParse(`STRUCT(x BIGINT, "it's" STRUCT(z BIGINT))`), Nullable: true},
		{Name: "l", Type: sqltype.MustParse(`STRUCT(x BIGINT, "it's" STRUCT(z BIGINT))[]`), Nullable: true},
		{Name: "m", Type: sqltype.MustParse(`MAP(VARCHAR, STRUCT(x BIGINT, "it's" STRUCT(z BIGINT)))`), Nullable: true},
		{Name: "gone", Type: sqltype.Varchar, Nullable: true},
	}
	stored := []engine.Column{
		{Name: "b", Type: sqltype.BigInt}, {Name: "p-1", Type: sqltype.Varchar}, {Name: "a", Type: sqltype.BigInt},
		{Name: "s", Type: sqltype.MustParse("STRUCT(p1 BIGINT, p2 STRUCT(p3 BIGINT))")},
		{Name: "l", Type: sqltype.MustParse("STRUCT(p1 BIGINT, p2 STRUCT(p3 BIGINT))[]")},
		{Name: "m", Type: sqltype.MustParse("MAP(VARCHAR, STRUCT(p1 BIGINT, p2 STRUCT(p3 BIGINT)))")},
		{Name: "col-new", Type: sqltype.Varchar},
	}
	one := "one"
	want := []string{
		"1|one|10|{'x': 1, 'it\\'s': {'z': 2}}|[{'x': 3, 'it\\'s': NULL}, NULL]|{k={'x': 4, 'it\\'s': NULL}}|(null)",
		"2|one|(null)|(null)|(null)|(null)|(null)",
		"3|(null)|(null)|{'x': 7, 'it\\'s': NULL}|[]|(null)|x",
	}
	session := s.open(t, root)
	list := engine.NewFileList(columns, false, []engine.FileGroup{
		{Partition: map[string]*string{"p": &one}, Paths: []string{"older"}}, {Partition: map[string]*string{"p": nil}, Paths: []string{"newer"}},
	}).WithStored(stored)
	for i, list := range []*engine.FileList{list, list.WithPositions(engine.PositionColumns{File: "f", Row: "r"})} {
		src := engine.Source{Location: root, Identity: strconv.Itoa(i), Files: list}
		require.Equal(t, columns, columnsOf(t, session, src)[:len(columns)])
		sql := "SELECT a, p, b, s::VARCHAR, l::VARCHAR, m::VARCHAR, gone FROM " + src.Relation() + " ORDER BY a"
		require.Equal(t, want, Rows(t, session, engine.Statement{SQL: sql, Sources: []engine.Source{src}}))
		sql = "SELECT count(*) FROM " + src.Relation() + " WHERE a = 1 AND b = 10 AND s.x = 1 AND gone IS NULL"
		require.Equal(t, []string{"1"}, Rows(t, session, engine.Statement{SQL: sql, Sources: []engine.Source{src}}))
	}
	for name, stored := range map[string][]engine.Column{
		"too few":      stored[:3],
		"another type": append([]engine.Column{{Name: "b", Type: sqltype.Varchar}}, stored[1:]...),
		"other members": append(append([]engine.Column{}, stored[:3]...), engine.Column{Name: "s", Type: sqltype.MustParse("STRUCT(p1 BIGINT)")},
			stored[4],
			stored[5], stored[6]),
	} {
		src := engine.Source{Location: root, Identity: name, Files: list.WithStored(stored)}
		_, err := TryRows(t.Context(), session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Equal(t, "file_schema", failure(t, err).Class, name)
	}
}
