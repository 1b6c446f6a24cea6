package pruning_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// No file with a row that satisfies the condition is excluded, whichever writer made its
// statistics, and files that cannot match are excluded.
func TestNoRowIsLost(t *testing.T) {
	kept, empty, pruned := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		partitions := slices.DeleteFunc(slices.Clone(columnOrder), func(string) bool { return rapid.IntRange(0, 7).Draw(rt, "partition") > 0 })
		if len(partitions) > 2 {
			partitions = partitions[:2]
		}
		options := delta.CreateOptions{Schema: allColumns, PartitionColumns: partitions}
		mapped := rapid.Bool().Draw(rt, "mapped")
		if mapped {
			options.Properties = map[string]string{"delta.columnMapping.mode": "name"}
		}
		snap, err := delta.Create(background(), mem.New(), options)
		require.NoError(rt, err)
		stored := storedNames(snap)
		var files []file
		var adds []delta.AddFile
		for i := range rapid.IntRange(1, 8).Draw(rt, "files") {
			f := drawFile(rt, i, partitions)
			stats := ownStats(rt, f, partitions)
			if rapid.Bool().Draw(rt, "foreign") {
				stats = foreignStats(rt, f, partitions)
			}
			files = append(files, f)
			adds = append(adds, underNames(rt, stored, addOf(rt, allColumns, f, partitions, stats)))
		}
		half := len(adds) / 2
		snap = mustAdd(rt, snap, adds[:half]...)
		for round := range 20 {
			if round == 7 {
				// The next version takes over what was parsed so far.
				snap = mustAdd(rt, snap, adds[half:]...)
			}
			live := files
			if round < 7 {
				live = files[:half]
			}
			c := drawCondition(rt, 2)
			list, ok := pruning.List(snap, columnsOf(allColumns), c)
			require.True(rt, ok)
			require.True(rt, list.Uniform)
			require.Equal(rt, mapped, list.Stored != nil)
			for i, c := range list.Stored {
				require.Equal(rt, stored[columnOrder[i]], c.Name)
			}
			names := paths(list)
			for _, f := range live {
				in := slices.Contains(names, f.name)
				hit := slices.ContainsFunc(f.rows, func(r row) bool { return satisfies(allColumns, c, r) })
				require.True(rt, in || !hit, "%s is lost\nrows %v\ncondition %+v", f.name, f.rows, c)
				switch {
				case hit:
					kept++
				case in:
					empty++
				default:
					pruned++
				}
			}
			checkGroups(rt, list, live, partitions)
		}
	})
	t.Logf("%d files hold a row, %d were read for nothing, %d skipped", kept, empty, pruned)
	require.Greater(t, pruned, empty, "most files without a row are to be skipped")
}

// storedNames are the names that the log has for columns.
func storedNames(snap *delta.Snapshot) map[string]string {
	out := map[string]string{}
	for i, f := range snap.StoredFields() {
		out[snap.Schema().Fields[i].Name] = f.Name
	}
	return out
}

// underNames gives the statistics of a file other names for columns.
func underNames(t require.TestingT, stored map[string]string, add delta.AddFile) delta.AddFile {
	if add.Stats == "" {
		return add
	}
	var stats map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(add.Stats), &stats))
	for _, section := range []string{"minValues", "maxValues", "nullCount"} {
		var entries map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(stats[section], &entries))
		renamed := map[string]json.RawMessage{}
		for name, v := range entries {
			renamed[stored[name]] = v
		}
		text, err := json.Marshal(renamed)
		require.NoError(t, err)
		stats[section] = text
	}
	text, err := json.Marshal(stats)
	require.NoError(t, err)
	add.Stats = string(text)
	return add
}

// checkGroups compares the partition values of each file with its rows.
func checkGroups(t require.TestingT, list *engine.FileList, files []file, partitions []string) {
	seen := map[string]bool{}
	for _, g := range list.Groups {
		require.NotEmpty(t, g.Paths)
		require.True(t, slices.IsSorted(g.Paths))
		require.Len(t, g.Partition, len(partitions))
		for _, path := range g.Paths {
			require.False(t, seen[path], "a file is listed once")
			seen[path] = true
			f := files[slices.IndexFunc(files, func(f file) bool { return f.name == path })]
			for _, name := range partitions {
				got, want := g.Partition[name], f.rows[0][name]
				require.Equal(t, want == nil, got == nil)
				if want != nil {
					require.Equal(t, 0, compareTexts(pools[name].typ, *want, trimOffset(pools[name].typ, *got)), "%s is %s, not %s", name, *got, *want)
				}
			}
		}
	}
}

func trimOffset(t delta.DataType, text string) string {
	if t == delta.Timestamp {
		return text[:len(text)-len("+00")]
	}
	return text
}

// With this package's tight statistics, a comparison includes exactly the files whose range it
// intersects.
func TestComparisonsSkipExactly(t *testing.T) {
	exact := []string{"l", "i", "sh", "b", "d", "s", "dt"}
	short := map[string][]string{"s": {"", " ", "A", "EU", "EU-west", "a", "b", "zoë", "日本"},
		"dt": {"1582-10-15", "1969-12-31", "2024-02-29", "9999-12-31"}}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(exact).Draw(rt, "column")
		pool := pools[name].texts
		if short[name] != nil {
			pool = short[name]
		}
		low := rapid.IntRange(0, len(pool)-1).Draw(rt, "low")
		high := rapid.IntRange(low, len(pool)-1).Draw(rt, "high")
		f := file{name: "a.parquet", rows: []row{{name: &pool[low]}, {name: &pool[high]}, {}}}
		snap := mustTable(rt, allColumns, nil, []delta.AddFile{addOf(rt, allColumns, f, nil, ownStats(rt, f, nil))})
		for i, text := range pool {
			for op, want := range map[engine.ConditionOp]bool{
				engine.ConditionEqual: low <= i && i <= high, engine.ConditionIn: low <= i && i <= high,
				engine.ConditionNotEqual: low != i || high != i,
				engine.ConditionLess:     low < i, engine.ConditionLessOrEqual: low <= i,
				engine.ConditionGreater: high > i, engine.ConditionGreaterOrEqual: high >= i,
			} {
				c := engine.Condition{Op: op, Column: name, Values: []engine.ConditionValue{engine.ConditionValue(text)}}
				list, ok := pruning.List(snap, columnsOf(allColumns), c)
				require.True(rt, ok)
				require.Equal(rt, want, list.Len() == 1, "%s from %q to %q, %v %q", name, pool[low], pool[high], op, text)
			}
		}
	})
}
