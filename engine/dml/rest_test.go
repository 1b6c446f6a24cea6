package dml_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

// stretchChange is a change of neighbouring rows, as testdata/rests.py knows it.
type stretchChange struct {
	Op   string `json:"op"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Step int64  `json:"step"`
	V    string `json:"v"`
}

// Changes of neighbouring rows of large files, which are cut around them, leave what
// they say: by delta-rs, which reads all rows, and by what DuckDB reads of each file
// beside its statistics.
func TestFilesAreCutAroundNeighbouringRows(t *testing.T) {
	o := largeTable(t)
	var done []stretchChange
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // reproducible
	for n := range 8 {
		c := stretchChange{Op: []string{"update", "delete", "merge"}[n%3], From: r.Int64N(119000), Step: 1 + r.Int64N(3), V: fmt.Sprintf("change %d", n)}
		c.To = c.From + r.Int64N(900)
		within := fmt.Sprintf("id BETWEEN %d AND %d", c.From, c.To)
		var err error
		switch c.Op {
		case "update":
			err = o.update(within, "'"+c.V+"'")
		case "delete":
			err = o.delete(within)
		default:
			err = o.mergeStretch(c)
		}
		require.NoError(t, err)
		done = append(done, c)
		var found struct {
			Wrong []string
			Rests int
		}
		rests(t, done, &found, "check", o.dir)
		require.Empty(t, found.Wrong, "after %+v", done)
		require.Positive(t, found.Rests, "no file was cut")
	}
}

// largeTable is a table of testdata/rests.py.
func largeTable(t *testing.T) *tableOf {
	t.Helper()
	o := &tableOf{t: t, dir: t.TempDir(), eng: newTestEngine(t), scratch: t.TempDir}
	rests(t, nil, nil, "make", o.dir, "1")
	var err error
	o.bucket, err = file.New(o.dir)
	require.NoError(t, err)
	for _, f := range o.load().Schema().Fields {
		o.columns = append(o.columns, engine.Column{Name: f.Name, Type: delta.DuckDBType(f.Type), Nullable: true})
	}
	return o
}

// Files of our own are cut between row groups, and what is left keeps its partition under
// the name that the schema has for it.
func TestMappedPartitionsAreCut(t *testing.T) {
	o := newTableOf(t, newTestEngine(t), kind{mapping: "name", partitioned: true}, t.TempDir)
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // reproducible
	items := make([]item, 300_000)
	for i := range items {
		items[i] = item{ID: int64(i), V: ptr(strconv.FormatUint(r.Uint64(), 36) + strconv.FormatUint(r.Uint64(), 36)), P: ptr("x")}
		o.rows[items[i].ID] = items[i]
	}
	require.NoError(t, o.insert(items...))
	require.NoError(t, o.update("id BETWEEN 1000 AND 1010", "'new'"))
	for id := int64(1000); id <= 1010; id++ {
		o.rows[id] = item{ID: id, V: ptr("new"), P: ptr("x")}
	}
	files := 0
	for f := range o.load().Files() {
		files++
		require.Equal(t, map[string]*string{"p": ptr("x")}, o.load().PartitionValues(f))
	}
	require.Equal(t, 2, files, "the file was cut")
	require.True(t, slices.Equal(o.want(), o.read(true)), "other rows")
}

// A file that was written before a column was added is not cut: files that we add have
// every column, which readers of many files rely on.
func TestFilesThatLackAColumnAreWrittenAnew(t *testing.T) {
	o := largeTable(t)
	snap := o.load()
	a := snap.Alter()
	require.NoError(t, a.AddColumn(nil, delta.Field{Name: "extra", Type: delta.Long, Nullable: true}))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "ADD COLUMNS"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
	o.columns = append(o.columns, engine.Column{Name: "extra", Type: "BIGINT", Nullable: true})
	require.NoError(t, o.update("id BETWEEN 59900 AND 60100", "'new'")) // in both files
	for f := range o.load().Files() {
		opened, err := parquetcut.Open(t.Context(), o.bucket, f.Name, f.Add.Size)
		require.NoError(t, err)
		require.Contains(t, opened.Columns(), "extra")
	}
	require.NoError(t, o.delete("id BETWEEN 100 AND 200"))
}

// Where what was cut turns out to be of no use, it is gone before the file is written anew:
// both together may be more than the disk bears.
func TestWhatWasCutInVainIsGone(t *testing.T) {
	o := largeTable(t)
	var scratch string
	o.scratch = func() string { scratch = t.TempDir(); return scratch }
	pieces := func() (names []string) {
		for _, name := range []string{"gap.parquet", "rest.parquet", "rest.parquet.later"} {
			found, err := filepath.Glob(filepath.Join(scratch, "*", name))
			require.NoError(t, err)
			names = append(names, found...)
		}
		return names
	}
	require.NoError(t, o.update("id BETWEEN 30000 AND 30100", "'new'"))
	require.NotEmpty(t, pieces(), "the file was cut")
	cut := 0
	for f := range o.load().Files() {
		path := filepath.Join(o.dir, filepath.FromSlash(f.Name))
		content, err := os.ReadFile(path) //nolint:gosec // of the test
		require.NoError(t, err)
		if len(content) < 4<<20 {
			continue
		}
		cut++
		for at := len(content) / 2; at < len(content)*9/10; at += 512 { // in its last column, which is most of it
			content[at] ^= 0xff
		}
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	require.Positive(t, cut)
	require.Error(t, o.delete("id BETWEEN 90000 AND 90100"))
	require.Empty(t, pieces())
}

// A plan that lost a race is made again over the same scratch directory, in which what the
// one before cut still lies.
func TestPlansThatAreMadeAgainCutFiles(t *testing.T) {
	o := largeTable(t)
	scratch := t.TempDir()
	o.scratch = func() string { return scratch }
	for n := range 3 {
		before := o.load().Version()
		require.NoError(t, o.delete(fmt.Sprintf("id BETWEEN %d AND %[1]d + 100", 10000+n*15000)))
		require.Equal(t, before+1, o.load().Version())
	}
	gaps, err := filepath.Glob(filepath.Join(scratch, "*", "gap.parquet"))
	require.NoError(t, err)
	require.Len(t, gaps, 3)
}

// A file of which the engine does not take what is left is written anew. Where it does not
// take the file itself either, that is the error, and nothing is left of the attempt.
func TestDamageBesideTheGapIsToldAsSuch(t *testing.T) {
	o := largeTable(t)
	var scratch string
	o.scratch = func() string { scratch = t.TempDir(); return scratch }
	for f := range o.load().Files() {
		path := filepath.Join(o.dir, filepath.FromSlash(f.Name))
		reader, err := pqfile.OpenParquetFile(path, false)
		require.NoError(t, err)
		meta := reader.MetaData()
		chunk, err := meta.RowGroup(0).ColumnChunk(meta.Schema.ColumnIndexByName("float"))
		require.NoError(t, err)
		at, size := chunk.DataPageOffset(), chunk.TotalCompressedSize()
		require.NoError(t, reader.Close())
		content, err := os.ReadFile(path) //nolint:gosec // of the test
		require.NoError(t, err)
		for i := at + 64; i < at+size/8; i += 64 { // far before the rows that go
			content[i] ^= 0xff
		}
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	err := o.delete("id BETWEEN 114000 AND 114100")
	var refused *engine.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, engine.KindIO, refused.Kind, "%v", err)
	require.Empty(t, o.unnamed())
	outputs, err := filepath.Glob(filepath.Join(scratch, "*", "*.parquet"))
	require.NoError(t, err)
	require.Empty(t, outputs)
}

// Whatever request of a change that cuts a file is cut off: the table holds all of the
// change or none, and a clean refusal leaves no file behind where the store still answers.
func TestEveryCutOfAWriteThatCutsFiles(t *testing.T) {
	template := largeTable(t)
	sum := func(o *tableOf) []string {
		source := o.source(o.load())
		return texts(t, o.eng, o.dir, "SELECT concat_ws('|', count(*), count(*) FILTER (v = 'new'), sum(hash(id, v)))::VARCHAR FROM "+source.Relation(), source)
	}
	begin := func(cuts ...objstore.Cut) (*tableOf, *objstore.Faults) {
		o := *template
		o.dir = t.TempDir()
		linkTree(t, template.dir, o.dir)
		bucket, err := file.New(o.dir)
		require.NoError(t, err)
		faults := objstore.NewFaults(bucket, cuts...)
		o.bucket = faults
		return &o, faults
	}
	write := func(o *tableOf) error { return o.update("id BETWEEN 59900 AND 60100", "'new'") } // in both files
	before := sum(template)
	calm, requests := begin()
	require.NoError(t, write(calm))
	after := sum(calm)
	require.NotEqual(t, before, after)
	for n := 1; n <= requests.Count(); n++ {
		for _, cut := range []objstore.Cut{{Nth: n}, {Nth: n, After: true}, {Nth: n, Forever: true}} {
			what := fmt.Sprintf("request %d of %d, after %v, forever %v", n, requests.Count(), cut.After, cut.Forever)
			o, _ := begin(cut)
			err := write(o)
			o.bucket, _ = file.New(o.dir)
			switch got := sum(o); {
			case err == nil:
				require.Equal(t, after, got, what)
			case errors.Is(err, delta.ErrCommitUnknown):
				require.Contains(t, [][]string{before, after}, got, what)
			default:
				require.Equal(t, before, got, what)
				if unnamed := o.unnamed(); !cut.Forever {
					require.Empty(t, unnamed, what)
				}
			}
		}
	}
}

// linkTree is a copy of a folder whose files never change.
func linkTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o750)
		}
		return os.Link(path, filepath.Join(to, name))
	}))
}

// mergeStretch merges rows with the first three columns.
func (o *tableOf) mergeStretch(c stretchChange) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	var body strings.Builder
	for id := c.From; id <= c.To; id += c.Step {
		fmt.Fprintf(&body, `{"id":%d,"v":%q,"p":"m"}`+"\n", id, c.V)
	}
	staged, err := ingest.Stage(context.Background(), strings.NewReader(body.String()), ingest.Request{Format: ingest.NDJSON, Columns: o.columns[:3], Dir: opts.Scratch})
	require.NoError(o.t, err)
	_, err = dml.Merge(context.Background(), table, opts, dml.MergeRows{
		Rows: dml.Rows{File: staged.File, Columns: o.columns[:3], Count: staged.Rows}, On: []string{"id"}, Matched: dml.MatchedUpdate, Insert: true,
	})
	return err
}

// rests runs testdata/rests.py.
func rests(t *testing.T, input, output any, args ...string) {
	t.Helper()
	in, err := json.Marshal(input)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), oracletest.Python(t), append([]string{"-B", "testdata/rests.py"}, args...)...) //nolint:gosec // the interpreter of the tests
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	if output != nil {
		require.NoError(t, json.Unmarshal(out, output))
	}
}
