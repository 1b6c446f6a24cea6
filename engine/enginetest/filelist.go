package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Listed returns the table's latest version with its list of files.
func (t *Table) Listed() engine.Source {
	src := t.Latest()
	src.Files = engine.NewFileList([]engine.Column{
		{Name: "id", Type: sqltype.BigInt, Nullable: true},
		{Name: "name", Type: sqltype.Varchar, Nullable: true},
	}, true, []engine.FileGroup{{Paths: slices.Clone(t.files)}})
	return src
}

func (s suite) fileList(t *testing.T) {
	t.Run("EqualsTheLog", s.equalsTheLog)
	t.Run("Reused", s.listReused)
	t.Run("OddPaths", s.oddPaths)
	t.Run("PathsOutside", s.pathsOutside)
	t.Run("Partitions", s.partitions)
	t.Run("Positions", s.positions)
	t.Run("StoredNames", s.storedNames)
	t.Run("ColumnIDs", s.columnIDs)
	t.Run("Parts", s.parts)
	t.Run("DeletedRows", s.deletedRows)
	t.Run("PhysicalTypes", s.physicalTypes)
	t.Run("TypePairs", s.typePairs)
	t.Run("LegacyLists", s.legacyLists)
	t.Run("Barrier", s.listBarrier)
	t.Run("FilesGone", s.listFilesGone)
	t.Run("DamagedFiles", s.damagedFiles)
}

// equalsTheLog reads tables of another writer by a list and through their logs.
func (s suite) equalsTheLog(t *testing.T) {
	root := t.TempDir()
	names := writeForeign(t, root)
	session := s.open(t, root)
	for n, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			log := readLog(t, dir)
			plain := engine.Source{Location: dir, Version: log.version, Identity: name}
			columns := columnsOf(t, session, plain)
			want := readAll(t, session, plain)
			// Lists without guarantees, with all possible guarantees, and with the
			// files in reverse order.
			reversed := slices.Clone(log.groups)
			slices.Reverse(reversed)
			for i, list := range []*engine.FileList{
				engine.NewFileList(columns, false, log.groups),
				engine.NewFileList(columns, name[:2] != "gr", log.groups),
				engine.NewFileList(columns, false, reversed),
				engine.NewFileList(columns, false, groupByPartition(log.groups)),
			} {
				src := plain
				src.Files = list
				require.Equal(t, columns, columnsOf(t, session, src))
				require.Equal(t, want, readAll(t, session, src))
				for j, c := range columns {
					if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" && (i+j+n)%2 == 1 {
						continue
					}
					ask := queriesFor(c)[i]
					require.Equal(t, answer(t, session, plain, ask), answer(t, session, src, ask), ask)
				}
			}
		})
	}
}

// queriesFor returns statements about one column with different plans, one for each
// of the lists.
func queriesFor(c engine.Column) [4]string {
	name := engine.QuoteIdent(c.Name)
	return [4]string{
		"SELECT count(*) FROM t WHERE " + name + " IS NULL",
		"SELECT count(*) FROM t WHERE " + name + " = (SELECT max(" + name + ") FROM t)",
		"SELECT " + name + ", count(*) FROM t GROUP BY ALL ORDER BY ALL",
		"SELECT min(" + name + ")::VARCHAR, count(*) FROM t WHERE " + name + " > (SELECT min(" + name + ") FROM t)",
	}
}

func answer(t *testing.T, session engine.Session, src engine.Source, ask string) []string {
	t.Helper()
	return Rows(t, session, engine.Statement{SQL: "WITH t AS (FROM " + src.Relation() + ") " + ask, Sources: []engine.Source{src}})
}

// groupByPartition puts files with equal partition values into one group.
func groupByPartition(files []engine.FileGroup) []engine.FileGroup {
	var out []engine.FileGroup
	for _, f := range files {
		i := slices.IndexFunc(out, func(g engine.FileGroup) bool {
			return engine.NewFileList(nil, true, []engine.FileGroup{{Partition: g.Partition}}).Digest() ==
				engine.NewFileList(nil, true, []engine.FileGroup{{Partition: f.Partition}}).Digest()
		})
		if i < 0 {
			out = append(out, engine.FileGroup{Partition: f.Partition, Paths: slices.Clone(f.Paths)})
			continue
		}
		out[i].Paths = append(out[i].Paths, f.Paths...)
	}
	return out
}

func columnsOf(t *testing.T, session engine.Session, src engine.Source) []engine.Column {
	t.Helper()
	r, err := session.Query(context.Background(),
		engine.Statement{SQL: "SELECT * FROM " + src.Relation() + " LIMIT 0", Sources: []engine.Source{src}})
	require.NoError(t, withText(err))
	defer r.Close()
	return r.Columns()
}

// readAll returns all rows, sorted.
func readAll(t *testing.T, session engine.Session, src engine.Source) []string {
	t.Helper()
	return Rows(t, session, engine.Statement{SQL: "SELECT * FROM " + src.Relation() + " ORDER BY ALL", Sources: []engine.Source{src}})
}
