package dml_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

var lease = engine.Lease{Memory: 256 << 20, Threads: 1, TempBytes: 1 << 30}

// lake is a table with one key column in a directory, and an engine that reads it.
type lake struct {
	t   *testing.T
	dir string
	// template is the directory of the table in its initial state.
	template string
	eng      engine.Engine
	columns  []engine.Column
}

func newLake(t *testing.T) *lake {
	extensions := oracletest.Extensions(t)
	eng, err := duckdb.New(t.Context(), duckdb.Options{ExtensionDirs: []string{extensions}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	return &lake{t: t, eng: eng,
		columns: []engine.Column{{Name: "id", Type: sqltype.BigInt, Nullable: true}, {Name: "v", Type: sqltype.Varchar, Nullable: true}}}
}

// reset gives the table its initial rows.
func (l *lake) reset() {
	if l.template == "" {
		l.make()
		l.template = l.dir
	}
	l.dir = l.t.TempDir()
	require.NoError(l.t, os.CopyFS(l.dir, os.DirFS(l.template)))
}

// make creates the table, with ids 1 to 3 in two files.
func (l *lake) make() {
	l.dir = l.t.TempDir()
	bucket, err := file.New(l.dir)
	require.NoError(l.t, err)
	schema := delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "v", Type: delta.String, Nullable: true},
	}}
	schema, properties, err := constraint.Keys{Primary: []string{"id"}}.Write(schema, nil)
	require.NoError(l.t, err)
	_, err = delta.Create(l.t.Context(), bucket, delta.CreateOptions{Schema: schema, Properties: properties})
	require.NoError(l.t, err)
	for _, rows := range []string{`{"rows":[{"id":1,"v":"a"},{"id":2,"v":"b"}]}`, `{"rows":[{"id":3,"v":"c"}]}`} {
		_, err := l.insert(bucket, rows)
		require.NoError(l.t, err)
	}
}

// begin opens the table through a bucket, and a service session.
func (l *lake) begin(bucket objstore.Bucket) (dml.Table, dml.Options, func(), error) {
	quick := func(context.Context, int) error { return nil }
	snap, err := delta.Load(l.t.Context(), bucket, delta.Options{Attempts: 3, Pause: quick})
	if err != nil {
		return dml.Table{}, dml.Options{}, nil, err
	}
	set, err := constraint.Of(snap)
	require.NoError(l.t, err)
	scratch := l.t.TempDir()
	session, err := l.eng.Open(l.t.Context(), engine.SessionOptions{Roots: []string{l.dir}, Scratch: scratch})
	require.NoError(l.t, err)
	source := engine.Source{Location: l.dir, Version: snap.Version(), Identity: snap.Identity()}
	return dml.Table{Snapshot: snap, Source: source, Columns: l.columns, Rules: set},
		dml.Options{Session: session.(dml.Session), Lease: lease, Scratch: scratch}, func() { require.NoError(l.t, session.Close()) }, nil
}

func (l *lake) stage(o dml.Options, text string) dml.Rows {
	staged, err := ingest.Stage(l.t.Context(), strings.NewReader(text),
		ingest.Request{Format: staging.JSON, Columns: l.columns, Dir: o.Scratch})
	require.NoError(l.t, err)
	return dml.Rows{File: staged.File, Columns: l.columns, Count: staged.Rows}
}

func (l *lake) insert(bucket objstore.Bucket, text string) (dml.Result, error) {
	t, o, end, err := l.begin(bucket)
	if err != nil {
		return dml.Result{}, err
	}
	defer end()
	return dml.Insert(l.t.Context(), t, o, l.stage(o, text))
}

func (l *lake) merge(bucket objstore.Bucket, text string, matched dml.Matched) (dml.Result, error) {
	t, o, end, err := l.begin(bucket)
	if err != nil {
		return dml.Result{}, err
	}
	defer end()
	return dml.Merge(l.t.Context(), t,
		o, dml.MergeRows{Rows: l.stage(o, text), On: []string{"id"}, Matched: matched, Insert: matched != dml.MatchedDelete})
}

