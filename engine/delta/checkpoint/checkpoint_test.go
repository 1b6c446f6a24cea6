package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
)

func write(tb testing.TB, actions []action.Action) []byte {
	tb.Helper()
	var buf bytes.Buffer
	sum, err := checkpoint.Write(&buf, checkpoint.Form{}, slices.Values(actions))
	require.NoError(tb, err)
	require.EqualValues(tb, len(actions), sum.Actions)
	return buf.Bytes()
}

func read(ctx context.Context, body []byte) ([]action.Action, error) {
	var got []action.Action
	err := checkpoint.Read(ctx, bytes.NewReader(body), func(batch []action.Action) error {
		got = append(got, batch...)
		return nil
	})
	return got, err
}

func every() []action.Action {
	text, size, offset := "v", int64(math.MaxInt64), int32(0)
	dv := &action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 40, Cardinality: 6}
	return []action.Action{
		&action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{}, WriterFeatures: []string{"a", "b"}},
		&action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2},
		&action.Metadata{
			ID: "i", Name: new("n"), Description: new(""), Format: action.Format{Provider: "parquet", Options: map[string]string{}},
			SchemaString: "{}", PartitionColumns: []string{"p"}, Configuration: map[string]string{"k": "", "l": "m"}, CreatedTime: new(int64(5)),
		},
		&action.Txn{AppID: "a", Version: -1, LastUpdated: new(int64(7))},
		&action.Txn{AppID: "b", Version: math.MaxInt64},
		&action.DomainMetadata{Domain: "d", Configuration: "{}"},
		&action.Add{
			Path: "a%20b", PartitionValues: map[string]*string{"p": nil, "q": &text}, Size: math.MaxInt64, ModificationTime: -1,
			Stats: `{"numRecords":1}`, Tags: map[string]*string{"t": &text}, DeletionVector: dv,
			BaseRowID: &size, DefaultRowCommitVersion: &size, ClusteringProvider: "c",
		},
		&action.Add{Path: "b", PartitionValues: map[string]*string{}},
		&action.Remove{
			Path: "c", DeletionTimestamp: new(int64(9)), ExtendedFileMetadata: new(true), PartitionValues: map[string]*string{"p": nil},
			Size: &size, DeletionVector: dv,
		},
		&action.Remove{Path: "d", DeletionTimestamp: new(int64(9))},
	}
}

func TestRoundTrip(t *testing.T) {
	want := every()
	got, err := read(t.Context(), write(t, want))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
}

func TestManyBatches(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 17000} {
		var want []action.Action
		for i := range n {
			want = append(want, &action.Add{Path: fmt.Sprintf("f%d", i), PartitionValues: map[string]*string{}, Size: int64(i)})
		}
		got, err := read(t.Context(), write(t, want))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got), "%d actions", n)
	}
}

func TestEmitErrorEndsReading(t *testing.T) {
	stop := errors.New("stop")
	err := checkpoint.Read(t.Context(), bytes.NewReader(write(t, every())), func([]action.Action) error { return stop })
	require.ErrorIs(t, err, stop)
}

func TestWriteRefusesOtherActions(t *testing.T) {
	_, err := checkpoint.Write(new(bytes.Buffer), checkpoint.Form{}, slices.Values([]action.Action{&action.CDC{Path: "x"}}))
	require.Error(t, err)
}

// parquetOf writes one record of the given struct columns.
func parquetOf(tb testing.TB, schema *arrow.Schema, jsonRows string) []byte {
	tb.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(jsonRows)))
	require.NoError(tb, err)
	defer rec.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	require.NoError(tb, err)
	require.NoError(tb, w.Write(rec))
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func TestMissingColumnsAreNull(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "add", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "path", Type: arrow.BinaryTypes.String},
			arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Int64},
			arrow.Field{Name: "novelty", Type: arrow.PrimitiveTypes.Int64, Nullable: true})},
		{Name: "newAction", Nullable: true, Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.String})},
	}, nil)
	got, err := read(t.Context(),
		parquetOf(t, schema, `[{"add":{"path":"a","size":3,"novelty":1},"newAction":null},{"add":null,"newAction":{"x":"y"}}]`))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]action.Action{&action.Add{Path: "a", Size: 3}}, got))
}

