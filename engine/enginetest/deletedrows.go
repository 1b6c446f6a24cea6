package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func bitmap(t *testing.T, rows ...int64) []byte {
	set, err := deletion.Of(slices.Values(rows))
	require.NoError(t, err)
	bytes, err := set.Bytes()
	require.NoError(t, err)
	return bytes
}

// deletedRows reads files with deleted rows: no statement reads them, and the other
// rows keep their order and positions.
func (s suite) deletedRows(t *testing.T) {
	root := t.TempDir()
	var all []string
	files := []string{"a", "b", "c"}
	for i, name := range files {
		var rows []string
		for n := range 3000 {
			rows = append(rows, fmt.Sprintf(`{"id": %d, "text": "%d"}`, i*10000+n, n))
		}
		all = append(all, "["+strings.Join(rows, ",")+"]")
		require.NoError(t, os.WriteFile(filepath.Join(root, name),
			parquetFile(t, all[i], int64Column("id"), field("text", arrow.BinaryTypes.String)), 0o600))
	}
	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt, Nullable: true}, {Name: "text", Type: sqltype.Varchar, Nullable: true},
		{Name: "p", Type: sqltype.Integer, Nullable: true}}
	one, two := "1", "2"
	groups := []engine.FileGroup{{Partition: map[string]*string{"p": &one}, Paths: files[:2]},
		{Partition: map[string]*string{"p": &two}, Paths: files[2:]}}
	gone := func(file, row int) bool { return file == 0 && row%2 == 1 || file == 2 && (row < 2500 || row == 2999) }
	var wantRows []string
	sets := make([][]int64, len(files))
	for i := range files {
		for n := range 3000 {
			if gone(i, n) {
				sets[i] = append(sets[i], int64(n))
				continue
			}
			wantRows = append(wantRows, fmt.Sprintf("%d|%d|%d|%d|%d", i*10000+n, n, 1+i/2, i, n))
		}
	}
	list := engine.NewFileList(columns, true, groups).WithPositions(engine.PositionColumns{File: "f", Row: "r"}).
		WithDeleted([]engine.DeletedRows{{File: 0, Rows: bitmap(t, sets[0]...)}, {File: 2, Rows: bitmap(t, sets[2]...)}})
	src := engine.Source{Location: root, Identity: "deleted", Files: list}
	session := s.open(t, root)
	query := func(sql string) []string {
		return Rows(t, session, engine.Statement{SQL: strings.ReplaceAll(sql, "FROM T", "FROM "+src.Relation()), Sources: []engine.Source{src}})
	}
	for range 2 { // the view is created, then reused
		require.Equal(t, wantRows, query("SELECT id, text, p, f, r FROM T"))
	}
	require.Equal(t, []string{"4999"}, query("SELECT count(*) FROM T"))
	require.Equal(t, []string{"0"}, query("SELECT count(*) FROM T WHERE id = 1 OR id = 20000 OR id = 22999"))
	require.Equal(t, []string{"20|22998"}, query("SELECT min(p) * 10 + min(p) * 10, max(id) FROM T WHERE p <= 2"))
	// An expression that fails only on deleted rows does not fail.
	require.Equal(t, []string{"4999"},
		query("SELECT count(*) FROM T WHERE CASE WHEN id < 3000 AND id % 2 = 1 THEN error('row is gone') ELSE 'x' END = 'x'"))
	require.Equal(t, []string{"1499"}, query("SELECT count(*) FROM T WHERE f = 0 AND 10 // ((id + 1) % 2) > 0 AND r > 0"))

	whole := engine.NewFileList(columns, true, groups)
	for name, deleted := range map[string][]engine.DeletedRows{
		"no bitmap":     {{File: 0, Rows: []byte("x")}},
		"twice":         {{File: 0, Rows: bitmap(t, 1)}, {File: 0, Rows: bitmap(t, 2)}},
		"negative file": {{File: -1, Rows: bitmap(t, 1)}},
	} {
		bad := engine.Source{Location: root, Identity: name, Files: whole.WithDeleted(deleted)}
		_, err := TryRows(t.Context(), session, engine.Statement{SQL: "FROM " + bad.Relation(), Sources: []engine.Source{bad}})
		require.Equal(t, "file_schema", failure(t, err).Class, name)
	}
}
