package delta_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

func TestMain(m *testing.M) {
	if raced {
		_ = flag.Set("rapid.checks", "30") // the name is known: the tests import rapid
	}
	goleak.VerifyTestMain(m)
}

var twoColumns = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true},
	{Name: "s", Type: delta.String, Nullable: true},
}}

// testOptions count ids and advance a clock, so that two runs write the same bytes. The
// clock is behind that of the stores, so no file of the log ever expires.
func testOptions(tb testing.TB) delta.Options {
	var ids, ticks atomic.Int64
	start := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	return delta.Options{
		NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids.Add(1)) },
		Clock: func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Millisecond) },
		Warn: func(_ context.Context, w delta.Warning) {
			tb.Errorf("warning at %s of version %d: %v", w.Step, w.Version, w.Err)
		},
		Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

func mustCreate(tb testing.TB, b objstore.Bucket, c delta.CreateOptions) *delta.Snapshot {
	tb.Helper()
	if c.Schema.Fields == nil {
		c.Schema = twoColumns
	}
	if c.Options.NewID == nil {
		c.Options = testOptions(tb)
	}
	s, err := delta.Create(tb.Context(), b, c)
	require.NoError(tb, err)
	return s
}

var fileNumber atomic.Int64

// mustWrite writes a Parquet file with rows of (id, s) and returns its description.
func mustWrite(tb testing.TB, b objstore.Bucket, rows ...int64) delta.AddFile {
	tb.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	for _, n := range rows {
		rb.Field(0).(*array.Int64Builder).Append(n)
		rb.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("row %d", n))
	}
	rec := rb.NewRecordBatch()
	defer rec.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	require.NoError(tb, err)
	require.NoError(tb, w.Write(rec))
	require.NoError(tb, w.Close())
	f := delta.AddFile{
		Name:    fmt.Sprintf("part-00000-%06d-c000.parquet", fileNumber.Add(1)),
		Size:    int64(buf.Len()),
		ModTime: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Stats:   fmt.Sprintf(`{"numRecords":%d}`, len(rows)),
	}
	require.NoError(tb, b.Put(tb.Context(), f.Name, &buf, f.Size))
	return f
}

func mustAppend(tb testing.TB, s *delta.Snapshot, rows ...int64) *delta.Snapshot {
	tb.Helper()
	t := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(tb, t.Add(mustWrite(tb, s.Bucket(), rows...)))
	next, err := t.Commit(tb.Context())
	require.NoError(tb, err)
	return next
}

func mustPut(tb testing.TB, b objstore.Bucket, name, content string) {
	tb.Helper()
	require.NoError(tb, b.Put(tb.Context(), name, strings.NewReader(content), int64(len(content))))
}

// mustLog writes commits from version 0 on.
func mustLog(tb testing.TB, b objstore.Bucket, commits ...string) {
	tb.Helper()
	for v, body := range commits {
		mustPut(tb, b, logpath.CommitName(int64(v)), body)
	}
}

// view holds what two snapshots of one version must have in common.
type view struct {
	Version      int64
	ID           string
	Identity     string
	Protocol     any
	Metadata     any
	Files        map[string]any
	Tombstones   map[string]any
	Transactions any
	Domains      any
	Bytes        int64
	Count        int
}

func viewOf(s *delta.Snapshot) view {
	v := view{
		Version: s.Version(), ID: s.TableID(), Identity: s.Identity(),
		Protocol: s.Protocol(), Metadata: s.Metadata(), Bytes: s.TotalBytes(), Count: s.NumFiles(),
		Files: map[string]any{}, Tombstones: map[string]any{},
		Transactions: s.SetTransactions(), Domains: s.DomainMetadata(),
	}
	for f := range s.Files() {
		add := *f.Add
		add.DataChange = false // a checkpoint does not keep it
		v.Files[f.Name+"|"+add.DeletionVector.UniqueID()] = add
	}
	for r := range s.Tombstones() {
		remove := *r
		remove.DataChange, remove.Stats, remove.Tags = false, "", nil
		v.Tombstones[r.Path+"|"+r.DeletionVector.UniqueID()] = remove
	}
	return v
}