func TestWrongShapesAreCorrupt(t *testing.T) {
	text := arrow.BinaryTypes.String
	long := arrow.PrimitiveTypes.Int64
	add := func(fields ...arrow.Field) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "add", Nullable: true, Type: arrow.StructOf(fields...)}}, nil)
	}
	rows := map[string]struct {
		schema *arrow.Schema
		json   string
		want   error
	}{
		"add is no struct": {arrow.NewSchema([]arrow.Field{{Name: "add", Type: text}}, nil), `[{"add":"x"}]`, checkpoint.ErrCorrupt},
		"path is a number": {add(arrow.Field{Name: "path", Type: long}), `[{"add":{"path":1}}]`, checkpoint.ErrCorrupt},
		"size is text": {
			add(arrow.Field{Name: "path", Type: text}, arrow.Field{Name: "size", Type: text}),
			`[{"add":{"path":"a","size":"1"}}]`, checkpoint.ErrCorrupt,
		},
		"no size": {add(arrow.Field{Name: "path", Type: text}), `[{"add":{"path":"a"}}]`, action.ErrMalformed},
		"two actions in a row": {
			arrow.NewSchema([]arrow.Field{
				{Name: "txn", Nullable: true, Type: arrow.StructOf(arrow.Field{Name: "appId", Type: text}, arrow.Field{Name: "version", Type: long})},
				{Name: "domainMetadata", Nullable: true, Type: arrow.StructOf(arrow.Field{Name: "domain", Type: text})},
			}, nil),
			`[{"txn":{"appId":"a","version":1},"domainMetadata":{"domain":"d"}}]`, checkpoint.ErrCorrupt,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := read(t.Context(), parquetOf(t, row.schema, row.json))
			require.ErrorIs(t, err, row.want)
		})
	}
}

func TestParsedStatistics(t *testing.T) {
	nullable := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	bounds := arrow.StructOf(
		nullable("l", arrow.PrimitiveTypes.Int64), nullable("d", arrow.PrimitiveTypes.Date32),
		nullable("ts", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}),
		nullable("dec", &arrow.Decimal128Type{Precision: 10, Scale: 2}),
		nullable("st", arrow.StructOf(nullable("x", arrow.BinaryTypes.String))))
	schema := arrow.NewSchema([]arrow.Field{nullable("add", arrow.StructOf(
		nullable("path", arrow.BinaryTypes.String), nullable("size", arrow.PrimitiveTypes.Int64),
		nullable("stats_parsed", arrow.StructOf(
			nullable("numRecords", arrow.PrimitiveTypes.Int64), nullable("tightBounds", arrow.FixedWidthTypes.Boolean),
			nullable("minValues", bounds),
			nullable("nullCount", arrow.StructOf(nullable("l", arrow.PrimitiveTypes.Int64)))))))}, nil)
	got, err := read(t.Context(),
		parquetOf(t, schema, `[{"add":{"path":"a","size":1,"stats_parsed":{"numRecords":9007199254740992,"tightBounds":false,
		"minValues":{"l":4611686018427387904,"d":"2024-01-02","ts":"2024-01-02 03:04:05.678901Z","dec":"-1.50","st":{"x":"é"}},"nullCount":{"l":0}}}}]`))
	require.NoError(t, err)
	require.Equal(t, `{"numRecords":9007199254740992,"tightBounds":false,`+
		`"minValues":{"l":4611686018427387904,"d":"2024-01-02","ts":"2024-01-02T03:04:05.678901Z","dec":-1.50,"st":{"x":"é"}},`+
		`"nullCount":{"l":0}}`, got[0].(*action.Add).Stats)
}

func TestDamagedFiles(t *testing.T) {
	_, typed := writeTyped(t, checkpoint.Form{NoText: true, Statistics: typed},
		&action.Add{Path: "a", Stats: `{"minValues":{"e":1.5,"s":"x","st":{"m":1}},"numRecords":1}`})
	for name, body := range map[string][]byte{"texts": write(t, every()), "typed": typed} {
		t.Run(name, func(t *testing.T) { damage(t, body) })
	}
}

func damage(t *testing.T, body []byte) {
	t.Helper()
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		for cut := 0; cut < len(body); cut += 7 {
			_, err := read(t.Context(), body[:cut])
			require.ErrorIs(t, err, checkpoint.ErrCorrupt, "cut at %d", cut)
		}
	})
	t.Run("changed", func(t *testing.T) {
		t.Parallel()
		random := rand.New(rand.NewPCG(1, 2))
		for range 1500 {
			damaged := slices.Clone(body)
			for range 1 + random.IntN(4) {
				damaged[random.IntN(len(damaged))] = byte(random.Uint32())
			}
			_, err := read(t.Context(), damaged)
			require.True(t, err == nil || isTyped(err), "%v", err)
		}
	})
}

func isTyped(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, action.ErrMalformed)
}

func TestLast(t *testing.T) {
	size, adds := int64(5), int64(6)
	want := checkpoint.Last{Version: 10, Size: 4, SizeInBytes: &size, NumOfAddFiles: &adds}
	body, err := checkpoint.EncodeLast(want)
	require.NoError(t, err)
	got, err := checkpoint.DecodeLast(body)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, bad := range []string{"", "{", "{}", `{"version":-1}`, `{"version":"1"}`, "[]", `{"version":1}x`} {
		_, err := checkpoint.DecodeLast([]byte(bad))
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, bad)
	}
}

func FuzzRead(f *testing.F) {
	body := write(f, every())
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := read(t.Context(), body)
		require.True(t, err == nil || isTyped(err), "%v", err)
	})
}
