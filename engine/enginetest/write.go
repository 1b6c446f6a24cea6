package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func (s suite) write(t *testing.T) {
	t.Run("ReadsSourcesOfEveryKind", s.writeSources)
	t.Run("Describes", s.writeDescribes)
	t.Run("Partitions", s.writePartitions)
	t.Run("Sizes", s.writeSizes)
	t.Run("Ordered", s.writeOrdered)
	t.Run("Properties", s.writeProperties)
	t.Run("SignedZeros", s.writeSignedZeros)
	t.Run("NoRows", s.writeNothing)
	t.Run("Failures", s.writeFailures)
	t.Run("Stopped", s.writeStopped)
	t.Run("Confined", s.writeConfined)
}

// scratch is a session that writes, and its directory.
type scratch struct {
	engine.Session
	dir string
}

// openScratch is open for a session that writes.
func (s suite) openScratch(t *testing.T, roots ...string) scratch {
	t.Helper()
	dir := t.TempDir()
	session := s.openWith(t, engine.SessionOptions{Roots: roots, Scratch: dir})
	require.Implements(t, (*engine.Writer)(nil), session)
	return scratch{session, dir}
}

func (s scratch) write(t *testing.T, sql string, layout engine.FileLayout) []engine.DataFile {
	t.Helper()
	files, err := s.try(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: sql}, Layout: layout})
	require.NoError(t, withText(err))
	return files
}

func (s scratch) try(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	return s.Session.(engine.Writer).Write(ctx, st)
}

// read returns a source of files in the scratch directory.
func (s scratch) read(columns []engine.Column, partition bool, files ...engine.DataFile) engine.Source {
	groups := make([]engine.FileGroup, len(files))
	for i, f := range files {
		groups[i] = engine.FileGroup{Paths: []string{f.Name}}
		if partition {
			groups[i].Partition = f.Partition
		}
	}
	return engine.Source{Location: s.dir, Identity: "staged", Files: engine.NewFileList(columns, true, groups)}
}

// remainingFiles returns the files in the scratch directory, including the engine's
// own.
func (s scratch) remainingFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, strings.TrimPrefix(path, s.dir+"/"))
		}
		return err
	}))
	return out
}

func (s suite) writeSources(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 50)
	table.Append(t, 50, 100)
	session := s.openScratch(t, root)
	var kept []engine.DataFile
	for i, src := range []engine.Source{table.Latest(), table.Listed()} {
		files, err := session.try(t.Context(), engine.WriteStatement{Dir: "sub/folder", Statement: engine.Statement{
			SQL:     "SELECT * FROM " + src.Relation() + " WHERE id >= $low AND id < $high",
			Args:    engine.Args{Named: map[string]any{"low": int64(i * 40), "high": int64(i*40 + 40)}},
			Sources: []engine.Source{src},
		}})
		require.NoError(t, withText(err))
		require.Len(t, files, 1)
		require.Equal(t, int64(40), files[0].Rows)
		kept = append(kept, files...)
	}
	require.ElementsMatch(t, []string{"sub/folder/" + kept[0].Name, "sub/folder/" + kept[1].Name}, session.remainingFiles(t))
	// Written files are read by a list, together with the table.
	staged := session.read(table.Listed().Files.Columns, false, kept...)
	staged.Location = filepath.Join(session.dir, "sub", "folder")
	sql := "SELECT id, name FROM " + staged.Relation() + " EXCEPT ALL SELECT id, name FROM " + table.Listed().Relation() + " WHERE id < 80"
	require.Empty(t, Rows(t, session, engine.Statement{SQL: sql, Sources: []engine.Source{staged, table.Listed()}}))
	src := table.Listed()
	b := engine.Barrier{SQL: "SELECT id FROM " + src.Relation() + " WHERE id % 10 = 3", Source: src}
	b.Name = engine.BarrierName(src, b.SQL)
	files, err := session.try(t.Context(),
		engine.WriteStatement{Statement: engine.Statement{SQL: "FROM " + b.Relation(), Barriers: []engine.Barrier{b}}})
	require.NoError(t, withText(err))
	require.Equal(t, int64(10), files[0].Rows)
}

func (s suite) writeDescribes(t *testing.T) {
	session := s.openScratch(t)
	files := session.write(t, `SELECT i AS id, CASE WHEN i % 2 = 0 THEN NULL ELSE 'v' || i END AS "a.""b", {'x': i} AS st, i % 3 AS p
		FROM range(30) t(i)`,
		engine.FileLayout{PartitionBy: []string{"p"}})
	require.Len(t, files, 3)
	for _, f := range files {
		info, err := os.Stat(filepath.Join(session.dir, f.Name))
		require.NoError(t, err)
		require.Equal(t, info.Size(), f.Bytes)
		require.Equal(t, int64(10), f.Rows)
		at := slices.IndexFunc(f.Columns, func(c engine.ColumnStats) bool { return slices.Equal(c.Path, []string{`a."b`}) })
		require.GreaterOrEqual(t, at, 0)
		require.Equal(t, int64(5), *f.Columns[at].NullCount)
		require.True(t, slices.ContainsFunc(f.Columns, func(c engine.ColumnStats) bool {
			return slices.Equal(c.Path, []string{"st", "x"}) && *c.Min == *f.Partition["p"]
		}), "the smallest i of a partition is its own number")
	}
}

