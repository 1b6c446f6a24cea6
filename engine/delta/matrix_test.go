package delta_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// operation is one kind of transaction on a table of two files: A, in partition
// a, and B, in partition b.
type operation struct {
	name string
	// removes and adds are the files that it removes and adds. An added file "A1" is in
	// partition a.
	removes, adds string
	rearranges    bool
	// reads are the partitions that it depends on, or "*".
	reads string
	// extra performs its other actions.
	extra func(*delta.Txn, *delta.Snapshot)
}

var operations = []operation{
	{name: "append", adds: "A1"},
	{name: "append_elsewhere", adds: "B1"},
	{name: "append_as_app", adds: "A1", extra: func(t *delta.Txn, _ *delta.Snapshot) { t.SetTransaction("app", 1) }},
	{name: "delete", reads: "a", removes: "A"},
	{name: "update", reads: "a", removes: "A", adds: "A1"},
	{name: "update_elsewhere", reads: "b", removes: "B", adds: "B1"},
	{name: "merge", reads: "*", removes: "A", adds: "A1 B1"},
	{name: "optimize", removes: "A", adds: "A1", rearranges: true},
	{name: "optimize_elsewhere", removes: "B", adds: "B1", rearranges: true},
	{name: "overwrite", reads: "*", removes: "A B", adds: "A1"},
	{name: "metadata", extra: func(t *delta.Txn, s *delta.Snapshot) { setProperty(t, s, "owner", "me") }},
	{name: "constraint", reads: "*", extra: func(t *delta.Txn, s *delta.Snapshot) {
		m := setProperty(t, s, "delta.constraints.positive", "id > 0")
		p, _ := s.ProtocolFor(s.Schema(), m.Configuration)
		t.SetProtocol(p)
	}},
	{name: "feature", extra: func(t *delta.Txn, s *delta.Snapshot) {
		p, _ := s.ProtocolFor(s.Schema(), map[string]string{"delta.enableDeletionVectors": "true"})
		t.SetProtocol(p)
	}},
}

func setProperty(t *delta.Txn, s *delta.Snapshot, name, value string) action.Metadata {
	m := s.Metadata()
	m.Configuration = map[string]string{name: value}
	for k, v := range s.Properties() {
		m.Configuration[k] = v
	}
	t.SetMetadata(m)
	return m
}

// matrices hold the outcome of the transaction in the row if the one in the column
// committed first and both began on the same version. It commits (.) or fails with a
// concurrent append (A), delete of a read file (R), delete of a deleted file (D),
// metadata change (M), protocol change (P), or transaction of the same application (T).
// Columns have the order of the rows.
var matrices = []struct {
	name        string
	partitioned bool
	isolation   string
	cells       string
}{
	{"unpartitioned, Serializable", false, "Serializable", `
		append             . . . . . . . . . . M P .
		append_elsewhere   . . . . . . . . . . M P .
		append_as_app      . . T . . . . . . . M P .
		delete             A A A D A A A D . A M P .
		update             A A A D A A A D . A M P .
		update_elsewhere   A A A . A A A . D A M P .
		merge              A A A R A A A R R A M P .
		optimize           . . . D D . D D . D M P .
		optimize_elsewhere . . . . . D . . D D M P .
		overwrite          A A A R A A A R R A M P .
		metadata           A A A . A A A . . A M P .
		constraint         A A A R A A A R R A M P P
		feature            A A A . A A A . . A M P P`},
	{"unpartitioned, WriteSerializable", false, "WriteSerializable", `
		append             . . . . . . . . . . M P .
		append_elsewhere   . . . . . . . . . . M P .
		append_as_app      . . T . . . . . . . M P .
		delete             . . . D A A A D . A M P .
		update             . . . D A A A D . A M P .
		update_elsewhere   . . . . A A A . D A M P .
		merge              . . . R A A A R R A M P .
		optimize           . . . D D . D D . D M P .
		optimize_elsewhere . . . . . D . . D D M P .
		overwrite          . . . R A A A R R A M P .
		metadata           A A A . A A A . . A M P .
		constraint         A A A R A A A R R A M P P
		feature            . . . . A A A . . A M P P`},
	{"partitioned, Serializable", true, "Serializable", `
		append             . . . . . . . . . . M P .
		append_elsewhere   . . . . . . . . . . M P .
		append_as_app      . . T . . . . . . . M P .
		delete             A . A D A . A D . A M P .
		update             A . A D A . A D . A M P .
		update_elsewhere   . A . . . A A . D D M P .
		merge              A A A R A A A R R A M P .
		optimize           . . . D D . D D . D M P .
		optimize_elsewhere . . . . . D . . D D M P .
		overwrite          A A A R A A A R R A M P .
		metadata           A A A . A A A . . A M P .
		constraint         A A A R A A A R R A M P P
		feature            A A A . A A A . . A M P P`},
	{"partitioned, WriteSerializable", true, "WriteSerializable", `
		append             . . . . . . . . . . M P .
		append_elsewhere   . . . . . . . . . . M P .
		append_as_app      . . T . . . . . . . M P .
		delete             . . . D A . A D . A M P .
		update             . . . D A . A D . A M P .
		update_elsewhere   . . . . . A A . D D M P .
		merge              . . . R A A A R R A M P .
		optimize           . . . D D . D D . D M P .
		optimize_elsewhere . . . . . D . . D D M P .
		overwrite          . . . R A A A R R A M P .
		metadata           A A A . A A A . . A M P .
		constraint         A A A R A A A R R A M P P
		feature            . . . . A A A . . A M P P`},
}

