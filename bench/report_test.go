package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/bench"
)

func report(cpu string, metrics ...bench.Metric) bench.Report {
	limit := 1.15
	return bench.Report{
		Version: "v1", Taken: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Scale: "1",
		Machine: bench.Machine{CPU: cpu, Cores: 2},
		Outcomes: []bench.Outcome{{
			Workload: "w", Title: "A title", Metrics: metrics,
			Subjects: []string{"lakewarden", "duckdb"},
			Lines:    []bench.Line{{Statement: "q01", Millis: []float64{11.5, 10}, Rows: 4}},
			Checks: []bench.Check{{Target: bench.Target{Metric: metrics[0].Name, AtMost: &limit}, Value: metrics[0].Value,
				OK: metrics[0].Value <= limit}},
		}},
	}
}

func ratio(value float64) bench.Metric {
	return bench.Metric{Name: "ratio.duckdb", Value: value, Unit: "x", Relative: true}
}

func total(subject string, value float64) bench.Metric {
	return bench.Metric{Name: "total." + subject, Value: value, Unit: "ms"}
}

func TestReportSurvivesItsFile(t *testing.T) {
	folder := t.TempDir()
	_, found, err := bench.Previous(folder)
	require.NoError(t, err)
	require.False(t, found)

	want := report("cpu", ratio(1.1), total("lakewarden", 110))
	require.NoError(t, want.Write(folder, nil))
	got, found, err := bench.Previous(folder)
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, cmp.Diff(want, got))
}

func TestReportText(t *testing.T) {
	text := report("cpu", ratio(1.1)).Markdown(nil)
	require.Contains(t, text, "| w | ratio.duckdb | 1.10 x | ≤ 1.15 | met |")
	require.Contains(t, text, "| q01 | 4 | 11.5 | 10 |")
	require.Contains(t, report("cpu", ratio(1.2)).Markdown(nil), "**missed**")

	broken := report("cpu", ratio(1))
	broken.Outcomes[0].Error = "no\nserver"
	require.Contains(t, broken.Markdown(nil), "Not measured: no server")
	require.NotContains(t, broken.Markdown(nil), "| met |")
}

func TestCompareFlags(t *testing.T) {
	flags := func(before, after bench.Report) string {
		var flagged []string
		for _, c := range bench.Compare(before, after) {
			mark := c.Metric
			if c.Flagged {
				mark += "!"
			}
			flagged = append(flagged, mark)
		}
		return strings.Join(flagged, " ")
	}
	speedup := func(v float64) bench.Metric {
		return bench.Metric{Name: "speedup.roapi", Value: v, Unit: "x", Relative: true, HigherIsBetter: true}
	}
	cases := []struct {
		name          string
		before, after bench.Report
		want          string
	}{
		{"within tolerance", report("a", ratio(1)), report("a", ratio(1.14)), "ratio.duckdb"},
		{"beyond", report("a", ratio(1)), report("a", ratio(1.16)), "ratio.duckdb!"},
		{"better", report("a", ratio(1)), report("a", ratio(0.5)), "ratio.duckdb"},
		{"higher is better", report("a", speedup(5)), report("a", speedup(4)), "speedup.roapi!"},
		{"higher is better, and it is", report("a", speedup(4)), report("a", speedup(5)), "speedup.roapi"},
		{"absolute, same machine", report("a", total("lakewarden", 10)), report("a", total("lakewarden", 20)), "total.lakewarden!"},
		{"absolute, other machine", report("a", total("lakewarden", 10)), report("b", total("lakewarden", 20)), ""},
		{"ratio, other machine", report("a", ratio(1)), report("b", ratio(2)), "ratio.duckdb!"},
		{"slower peer", report("a", total("duckdb", 10)), report("a", total("duckdb", 20)), "total.duckdb"},
		{"new metric", report("a", ratio(1)), report("a", total("lakewarden", 20)), ""},
		{"no longer positive", report("a", total("lakewarden", 10)), report("a", total("lakewarden", -1)), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, flags(c.before, c.after))
			require.Contains(t, c.after.Markdown(bench.Compare(c.before, c.after)), "## Compared with the previous report")
		})
	}
}