// writePartitions writes more partitions than an engine keeps open, with values
// that are not valid names of files.
func (s suite) writePartitions(t *testing.T) {
	session := s.openScratch(t)
	const query = `SELECT i AS id, CASE i % 250 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a/b=c %' WHEN 3 THEN repeat('x', 2000)
		WHEN 4 THEN '../x' WHEN 5 THEN '__HIVE_DEFAULT_PARTITION__' WHEN 6 THEN 'NULL' ELSE 'v' || i % 250 END AS p FROM range(600000) t(i)`
	files := session.write(t, query, engine.FileLayout{PartitionBy: []string{"p"}})
	require.Len(t, files, 250, "one file for each partition")
	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt}, {Name: "p", Type: sqltype.Varchar}}
	src := session.read(columns, true, files...)
	sql := "SELECT count(*), count(DISTINCT id) FROM (FROM " + src.Relation() + " INTERSECT ALL " + query + ")"
	require.Equal(t, []string{"600000|600000"}, Rows(t, session, engine.Statement{SQL: sql, Sources: []engine.Source{src}}))
	require.Len(t, session.remainingFiles(t), 250)
}

func (s suite) writeSizes(t *testing.T) {
	session := s.openScratch(t)
	const size = 500_000
	for name, by := range map[string][]string{"plain": nil, "partitioned": {"p"}} {
		files := session.write(t, "SELECT i AS id, random() AS r, i % 2 AS p FROM range(200000) t(i)",
			engine.FileLayout{FileBytes: size, RowGroupRows: 10000, PartitionBy: by})
		var rows int64
		for _, f := range files {
			rows += f.Rows
			require.Less(t, f.Bytes, int64(3*size), name)
		}
		require.Equal(t, int64(200000), rows)
		require.Greater(t, len(files), 2, name)
		require.Less(t, len(files), 20, name)
	}
}

func (s suite) writeOrdered(t *testing.T) {
	session := s.openScratch(t)
	const query = "SELECT i AS id, random() AS r, i % 150 AS p FROM range(200000) t(i) ORDER BY id DESC"
	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt}}
	for name, layout := range map[string]engine.FileLayout{
		"one file":    {Ordered: true, RowGroupRows: 10000},
		"sizes":       {Ordered: true, FileBytes: 500_000, RowGroupRows: 10000},
		"partitioned": {Ordered: true, PartitionBy: []string{"p"}},
		"both":        {Ordered: true, PartitionBy: []string{"p"}, FileBytes: 10_000, RowGroupRows: 500},
	} {
		t.Run(name, func(t *testing.T) {
			files := session.write(t, query, layout)
			last := map[string]int64{}
			for _, f := range files {
				part := ""
				if v := f.Partition["p"]; v != nil {
					part = *v
				}
				src := session.read(columns, false, f)
				for _, row := range Rows(t, session, engine.Statement{SQL: "SELECT id FROM " + src.Relation(), Sources: []engine.Source{src}}) {
					id, err := strconv.ParseInt(row, 10, 64)
					require.NoError(t, err)
					before, known := last[part]
					require.True(t, !known || id < before, "%d after %d in %s", id, before, f.Name)
					last[part] = id
				}
			}
		})
	}
}

func (s suite) writeProperties(t *testing.T) {
	session := s.openScratch(t)
	const query = `SELECT i AS "it's", {'a b': i, 'l': [i]} AS s, MAP {i: {'z': 1}} AS m, i % 2 AS p FROM range(30000) t(i)`
	ids := []engine.FieldID{
		{Column: "it's", ID: 7},
		{Column: "s", ID: 8, Children: []engine.FieldID{
			{Column: "a b", ID: 9}, {Column: "l", ID: 10, Children: []engine.FieldID{{Column: "element", ID: 11}}},
		}},
		{Column: "m", ID: 12, Children: []engine.FieldID{
			{Column: "key", ID: 13}, {Column: "value", ID: 14, Children: []engine.FieldID{{Column: "z", ID: 15}}},
		}},
		{Column: "p", ID: 16},
	}
	for codec, want := range map[string]string{"": "ZSTD", "zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "lz4_raw": "LZ4_RAW",
		"uncompressed": "UNCOMPRESSED"} {
		for _, by := range [][]string{nil, {"p"}} {
			files := session.write(t, query, engine.FileLayout{Codec: codec, RowGroupRows: 4096, FieldIDs: ids, PartitionBy: by})
			r, err := file.OpenParquetFile(filepath.Join(session.dir, files[0].Name), false)
			require.NoError(t, err)
			require.Greater(t, r.NumRowGroups(), 2)
			chunk, err := r.MetaData().RowGroup(0).ColumnChunk(0)
			require.NoError(t, err)
			require.Equal(t, want, chunk.Compression().String())
			found := map[string]int32{}
			collectIDs(r.MetaData().Schema.Root(), "", found)
			want := map[string]int32{"it's": 7, "s": 8, "s.a b": 9, "s.l": 10, "s.l.element": 11, "m": 12, "m.key": 13, "m.value": 14,
				"m.value.z": 15}
			if by == nil {
				want["p"] = 16
			}
			require.Equal(t, want, found)
			require.NoError(t, r.Close())
		}
	}
	s.writeEncodings(t, session)
	_, err := session.try(t.Context(),
		engine.WriteStatement{Statement: engine.Statement{SQL: "SELECT 1"}, Layout: engine.FileLayout{Codec: "zstd, ROW_GROUP_SIZE 1"}})
	require.Equal(t, engine.KindInternal, failure(t, err).Kind)
}

