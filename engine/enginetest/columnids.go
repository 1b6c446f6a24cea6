package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// columnIDs reads files in which columns are found by field id, whatever they are
// called there: names of other columns included.
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
		session.write(t, "SELECT 'y' AS a, 2::BIGINT AS b, 5::BIGINT AS id", ids("b", "a"))[0], // the other way round
		session.write(t, "SELECT 'z' AS file_index", ids("", "file_index"))[0],                 // one is missing
		session.write(t, "SELECT 9::BIGINT AS a, 'no' AS b", engine.FileLayout{})[0],           // both are
	}
	columns := []engine.Column{{Name: "id", Type: "BIGINT", Nullable: true}, {Name: "text", Type: "VARCHAR", Nullable: true}}
	stored := []engine.Column{{Name: "a", Type: "BIGINT"}, {Name: "b", Type: "VARCHAR"}}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Name)
	}
	read := func(name string, list *engine.FileList) ([]string, error) {
		src := engine.Source{Location: session.dir, Incarnation: name, Files: list}
		return TryRows(t.Context(), session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}})
	}
	list := engine.NewFileList(columns, false, []engine.FileGroup{{Paths: paths}}).WithStored(stored).WithColumnIDs([]int{1, 2})
	rows, err := read("ids", list)
	require.NoError(t, err)
	require.Equal(t, []string{"1|x", "2|y", "(null)|z", "(null)|(null)"}, rows)
	rows, err = read("positions", list.WithPositions(engine.PositionColumns{File: "f", Row: "r"}).WithDeleted([]engine.DeletedRows{{File: 1, Rows: bitmap(t, 0)}}))
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
