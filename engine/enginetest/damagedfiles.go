package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// damagedFiles reads files that do not hold what their list says, alone and next to a good file.
// Every failure is [engine.Error.Unreadable], and names the file and the column only if the lease
// allows it.
func (s suite) damagedFiles(t *testing.T) {
	root := t.TempDir()
	row := `{"id": %d, "name": "n%[1]d", "sm": 3}`
	file := func(row string, id, name, sm arrow.DataType) []byte {
		rows := make([]string, 300)
		for i := range rows {
			rows[i] = strings.ReplaceAll(row, "%d", fmt.Sprint(i))
		}
		return parquetFile(t, "["+strings.Join(rows, ",")+"]", field("id", id), field("name", name), field("sm", sm))
	}
	row = strings.ReplaceAll(row, "%[1]d", "%d")
	long, text, short := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int16
	whole := file(row, long, text, short)
	require.NoError(t, os.WriteFile(filepath.Join(root, "whole.parquet"), whole, 0o644))
	torn := bytes.Clone(whole)
	copy(torn[4:], bytes.Repeat([]byte{0xff}, 40)) // the header of the first page
	footer := bytes.Clone(whole)
	copy(footer[len(footer)-200:], bytes.Repeat([]byte{0xff}, 100))
	length := bytes.Clone(whole)
	copy(length[len(length)-8:], []byte{0xff, 0xff, 0xff, 0x7f})
	other := func(was, is string) string { return strings.Replace(row, was, is, 1) }
	for _, c := range []struct {
		name, class, column string
		content             []byte
	}{
		{"text", engine.ClassFileSchema, "id", file(other(`"id": %d`, `"id": "x%d"`), text, text, short)},
		{"digits", engine.ClassFileSchema, "id", file(other(`"id": %d`, `"id": "%d"`), text, text, short)},
		{"range", engine.ClassFileSchema, "sm", file(other(`"sm": 3`, `"sm": 70000`), long, text, arrow.PrimitiveTypes.Int32)},
		{"latin", engine.ClassFileText, "name", file(other(`"n%d"`, `"U3RyYd9l"`), long, arrow.BinaryTypes.Binary, short)},
		{"truncated", engine.ClassDataFile, "", whole[:len(whole)/2]},
		{"empty", engine.ClassDataFile, "", nil},
		{"garbage", engine.ClassDataFile, "", bytes.Repeat([]byte("PAR1 not a data file "), 10)},
		{"torn", engine.ClassDataFile, "id", torn},
		{"footer", engine.ClassDataFile, "", footer},
		{"length", engine.ClassDataFile, "", length},
		{"cut", engine.ClassDataFile, "id", append(bytes.Clone(whole[:4]), whole[len(whole)-1000:]...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := "data/" + c.name + ".parquet"
			require.NoError(t, os.MkdirAll(filepath.Join(root, "data"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, name), c.content, 0o644))
			columns := []engine.Column{{Name: "id", Type: sqltype.BigInt, Nullable: true},
				{Name: "name", Type: sqltype.Varchar, Nullable: true}, {Name: "sm", Type: sqltype.SmallInt, Nullable: true}}
			for _, paths := range [][]string{{name, "whole.parquet"}, {"whole.parquet", name}} {
				files := engine.NewFileList(columns, true, []engine.FileGroup{{Paths: paths}})
				src := engine.Source{Location: root, Files: files}
				for _, diagnose := range []bool{false, true} {
					session := s.open(t, root)
					_, err := TryRows(context.Background(), session, engine.Statement{
						SQL:     "SELECT max(id), max(name), max(sm) FROM " + src.Relation(),
						Sources: []engine.Source{src}, Lease: engine.Lease{Diagnose: diagnose},
					})
					e := failure(t, err)
					require.True(t, e.Unreadable(), "%v: %v", paths, withText(err))
					require.Equal(t, c.class, e.Class, "%v: %v", paths, withText(err))
					if diagnose {
						require.Equal(t, name, e.File, "%v: %v", paths, withText(err))
						require.Equal(t, c.column, e.Column, "%v: %v", paths, withText(err))
					} else {
						require.Empty(t, e.File)
					}
				}
			}
		})
	}
}
