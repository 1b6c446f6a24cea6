package pruning_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// TestTablesWithMisreadPartitionValuesAreReadAsLists checks that a table with a form that
// the engine's reader of logs ignores or refuses is listed with any number of groups, in
// later versions too.
func TestTablesWithMisreadPartitionValuesAreReadAsLists(t *testing.T) {
	many := func(form string) (adds []string) {
		for i := range 100 {
			adds = append(adds, add(fmt.Sprintf("%03d.parquet", i), fmt.Sprintf(`"p":%q`, fmt.Sprintf(form, i%24, i%60)), ""))
		}
		return adds
	}
	for name, c := range map[string]struct {
		typ     string
		adds    []string
		misread bool
	}{
		"plain timestamps":        {"timestamp", many("2024-01-01 %02d:%02d:00"), false},
		"timestamps in UTC":       {"timestamp", many("2024-01-01T%02d:%02d:00.000000Z"), false},
		"an offset":               {"timestamp", many("2024-01-01 %02d:%02d:00+02:00"), true},
		"a local time with a T":   {"timestamp_ntz", many("2024-01-01T%02d:%02d:00"), true},
		"decimals":                {"decimal(10,2)", many("%d.%02d"), false},
		"decimals of other forms": {"decimal(10,2)", many("%d.%03d"), true},
		"doubles":                 {"double", many("%d.%dE3"), false},
		"doubles with a suffix":   {"double", many("%d.%dd"), true},
		"a value is missing":      {"string", append(many("%d-%d"), add("x.parquet", "", "")), true},
		"a value of no column":    {"string", append(many("%d-%d"), add("x.parquet", `"p":"x","q":"1"`, "")), true},
	} {
		t.Run(name, func(t *testing.T) {
			snap := log{fields: field("id", "long") + "," + field("p", c.typ), partitions: `"p"`, adds: c.adds}.load(t)
			for range 2 {
				require.NoError(t, pruning.Check(snap))
				require.Equal(t, !c.misread, pruning.ReadsLog(snap))
				_, listed := pruning.List(snap, columnsOf(snap.Schema()), engine.Condition{})
				require.Equal(t, c.misread, listed)
				_, listed = pruning.ListRestricted(snap, columnsOf(snap.Schema()), engine.Condition{})
				require.True(t, listed)
				commit := add("more.parquet", strings.SplitN(strings.SplitN(c.adds[0], `"partitionValues":{`, 2)[1], "}", 2)[0], "") + "\n"
				name := fmt.Sprintf("_delta_log/%020d.json", snap.Version()+1)
				require.NoError(t, snap.Bucket().Put(t.Context(), name, strings.NewReader(commit), int64(len(commit))))
				var err error
				snap, err = snap.Refresh(t.Context())
				require.NoError(t, err)
			}
		})
	}
}

// TestCheckNamesTheColumnOfAnUnreadableValue checks a version that is loaded, and one that
// follows a version without the value.
func TestCheckNamesTheColumnOfAnUnreadableValue(t *testing.T) {
	columns := field("id", "long") + "," + field("p", "integer")
	good := log{fields: columns, partitions: `"p"`, adds: []string{add("a.parquet", `"p":"1"`, "")}}.load(t)
	require.NoError(t, pruning.Check(good))
	commit := add("b.parquet", `"p":"secret"`, "") + "\n"
	require.NoError(t, good.Bucket().Put(t.Context(), fmt.Sprintf("_delta_log/%020d.json", good.Version()+1), strings.NewReader(commit),
		int64(len(commit))))
	bad, err := good.Refresh(t.Context())
	require.NoError(t, err)
	for _, snap := range []*delta.Snapshot{bad, log{fields: columns + "," + field("v", "variant"), features: `"variantType"`,
		partitions: `"p"`, adds: []string{add("b.parquet", `"p":"secret"`, "")}}.load(t)} {
		for _, err := range []error{pruning.Check(snap), pruning.CheckRestricted(snap)} {
			var fault *delta.PartitionError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, delta.PartitionError{Column: "p", Type: delta.Integer}, *fault)
			require.NotContains(t, err.Error(), "secret")
		}
		require.False(t, pruning.ReadsLog(snap))
	}
}