// writeEncodings checks the encodings of a number, of a text and of repeated
// values.
func (s suite) writeEncodings(t *testing.T, session scratch) {
	const delta = "DELTA_BINARY_PACKED DELTA_LENGTH_BYTE_ARRAY RLE_DICTIONARY"
	for want, layout := range map[string]engine.FileLayout{"PLAIN PLAIN PLAIN_DICTIONARY": {}, delta: {DeltaEncoding: true}} {
		files := session.write(t, "SELECT i, 'text ' || i AS t, i % 3 AS few FROM range(30000) r(i)", layout)
		r, err := file.OpenParquetFile(filepath.Join(session.dir, files[0].Name), false)
		require.NoError(t, err)
		var found []string
		for i := range 3 {
			chunk, err := r.MetaData().RowGroup(0).ColumnChunk(i)
			require.NoError(t, err)
			found = append(found, chunk.Encodings()[0].String())
		}
		require.Equal(t, want, strings.Join(found, " "))
		require.NoError(t, r.Close())
	}
}

// writeSignedZeros checks that rows keep the sign of zeros.
func (s suite) writeSignedZeros(t *testing.T) {
	session := s.openScratch(t)
	zero := "CASE WHEN i %% 3 = 0 THEN '-0.0' WHEN i %% 3 = 1 THEN '0.0' END::%[1]s"
	for name, column := range map[string]string{
		"DOUBLE": zero, "FLOAT": zero, "DOUBLE[]": "[1, NULL, " + zero + "]::%[1]s[]", "STRUCT": "{'a': i, 'b': " + zero + "}",
		"MAP": "MAP {'k': " + zero + "}", "keys": "MAP {coalesce(" + zero + ", 7): 'v'}", "deep": "[{'a': [MAP {'k': {'b': " + zero + "}}]}]",
	} {
		typ := "DOUBLE"
		if name == "FLOAT" {
			typ = name
		}
		query := "SELECT i, 'p' || i % 2 AS p, " + fmt.Sprintf(column, typ) + " AS v, 'x' AS \"v 2\" FROM range(5000) r(i)"
		want := Rows(t, session, engine.Statement{SQL: "SELECT i, v::VARCHAR FROM (" + query + ") ORDER BY i"})
		require.Contains(t, strings.Join(want[:3], " "), "-0.0", name)
		for _, layout := range []engine.FileLayout{{}, {PartitionBy: []string{"p"}, FileBytes: 1 << 20}} {
			var paths []string
			for _, f := range session.write(t, query, layout) {
				paths = append(paths, engine.QuoteString(filepath.Join(session.dir, f.Name)))
			}
			got := Rows(t, session, engine.Statement{SQL: "SELECT i, v::VARCHAR FROM read_parquet([" + strings.Join(paths, ", ") + "]) ORDER BY i"})
			require.Equal(t, want, got, "%s %v", name, layout)
		}
	}
	// A column without negative zeros is written with dictionaries.
	files := session.write(t, "SELECT [0.0, -1.5, NULL][1 + i % 3]::DOUBLE AS v FROM range(30000) r(i)", engine.FileLayout{})
	require.Less(t, files[0].Bytes, int64(30000))
}

// collectIDs collects the field ids, without those of the groups that Parquet adds
// to lists and maps.
func collectIDs(n schema.Node, path string, into map[string]int32) {
	if id := n.FieldID(); id >= 0 && path != "" {
		into[path] = id
	}
	g, ok := n.(*schema.GroupNode)
	for i := 0; ok && i < g.NumFields(); i++ {
		name := g.Field(i).Name()
		switch {
		case path == "":
			collectIDs(g.Field(i), name, into)
		case name == "list" || name == "key_value":
			collectIDs(g.Field(i), path, into)
		default:
			collectIDs(g.Field(i), path+"."+name, into)
		}
	}
}
