package pruning_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

var benchSchema = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true}, {Name: "region", Type: delta.String, Nullable: true},
	{Name: "amount", Type: delta.Decimal{Precision: 12, Scale: 2}, Nullable: true}, {Name: "at", Type: delta.Timestamp, Nullable: true},
	{Name: "day", Type: delta.Date, Nullable: true}, {Name: "note", Type: delta.String, Nullable: true},
}}

// benchAdd describes a file of a thousand neighbouring ids.
func benchAdd(n int) delta.AddFile {
	return delta.AddFile{
		Name: fmt.Sprintf("part-%05d-3a0d65cd-4056-49b8-937b-95f9e3ee90e5-c000.parquet", n), Size: 1, ModTime: time.Unix(1, 0),
		PartitionValues: map[string]*string{},
		Stats: fmt.Sprintf(`{"numRecords":1000,"minValues":{"id":%d,"region":"EU","amount":0.05,"at":"2024-01-01T00:00:00.000Z",`+
			`"day":"2024-01-01","note":"a note of some length"},`+
			`"maxValues":{"id":%d,"region":"US","amount":99999.95,"at":"2024-02-01T00:00:00.000Z","day":"2024-02-01","note":"some other note with `+
			`some length"},`+
			`"nullCount":{"id":0,"region":3,"amount":17,"at":0,"day":0,"note":500},"tightBounds":true}`, n*1000, n*1000+999),
	}
}

func benchTable(b *testing.B, files int) *delta.Snapshot {
	adds := make([]delta.AddFile, files)
	for i := range adds {
		adds[i] = benchAdd(i)
	}
	return mustTable(b, benchSchema, nil, adds)
}

var pointQuery = engine.Condition{Op: engine.ConditionEqual, Column: "id", Values: []engine.ConditionValue{"123456"}}

func eachSize(b *testing.B, run func(b *testing.B, snap *delta.Snapshot)) {
	for _, files := range []int{500, 10_000} {
		snap := benchTable(b, files)
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			b.ReportAllocs()
			run(b, snap)
		})
	}
}

// A point query on a table that was asked before.
func BenchmarkPoint(b *testing.B) {
	eachSize(b, func(b *testing.B, snap *delta.Snapshot) {
		columns := columnsOf(benchSchema)
		for b.Loop() {
			list, ok := pruning.List(snap, columns, pointQuery)
			require.True(b, ok && list.Len() == 1)
		}
	})
}

// The list of all files.
func BenchmarkEverything(b *testing.B) {
	eachSize(b, func(b *testing.B, snap *delta.Snapshot) {
		columns := columnsOf(benchSchema)
		for b.Loop() {
			list, ok := pruning.List(snap, columns, engine.Condition{})
			require.True(b, ok && list.Len() == snap.NumFiles())
		}
	})
}

// The first point query after a table was loaded.
func BenchmarkFirstPoint(b *testing.B) {
	eachSize(b, func(b *testing.B, snap *delta.Snapshot) {
		columns := columnsOf(benchSchema)
		for b.Loop() {
			b.StopTimer()
			fresh, err := delta.Load(b.Context(), snap.Bucket(), delta.Options{})
			require.NoError(b, err)
			b.StartTimer()
			list, ok := pruning.List(fresh, columns, pointQuery)
			require.True(b, ok && list.Len() == 1)
		}
	})
}

// The first point query after a commit of one file.
func BenchmarkPointAfterCommit(b *testing.B) {
	eachSize(b, func(b *testing.B, snap *delta.Snapshot) {
		columns := columnsOf(benchSchema)
		n := snap.NumFiles()
		for b.Loop() {
			b.StopTimer()
			_, ok := pruning.List(snap, columns, pointQuery)
			require.True(b, ok)
			snap = mustAdd(b, snap, benchAdd(n))
			n++
			b.StartTimer()
			list, ok := pruning.List(snap, columns, pointQuery)
			require.True(b, ok && list.Len() == 1)
		}
	})
}
