package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// drawnList is a random list of files with the expected rows.
type drawnList struct {
	list *engine.FileList
	rows []string // values of the table's columns, the file's number and the row's number
}

// positions reads random lists with the positions of their rows.
func (s suite) positions(t *testing.T) {
	root := t.TempDir()
	session := s.open(t, root)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, strconv.Itoa(n))
		require.NoError(t, os.Mkdir(dir, 0o755))
		p := drawList(rt, t, dir)
		src := engine.Source{Location: dir, Identity: "positions", Files: p.list}
		one := engine.Lease{Threads: 1}
		all := Rows(t, session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}, Lease: one})
		require.Equal(rt, p.rows, all)
		at := rapid.IntRange(0, 5).Draw(rt, "row")
		var want []string
		for _, row := range p.rows {
			if strings.HasSuffix(row, "|"+strconv.Itoa(at)) {
				want = append(want, row)
			}
		}
		sql := "FROM " + src.Relation() + ` WHERE "r""ow" = ` + strconv.Itoa(at)
		require.Equal(rt, want, Rows(t, session, engine.Statement{SQL: sql, Sources: []engine.Source{src}, Lease: one}))
	})
	t.Run("NameTaken", func(t *testing.T) {
		for _, p := range []engine.PositionColumns{{File: "id", Row: "r"}, {File: "f", Row: "ID"}, {File: "x", Row: "X"}} {
			file := parquetFile(t, `[{"id": 1}]`, int64Column("id"))
			require.NoError(t, os.WriteFile(filepath.Join(root, "taken"), file, 0o600))
			src := engine.Source{Location: root, Files: engine.NewFileList(
				[]engine.Column{{Name: "id", Type: sqltype.BigInt}}, true, []engine.FileGroup{{Paths: []string{"taken"}}}).WithPositions(p)}
			_, err := TryRows(t.Context(), session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}})
			require.Equal(t, "file_schema", failure(t, err).Class)
		}
	})
}

// specialNames are names that mean something to an engine, and an ordinary one.
var specialNames = []string{"file_index", "FILE_ROW_NUMBER", "c0", "x"}

func drawList(rt *rapid.T, t *testing.T, dir string) drawnList {
	names := append([]string{"id"}, rapid.SliceOfNDistinct(rapid.SampledFrom(specialNames), 0, 3, rapid.ID).Draw(rt, "columns")...)
	uniform := rapid.Bool().Draw(rt, "uniform")
	partitioned := rapid.Bool().Draw(rt, "partitioned")
	// A column of files that the table does not have. Names are compared
	// case-insensitively.
	extra := rapid.Bool().Draw(rt, "extra") && !slices.Contains(names, "FILE_ROW_NUMBER")
	var columns []engine.Column
	for _, name := range names {
		columns = append(columns, engine.Column{Name: name, Type: sqltype.BigInt, Nullable: true})
	}
	if partitioned {
		columns = slices.Insert(columns, 1, engine.Column{Name: "p", Type: sqltype.BigInt, Nullable: true})
	}
	var p drawnList
	var groups []engine.FileGroup
	files := rapid.IntRange(0, 6).Draw(rt, "files")
	if rapid.IntRange(0, 7).Draw(rt, "many") == 7 {
		files += 60
	}
	for f := range files {
		group := engine.FileGroup{Paths: []string{strconv.Itoa(f)}}
		value := "NULL"
		if partitioned {
			group.Partition = map[string]*string{"p": nil}
			if v := rapid.IntRange(0, 3).Draw(rt, "value"); v > 0 {
				value = strconv.Itoa(v)
				group.Partition["p"] = &value
			}
		}
		held := names
		if !uniform {
			held = names[:rapid.IntRange(1, len(names)).Draw(rt, "held")]
		}
		var rows []string
		for r := range rapid.IntRange(1, 3).Draw(rt, "rows") {
			var fields, out []string
			for i, name := range names {
				v := "NULL"
				if i < len(held) {
					v = strconv.Itoa(f*1000 + i*100 + r)
					fields = append(fields, fmt.Sprintf("%q: %s", name, v))
				}
				out = append(out, v)
				if i == 0 && partitioned {
					out = append(out, value)
				}
			}
			if extra {
				fields = append(fields, `"file_row_number": 5`)
			}
			rows = append(rows, "{"+strings.Join(fields, ", ")+"}")
			row := strings.ReplaceAll(strings.Join(out, "|"), "NULL", "(null)")
			p.rows = append(p.rows, row+"|"+strconv.Itoa(f)+"|"+strconv.Itoa(r))
		}
		var schema []arrow.Field
		for _, name := range held {
			schema = append(schema, int64Column(name))
		}
		if extra {
			schema = append(schema, int64Column("file_row_number"))
		}
		content := parquetFile(t, "["+strings.Join(rows, ", ")+"]", schema...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(f)), content, 0o600))
		groups = append(groups, group)
	}
	p.list = engine.NewFileList(columns, uniform, groups).WithPositions(engine.PositionColumns{File: "fi'le", Row: `r"ow`})
	return p
}