var cellErrors = map[string]error{
	".": nil, "A": delta.ErrConcurrentAppend, "R": delta.ErrConcurrentDeleteRead, "D": delta.ErrConcurrentDeleteDelete,
	"M": delta.ErrMetadataChanged, "P": delta.ErrProtocolChanged, "T": delta.ErrConcurrentTransaction,
}

// begin plans an operation. tag distinguishes the files of two transactions.
func (o operation) begin(tb testing.TB, s *delta.Snapshot, tag string) *delta.Txn {
	tb.Helper()
	t := s.Begin(delta.Operation{Name: strings.ToUpper(o.name), Duties: []delta.Duty{delta.EvaluatesChecks}})
	partitioned := len(s.PartitionColumns()) > 0
	live := map[string]delta.File{}
	for f := range s.Files() {
		live[f.Name] = f
	}
	for _, name := range strings.Fields(o.removes) {
		require.NoError(tb, t.Remove(o.rearranges, live[name]))
	}
	for _, name := range strings.Fields(o.adds) {
		f := delta.AddFile{Name: name + tag, Size: 1, ModTime: time.Unix(1, 0), Stats: `{"numRecords":1}`, Rearranged: o.rearranges}
		if partitioned {
			p := strings.ToLower(name[:1])
			f.PartitionValues = map[string]*string{"p": &p}
		}
		require.NoError(tb, t.Add(f))
	}
	switch {
	case o.reads == "*":
		t.ReadWholeTable()
	case o.reads != "" && partitioned:
		t.ReadPartitions(func(values map[string]*string) bool { return *values["p"] == o.reads })
	}
	if o.extra != nil {
		o.extra(t, s)
	}
	return t
}

// apply returns the names of the live files after the operation.
func (o operation) apply(live []string, tag string) []string {
	live = slices.Clone(live)
	for _, name := range strings.Fields(o.removes) {
		live = slices.DeleteFunc(live, func(l string) bool { return l == name })
	}
	for _, name := range strings.Fields(o.adds) {
		live = append(live, name+tag)
	}
	slices.Sort(live)
	return live
}

// twoFiles returns the first two commits of the table.
func twoFiles(tb testing.TB, partitioned bool, isolation string) []string {
	b := mem.New()
	c := delta.CreateOptions{Properties: map[string]string{"delta.isolationLevel": isolation}}
	if partitioned {
		c.Schema = delta.Struct{Fields: append(slices.Clone(twoColumns.Fields), delta.Field{Name: "p", Type: delta.String, Nullable: true})}
		c.PartitionColumns = []string{"p"}
	}
	s := mustCreate(tb, b, c)
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	for _, name := range []string{"A", "B"} {
		f := delta.AddFile{Name: name, Size: 1, ModTime: time.Unix(1, 0), Stats: `{"numRecords":1}`}
		if p := strings.ToLower(name); partitioned {
			f.PartitionValues = map[string]*string{"p": &p}
		}
		require.NoError(tb, txn.Add(f))
	}
	_, err := txn.Commit(tb.Context())
	require.NoError(tb, err)
	var bodies []string
	for v := range int64(2) {
		bodies = append(bodies, contentOf(tb, b, logpath.CommitName(v)))
	}
	return bodies
}