// rows returns the rows that the engine reads, and checks that every file the log
// names exists.
func (l *lake) rows() string {
	bucket, err := file.New(l.dir)
	require.NoError(l.t, err)
	snap, err := delta.Load(l.t.Context(), bucket, delta.Options{})
	require.NoError(l.t, err)
	for f := range snap.Files() {
		require.FileExists(l.t, filepath.Join(l.dir, f.Name))
	}
	session, err := l.eng.Open(l.t.Context(), engine.SessionOptions{Roots: []string{l.dir}})
	require.NoError(l.t, err)
	defer func() { require.NoError(l.t, session.Close()) }()
	source := engine.Source{Location: l.dir, Version: snap.Version(), Identity: snap.Identity()}
	result, err := session.Query(l.t.Context(), engine.Statement{
		SQL:     "SELECT coalesce(string_agg(id || v, ' ' ORDER BY id), '')::VARCHAR AS rows FROM " + source.Relation(),
		Sources: []engine.Source{source}, Lease: lease,
	})
	require.NoError(l.t, err)
	defer func() { require.NoError(l.t, result.Close()) }()
	batch, err := result.Next(l.t.Context())
	require.NoError(l.t, err)
	defer batch.Release()
	text := batch.Column(0).(*array.String).Value(0)
	_, err = result.Next(l.t.Context())
	require.ErrorIs(l.t, err, io.EOF)
	return strings.Clone(text)
}

// orphans returns the data files that no version names.
func (l *lake) orphans() int {
	bucket, err := file.New(l.dir)
	require.NoError(l.t, err)
	snap, err := delta.Load(l.t.Context(), bucket, delta.Options{})
	require.NoError(l.t, err)
	named := map[string]bool{}
	require.NoError(l.t, snap.EachRemoved(l.t.Context(), func(name string) { named[name] = true }))
	for f := range snap.Files() {
		named[f.Name] = true
	}
	found, err := filepath.Glob(filepath.Join(l.dir, "*.parquet"))
	require.NoError(l.t, err)
	n := 0
	for _, f := range found {
		if !named[filepath.Base(f)] {
			n++
		}
	}
	return n
}

// TestEveryCutOfAWriteLeavesAllOrNothing interrupts each request of a write in
// every way. The table then holds all of the change or none of it: an acknowledged
// change is committed and a refused one is not. A write that failed cleanly leaves
// no file behind if the store still answers.
func TestEveryCutOfAWriteLeavesAllOrNothing(t *testing.T) {
	l := newLake(t)
	const before = "1a 2b 3c"
	writes := []struct {
		name, after string
		do          func(objstore.Bucket) (dml.Result, error)
	}{
		{"insert", "1a 2b 3c 4d", func(b objstore.Bucket) (dml.Result, error) { return l.insert(b, `{"rows":[{"id":4,"v":"d"}]}`) }},
		{"merge", "1a 2x 3c 4d", func(b objstore.Bucket) (dml.Result, error) {
			return l.merge(b, `{"rows":[{"id":4,"v":"d"},{"id":2,"v":"x"}]}`, dml.MatchedUpdate)
		}},
		{"merge with delete", "1a", func(b objstore.Bucket) (dml.Result, error) {
			return l.merge(b, `{"rows":[{"id":2},{"id":3}]}`, dml.MatchedDelete)
		}},
	}
	for _, w := range writes {
		l.reset()
		bucket, err := file.New(l.dir)
		require.NoError(t, err)
		calm := objstore.NewFaults(bucket)
		_, err = w.do(calm)
		require.NoError(t, err)
		require.Equal(t, w.after, l.rows(), w.name)
		for n := 1; n <= calm.Count(); n++ {
			for _, cut := range []objstore.Cut{{Nth: n}, {Nth: n, After: true}, {Nth: n, Forever: true}} {
				name := fmt.Sprintf("%s, request %d, after %v, forever %v", w.name, n, cut.After, cut.Forever)
				l.reset()
				bucket, err := file.New(l.dir)
				require.NoError(t, err)
				_, err = w.do(objstore.NewFaults(bucket, cut))
				got := l.rows()
				switch {
				case err == nil:
					require.Equal(t, w.after, got, name)
				case errors.Is(err, delta.ErrCommitUnknown):
					require.Contains(t, []string{before, w.after}, got, name)
				default:
					require.Equal(t, before, got, name)
					if !cut.Forever {
						require.Zero(t, l.orphans(), name)
					}
				}
			}
		}
	}
}
