package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// numberedFiles are files below one directory, each with one row that holds its
// number.
type numberedFiles struct {
	dir   string
	paths []string
}

func (n *numberedFiles) put(t *testing.T, path string) {
	t.Helper()
	content := parquetFile(t, `[{"id": `+strconv.Itoa(len(n.paths))+`}]`, int64Column("id"))
	file := filepath.Join(n.dir, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, content, 0o644))
	n.paths = append(n.paths, path)
}

func (n *numberedFiles) list(paths ...string) engine.Source {
	return engine.Source{Location: n.dir, Identity: "numbered", Files: engine.NewFileList(
		[]engine.Column{{Name: "id", Type: sqltype.BigInt, Nullable: true}}, true, []engine.FileGroup{{Paths: paths}})}
}

// oddPaths reads files whose names look like patterns, encoded text or SQL. An
// engine may refuse a path that contains a backslash in addition to characters of a
// pattern, and a remote one may refuse control characters; it must not read another
// file.
func (s suite) oddPaths(t *testing.T) {
	for _, dir := range []string{"t", "it's", "[t]", "t?", "t*", "50%", "t t", "销售"} {
		t.Run(dir, func(t *testing.T) {
			root := t.TempDir()
			n := &numberedFiles{dir: filepath.Join(root, dir)}
			for _, path := range []string{
				"a.parquet", "b.parquet", "[ab].parquet", "?.parquet", "*.parquet", "**.parquet", "**/a.parquet", "[!a].parquet",
				"a b.parquet", "%41.parquet", "A.parquet", "it's.parquet", `say "x".parquet`, `b\c.parquet`, "é.parquet", "销售.parquet",
				"p=a%2Fb/a.parquet", "p=a/b=c/a.parquet", "a;b.parquet", "$1.parquet", "~/a.parquet", "no suffix", "a.csv", "a.parquet.gz",
				"{a,b}.parquet",
				"id=77/a.parquet", "..a/b..c/....parquet", ".hidden", "_x/a.parquet", "a#b.parquet", "a\nb.parquet", "a\tb\x7f.parquet", "]",
				`c\*.parquet`, `c\[d`,
			} {
				n.put(t, path)
			}
			session := s.open(t, root)
			var read []string
			for i, path := range n.paths {
				src := n.list(path)
				got, err := TryRows(context.Background(), session, engine.Statement{SQL: "FROM " + src.Relation(), Sources: []engine.Source{src}})
				if err != nil && strings.Contains(path, `\`) && strings.ContainsAny(n.dir+path, "*?[") {
					require.Equal(t, "location", failure(t, err).Class, path)
					continue
				}
				if err != nil && s.serve != nil && strings.ContainsFunc(path, unicode.IsControl) {
					require.Equal(t, engine.KindIO, failure(t, err).Kind, path)
					continue
				}
				require.NoError(t, withText(err), path)
				require.Equal(t, []string{strconv.Itoa(i)}, got, path)
				read = append(read, path)
			}
			require.Len(t, readAll(t, session, n.list(read...)), len(read))
		})
	}
}

// pathsOutside names files that the session must not see.
func (s suite) pathsOutside(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	n := &numberedFiles{dir: filepath.Join(root, "t")}
	n.put(t, "a.parquet")
	other := &numberedFiles{dir: outside, paths: make([]string, 99)}
	other.put(t, "a.parquet")
	sibling := &numberedFiles{dir: filepath.Join(root, "sibling"), paths: make([]string, 98)}
	sibling.put(t, "a.parquet")
	require.NoError(t, os.Symlink(outside, filepath.Join(n.dir, "link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "a.parquet"), filepath.Join(n.dir, "link.parquet")))
	session := s.open(t, root)
	for _, path := range []string{
		filepath.Join(outside, "a.parquet"), "../sibling/a.parquet", "x/../../sibling/a.parquet", "..", "../", "link/a.parquet", "link.parquet",
		"link/*", "../" + filepath.Base(outside) + "/a.parquet", "/etc/passwd", "/" + filepath.Join(n.dir, "a.parquet"), "",
		"a.parquet\x00", "a.parquet\xff", "file://" + outside + "/a.parquet", "http://127.0.0.1:1/a.parquet", `..\*`,
		`a.parquet'], filename=true) UNION ALL SELECT 1 -- `,
	} {
		_, err := TryRows(context.Background(), session, engine.Statement{
			SQL: "SELECT * FROM " + n.list(path).Relation(), Sources: []engine.Source{n.list(path)}})
		require.Error(t, err, path)
		require.Equal(t, engine.KindIO, failure(t, err).Kind, "%q: %v", path, withText(err))
		require.Equal(t, []string{"0"}, readAll(t, session, n.list("a.parquet")))
	}
	for _, location := range []string{outside, n.dir + "/../../" + filepath.Base(outside), filepath.Join(n.dir, "link"), "t", ""} {
		src := n.list("a.parquet")
		src.Location = location
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Error(t, err, location)
	}
	alive(t, session)
}

// partitions gives files a constant as the same column, with valid and invalid
// values.
func (s suite) partitions(t *testing.T) {
	root := t.TempDir()
	n := &numberedFiles{dir: root}
	for i := range 3 {
		n.put(t, strconv.Itoa(i)+".parquet")
	}
	session := s.open(t, root)
	columns := []engine.Column{{Name: "p", Type: sqltype.Integer, Nullable: true}, {Name: "id", Type: sqltype.BigInt, Nullable: true}}
	ask := func(sql string, groups ...engine.FileGroup) ([]string, error) {
		src := engine.Source{Location: root, Files: engine.NewFileList(columns, true, groups)}
		return TryRows(context.Background(), session, engine.Statement{
			SQL: "SELECT " + sql + " FROM " + src.Relation(), Sources: []engine.Source{src}})
	}
	group := func(value string, paths ...string) engine.FileGroup {
		return engine.FileGroup{Partition: map[string]*string{"p": &value}, Paths: paths}
	}
	null := engine.FileGroup{Partition: map[string]*string{"p": nil}, Paths: []string{"2.parquet"}}
	got, err := ask("*", group("7", "0.parquet"), group("-1", "1.parquet"), null, group("9"))
	require.NoError(t, withText(err))
	require.Equal(t, []string{"7|0", "-1|1", "(null)|2"}, got)
	// The partition value replaces the column in the file.
	got, err = ask("sum(p)::BIGINT, sum(id)::BIGINT", group("7", "0.parquet", "1.parquet", "2.parquet"))
	require.NoError(t, withText(err))
	require.Equal(t, []string{"21|3"}, got)
	columns[0].Type = sqltype.Varchar
	got, err = ask("id, hex(p)", group("\x00a'\x00", "0.parquet"), group("'\x00", "1.parquet"), null)
	require.NoError(t, withText(err))
	require.Equal(t, []string{"0|00612700", "1|2700", "2|(null)"}, got)
	columns[0].Type = sqltype.Integer
	for name, groups := range map[string][]engine.FileGroup{
		"no number":       {group("x", "0.parquet")},
		"one of many":     {group("1", "0.parquet"), group("x", "1.parquet")},
		"too large":       {group("3000000000", "0.parquet")},
		"SQL":             {group("1'::INTEGER, (SELECT 1) AS x --", "0.parquet")},
		"unknown column":  {{Partition: map[string]*string{"q": nil}, Paths: []string{"0.parquet"}}},
		"unequal columns": {group("1", "0.parquet"), {Paths: []string{"1.parquet"}}},
	} {
		// Even for a statement that does not use the column.
		_, err := ask("count(*)", groups...)
		require.Error(t, err, name)
		e := failure(t, err)
		require.Equal(t, engine.KindIO, e.Kind, "%s: %+v", name, e)
		require.Equal(t, "file_schema", e.Class, "%s: %+v", name, e)
	}
}