// pair lets the winner commit between the begin and the commit of the loser.
type pair struct {
	commits       []string
	winner, loser operation
}

func (p pair) run(t *testing.T, b objstore.Bucket, cuts ...objstore.Cut) (s *delta.Snapshot, lost error) {
	t.Helper()
	mustLog(t, b, p.commits...)
	opts := testOptions(t)
	opts.Warn = func(context.Context, delta.Warning) {}
	first, err := delta.Load(t.Context(), b, opts)
	require.NoError(t, err)
	second, err := delta.Load(t.Context(), objstore.NewFaults(b, cuts...), opts)
	require.NoError(t, err)
	loser := p.loser.begin(t, second, "l")
	_, err = p.winner.begin(t, first, "w").Commit(t.Context())
	require.NoError(t, err)
	after, lost := loser.Commit(t.Context())
	s, err = delta.Load(t.Context(), b, opts)
	require.NoError(t, err)
	if lost == nil {
		require.Equal(t, viewOf(after), viewOf(s))
	}
	return s, lost
}

// check compares the outcome with an entry of the matrix.
func (p pair) check(t *testing.T, cell string, s *delta.Snapshot, lost error) {
	t.Helper()
	want, known := cellErrors[cell]
	require.True(t, known, cell)
	name := fmt.Sprintf("%s after %s", p.loser.name, p.winner.name)
	live := p.winner.apply([]string{"A", "B"}, "w")
	version := int64(2)
	if want == nil {
		require.NoError(t, lost, name)
		live, version = p.loser.apply(live, "l"), 3
	} else {
		require.ErrorIs(t, lost, want, name)
		terminal := errors.Is(want, delta.ErrProtocolChanged) || errors.Is(want, delta.ErrConcurrentTransaction)
		require.Equal(t, !terminal, errors.Is(lost, delta.ErrConflict), name)
	}
	require.Equal(t, live, fileNames(s), name)
	require.Equal(t, version, s.Version(), name)
}

// eachPair visits every entry of a matrix.
func eachPair(t *testing.T, commits []string, cells string, visit func(p pair, cell string)) {
	rows := strings.Split(strings.TrimSpace(cells), "\n")
	require.Len(t, rows, len(operations))
	for i, row := range rows {
		fields := strings.Fields(row)
		require.Equal(t, operations[i].name, fields[0])
		require.Len(t, fields, len(operations)+1, fields[0])
		for j, cell := range fields[1:] {
			visit(pair{commits: commits, winner: operations[j], loser: operations[i]}, cell)
		}
	}
}

// disturbances are failures of the store that must not affect the outcome of a pair: an
// unknown outcome is looked up first and judged like a known one.
var disturbances = map[string][]objstore.Cut{
	"calm":                            nil,
	"reply of the lost race is lost":  {{Nth: 1, After: true, Ops: commitOps, Match: isCommit}},
	"lost race looks like a conflict": {{Nth: 1, Err: objstore.ErrUnknown, Ops: commitOps, Match: isCommit}},
	"reply of the second try is lost": {{Nth: 2, After: true, Ops: commitOps, Match: isCommit}},
	"second try does not arrive":      {{Nth: 2, Err: objstore.ErrUnknown, Ops: commitOps, Match: isCommit}},
	"its size cannot be asked":        {{Nth: 3, Ops: []objstore.Op{objstore.OpStat}, Match: isCommit}},
	"everything that follows is lost": {{Nth: 1, Forever: true,
		Match: func(n string) bool { return logpath.Parse(n).Kind == logpath.Checksum }}},
	"another reply, with ErrExists": {{Nth: 2, After: true, Err: objstore.ErrExists, Ops: commitOps, Match: isCommit}},
	"the replies of both are lost": {{Nth: 1, After: true, Ops: commitOps, Match: isCommit},
		{Nth: 2, After: true, Ops: commitOps, Match: isCommit}},
}

var commitOps = []objstore.Op{objstore.OpPutIfAbsent}

func isCommit(name string) bool { return logpath.Parse(name).Kind == logpath.Commit }

