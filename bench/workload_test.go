package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/bench"
)

func TestWorkloads(t *testing.T) {
	all, err := bench.Workloads()
	require.NoError(t, err)
	kinds := map[bench.Kind]bool{}
	names := map[string]bool{}
	for _, w := range all {
		require.False(t, names[w.Name], "two workloads are called %s", w.Name)
		names[w.Name], kinds[w.Kind] = true, true
	}
	require.Len(t, kinds, 22, "every kind has a workload")
}

func TestBodyText(t *testing.T) {
	body := bench.Body{Begin: "<", Item: "%x[", Separator: ",", Close: "]", End: ">"}
	require.Equal(t, "<0[,1[]]>", string(body.Text(12)))
	require.Equal(t, "<0[,1[,2[]]]>", string(body.Text(13)))
	all, err := bench.Workloads()
	require.NoError(t, err)
	for _, w := range all {
		if w.Bodies == nil {
			continue
		}
		for _, shape := range w.Bodies.Shapes {
			require.InDelta(t, w.Bodies.Size, len(shape.Text(w.Bodies.Size)), 1000, shape.Name)
		}
	}
}

func TestSelect(t *testing.T) {
	all := []bench.Workload{{Name: "a", Tags: []string{"x"}}, {Name: "b", Tags: []string{"x", "y"}}, {Name: "c"}}
	names := func(choice string) []string {
		chosen, err := bench.Select(all, choice)
		require.NoError(t, err)
		var got []string
		for _, w := range chosen {
			got = append(got, w.Name)
		}
		return got
	}
	require.Equal(t, []string{"a", "b", "c"}, names("all"))
	require.Equal(t, []string{"a", "b"}, names("x"))
	require.Equal(t, []string{"b", "c"}, names("c,y"))
	_, err := bench.Select(all, "z")
	require.Error(t, err)
}

func TestFiltersCoverTPCH(t *testing.T) {
	filters, err := bench.Filters()
	require.NoError(t, err)
	tables := map[string]bool{}
	for _, f := range filters {
		require.NotEmpty(t, f.SQL)
		tables[f.Table] = true
	}
	for _, table := range []string{"customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"} {
		require.True(t, tables[table], "no filter on %s", table)
	}
}

func TestParseQueries(t *testing.T) {
	statements, err := bench.ParseQueries("-- name: one\nSELECT 1;\n\n-- name: two\nSELECT\n  2\n;\n")
	require.NoError(t, err)
	require.Equal(t, []bench.Statement{{Name: "one", SQL: "SELECT 1"}, {Name: "two", SQL: "SELECT\n  2"}}, statements)

	for _, text := range []string{"SELECT 1", "-- name: empty\n", "-- name: a\n-- name: b\nSELECT 1"} {
		_, err := bench.ParseQueries(text)
		require.Error(t, err, text)
	}
}

func TestTarget(t *testing.T) {
	low, high := 1.0, 2.0
	between := bench.Target{AtLeast: &low, AtMost: &high}
	for value, want := range map[float64]bool{0.9: false, 1: true, 2: true, 2.1: false} {
		require.Equal(t, want, between.Met(value), "%v", value)
	}
}

func TestSamples(t *testing.T) {
	require.InDelta(t, 2.5, bench.Samples{4, 1, 3, 2}.Median(), 0)
	require.InDelta(t, 3, bench.Samples{9, 1, 3}.Median(), 0)
	hundred := make(bench.Samples, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	require.InDelta(t, 95, hundred.Quantile(0.95), 0)
	require.InDelta(t, 100, hundred.Quantile(1), 0)
	require.NotEqual(t, bench.Samples{}.Median(), bench.Samples{}.Median(), "of nothing it is NaN")
}
