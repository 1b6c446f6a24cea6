package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Listed is the table at its latest version with its list of files.
func (t *Table) Listed() engine.Source {
	src := t.Latest()
	src.Files = engine.NewFileList([]engine.Column{
		{Name: "id", Type: "BIGINT", Nullable: true},
		{Name: "name", Type: "VARCHAR", Nullable: true},
	}, true, []engine.FileGroup{{Paths: t.files}})
	return src
}

func (s suite) fileList(t *testing.T) {
	t.Run("EqualsTheLog", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		session := s.open(t, root)
		for i := range int64(3) {
			require.Equal(t, readAll(t, session, table.Latest()), readAll(t, session, table.Listed()), "%d files", i)
			table.Append(t, i*10, i*10+10)
		}
	})
}

// readAll is every row, sorted.
func readAll(t *testing.T, session engine.Session, src engine.Source) []string {
	t.Helper()
	return Rows(t, session, engine.Statement{SQL: "SELECT * FROM " + src.Relation() + " ORDER BY ALL", Sources: []engine.Source{src}})
}