func TestConflictMatrix(t *testing.T) {
	for i, m := range matrices {
		commits := twoFiles(t, m.partitioned, m.isolation)
		for name, cuts := range disturbances {
			if i != 2 && len(cuts) > 0 {
				continue // the rules do not know of disturbances: one matrix shows them all
			}
			t.Run(m.name+", "+name, func(t *testing.T) {
				eachPair(t, commits, m.cells, func(p pair, cell string) {
					s, lost := p.run(t, mem.New(), cuts...)
					p.check(t, cell, s, lost)
				})
			})
		}
	}
}

// TestConflictMatrixRefused checks that nothing is written if the store refuses the
// request.
func TestConflictMatrixRefused(t *testing.T) {
	m := matrices[0]
	eachPair(t, twoFiles(t, m.partitioned, m.isolation), m.cells, func(p pair, _ string) {
		s, lost := p.run(t, mem.New(), objstore.Cut{Nth: 1, Ops: commitOps, Match: isCommit})
		require.ErrorIs(t, lost, objstore.ErrUnavailable)
		require.NotErrorIs(t, lost, delta.ErrCommitUnknown)
		require.EqualValues(t, 2, s.Version())
		require.Equal(t, p.winner.apply([]string{"A", "B"}, "w"), fileNames(s))
	})
}

// TestConflictMatrixUnknown checks that the error identifies the transaction if the
// store becomes unavailable after a request that may have succeeded.
func TestConflictMatrixUnknown(t *testing.T) {
	m := matrices[2]
	eachPair(t, twoFiles(t, m.partitioned, m.isolation), m.cells, func(p pair, cell string) {
		if cell != "." {
			return
		}
		b := mem.New()
		s, lost := p.run(t, b, objstore.Cut{Nth: 2, After: true, Forever: true, Ops: commitOps, Match: isCommit},
			objstore.Cut{Nth: 2, Forever: true, Ops: []objstore.Op{objstore.OpGet},
				Match: func(n string) bool { return n == logpath.CommitName(3) }})
		var u *delta.UnknownError
		require.ErrorAs(t, lost, &u, "%s after %s", p.loser.name, p.winner.name)
		require.EqualValues(t, 3, u.Version)
		landed, err := delta.LookupCommit(t.Context(), b, u.Version, u.TxnID)
		require.NoError(t, err)
		require.True(t, landed)
		require.EqualValues(t, 3, s.Version())
	})
}

func TestConflictMatrixOnDisk(t *testing.T) {
	m := matrices[3]
	commits := twoFiles(t, m.partitioned, m.isolation)
	eachRow(t, commits, m.cells, func(t *testing.T, p pair, cell string) {
		b, err := file.New(t.TempDir())
		require.NoError(t, err)
		s, lost := p.run(t, b)
		p.check(t, cell, s, lost)
	})
}

func TestConflictMatrixOnS3(t *testing.T) {
	server := s3test.Start(t)
	bucket, err := s3.New(s3.Options{
		Bucket: server.Bucket(t), Region: s3test.Region, Endpoint: server.Endpoint, PathStyle: true,
		Credential: s3.Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	m := matrices[0]
	commits := twoFiles(t, m.partitioned, m.isolation)
	eachRow(t, commits, m.cells, func(t *testing.T, p pair, cell string) {
		s, lost := p.run(t, objstore.Prefix(bucket, p.loser.name+"-"+p.winner.name))
		p.check(t, cell, s, lost)
	})
}

// eachRow is eachPair with parallel rows, for slow stores.
func eachRow(t *testing.T, commits []string, cells string, visit func(t *testing.T, p pair, cell string)) {
	rows := make(map[string][]func(*testing.T))
	eachPair(t, commits, cells, func(p pair, cell string) {
		rows[p.loser.name] = append(rows[p.loser.name], func(t *testing.T) { visit(t, p, cell) })
	})
	for name, cells := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, run := range cells {
				run(t)
			}
		})
	}
}

func contentOf(tb testing.TB, b objstore.Bucket, name string) string {
	tb.Helper()
	r, err := b.Get(tb.Context(), name)
	require.NoError(tb, err)
	body, err := io.ReadAll(r)
	require.NoError(tb, errors.Join(err, r.Close()))
	return string(body)
}
