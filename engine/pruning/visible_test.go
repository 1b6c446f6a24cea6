package pruning_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// A condition of the statement excludes a file only if every row of the file is visible and none
// satisfies the condition, whichever writer made its statistics.
func TestOnlyVisibleFilesAreLeftOut(t *testing.T) {
	proved, visible, left := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		partitions := slices.DeleteFunc(slices.Clone(columnOrder), func(string) bool { return rapid.IntRange(0, 9).Draw(rt, "partition") > 0 })
		if len(partitions) > 2 {
			partitions = partitions[:2]
		}
		snap, err := delta.Create(background(), mem.New(), delta.CreateOptions{Schema: allColumns, PartitionColumns: partitions})
		require.NoError(rt, err)
		var files []file
		var adds []delta.AddFile
		for i := range rapid.IntRange(1, 8).Draw(rt, "files") {
			f := drawFile(rt, i, partitions)
			stats := ownStats(rt, f, partitions)
			if rapid.Bool().Draw(rt, "foreign") {
				stats = foreignStats(rt, f, partitions)
			}
			files, adds = append(files, f), append(adds, addOf(rt, allColumns, f, partitions, stats))
		}
		snap = mustAdd(rt, snap, adds...)
		for range 20 {
			r := pruning.Restriction{Assured: drawCondition(rt, 2)}
			asked := drawCondition(rt, 1)
			unproved := listed(rt, snap, r, engine.Condition{Op: engine.ConditionNever})
			read := listed(rt, snap, r, asked)
			require.Equal(rt, pruning.Exposure{Bytes: int64(len(files)), Mixed: len(unproved) > 0, MixedBytes: int64(len(unproved))},
				pruning.ExposureOf(snap, r))
			for _, f := range files {
				// An unknown condition assures nothing.
				all := assures(r.Assured) && !slices.ContainsFunc(f.rows, func(row row) bool { return !satisfies(allColumns, r.Assured, row) })
				hit := slices.ContainsFunc(f.rows, func(row row) bool { return satisfies(allColumns, asked, row) })
				if all {
					visible++
				}
				if !slices.Contains(unproved, f.name) {
					proved++
					require.True(rt, all, "%s has hidden rows\nrows %v\ncondition %+v", f.name, f.rows, r.Assured)
				}
				if !slices.Contains(read, f.name) {
					left++
					require.NotContains(rt, unproved, f.name)
					require.False(rt, hit, "%s is lost\nrows %v\ncondition %+v", f.name, f.rows, asked)
				}
			}
		}
	})
	t.Logf("of %d files without hidden rows %d are proved to be so; %d are left out", visible, proved, left)
	require.Greater(t, proved, visible/4)
	require.Greater(t, left, 100)
}

func listed(t require.TestingT, snap *delta.Snapshot, r pruning.Restriction, asked engine.Condition) []string {
	list, ok := pruning.ListShielded(snap, columnsOf(allColumns), r, asked)
	require.True(t, ok)
	return paths(list)
}

// assures reports whether all rows of a file can satisfy c without its unknown parts.
func assures(c engine.Condition) bool {
	switch c.Op {
	case engine.ConditionUnknown:
		return false
	case engine.ConditionAnd:
		return !slices.ContainsFunc(c.Children, func(k engine.Condition) bool { return !assures(k) })
	}
	return true
}

// A proof that some row may match is not a proof that all rows match.
func TestWhatProvesVisibility(t *testing.T) {
	equal := func(column string, values ...engine.ConditionValue) engine.Condition {
		op := engine.ConditionEqual
		if len(values) > 1 {
			op = engine.ConditionIn
		}
		return engine.Condition{Op: op, Column: column, Values: values}
	}
	isNull := engine.Condition{Op: engine.ConditionIsNull, Column: "s"}
	long := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for name, c := range map[string]struct {
		stats   string
		assured engine.Condition
		mixed   bool
	}{
		"one value": {`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":0}}`, equal("s", "a"), false},
		"one of several": {`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":0}}`, equal("s", "b", "a"),
			false},
		"a range": {`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"b"},"nullCount":{"s":0}}`, equal("s", "b", "a"),
			true},
		"a NULL":            {`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":1}}`, equal("s", "a"), true},
		"no count of NULLs": {`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"a"}}`, equal("s", "a"), true},
		"no upper bound":    {`{"numRecords":2,"minValues":{"s":"a"},"nullCount":{"s":0}}`, equal("s", "a"), true},
		"a truncated bound": {`{"numRecords":2,"minValues":{"s":"` + long + `"},"maxValues":{"s":"` + long + `"},"nullCount":{"s":0}}`,
			equal("s", engine.ConditionValue(long)), true},
		"no statistics": {``, equal("s", "a"), true},
		"only NULLs":    {`{"numRecords":2,"nullCount":{"s":2}}`, isNull, false},
		"some NULLs":    {`{"numRecords":2,"nullCount":{"s":1}}`, isNull, true},
		"a rounded instant": {`{"numRecords":1,"minValues":{"t":"2024-01-01T00:00:00.001Z"},"maxValues":{"t":"2024-01-01T00:00:00.001Z"},` +
			`"nullCount":{"t":0}}`, equal("t", "2024-01-01 00:00:00.001"), true},
		"a double":      {`{"numRecords":1,"minValues":{"f":1.5},"maxValues":{"f":1.5},"nullCount":{"f":0}}`, equal("f", "1.5"), true},
		"nothing known": {`{"numRecords":1,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":0}}`, engine.Condition{}, true},
		"a part without a bound": {`{"numRecords":1,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":0}}`,
			engine.AllOf(equal("s", "a"), equal("f", "1.5")), true},
		"a way that is proved": {`{"numRecords":1,"minValues":{"s":"a"},"maxValues":{"s":"a"},"nullCount":{"s":0}}`,
			engine.AnyOf(equal("f", "1.5"), equal("s", "a")), false},
	} {
		t.Run(name, func(t *testing.T) {
			snap := log{fields: field("s", "string") + "," + field("t", "timestamp") + "," + field("f", "double"),
				adds: []string{add("a.parquet", "", c.stats)}}.load(t)
			want := pruning.Exposure{Bytes: 1, Mixed: c.mixed}
			if c.mixed {
				want.MixedBytes = 1
			}
			require.Equal(t, want, pruning.ExposureOf(snap, pruning.Restriction{Assured: c.assured}))
		})
	}
}

// Only files that the row filter needs count.
func TestExposureOfNeededFiles(t *testing.T) {
	stats := func(value string) string {
		return `{"numRecords":1,"minValues":{"s":"` + value + `"},"maxValues":{"s":"` + value + `"},"nullCount":{"s":0}}`
	}
	snap := log{fields: field("s", "string"), adds: []string{add("a.parquet", "", stats("a")), add("b.parquet", "", stats("b"))}}.load(t)
	is := engine.Condition{Op: engine.ConditionEqual, Column: "s", Values: []engine.ConditionValue{"a"}}
	require.Equal(t, pruning.Exposure{Bytes: 1}, pruning.ExposureOf(snap, pruning.Restriction{Needed: is, Assured: is}))
	require.Equal(t, pruning.Exposure{Bytes: 2, Mixed: true, MixedBytes: 1}, pruning.ExposureOf(snap, pruning.Restriction{Assured: is}))
}
