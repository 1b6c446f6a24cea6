package bench_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/bench"
)

// fakeConfig is a run whose server is this test program.
func fakeConfig(t *testing.T) bench.Config {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return bench.Config{
		Lakewarden: self, Loader: self, Python: self, Versitygw: self, Rclone: self,
		Data:        t.TempDir(),
		ObjectBytes: 100,
		Settle:      time.Millisecond,
		// With the race detector, programs otherwise exit a second later.
		Env:      append(os.Environ(), fakeVariable+"=1", "GORACE=atexit_sleep_ms=0"),
		Progress: t.Logf,
	}
}

func metrics(o bench.Outcome) map[string]float64 {
	values := map[string]float64{}
	for _, m := range o.Metrics {
		values[m.Name] = m.Value
	}
	return values
}

func TestRunKinds(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("memory is measured through /proc, which this system does not have")
	}
	zero, many := 0.0, 1e9
	statements := []bench.Statement{{Name: "three", SQL: "rows 3"}, {Name: "none", SQL: "rows 0"}}
	cases := []struct {
		workload bench.Workload
		want     []string // metrics
	}{
		{bench.Workload{Kind: bench.KindCompare, Statements: statements, Warmup: 1, Runs: 2},
			[]string{"total.lakewarden", "cold.lakewarden"}},
		{bench.Workload{Kind: bench.KindFirst, Statements: statements[:1], Users: 3, Runs: 1}, []string{"p50", "p95"}},
		{bench.Workload{Kind: bench.KindValidate, Sizes: []int{2048}, Runs: 3}, []string{"p50.unreadable", "validation.2048"}},
		{
			bench.Workload{Kind: bench.KindStream, Statements: statements[:1], Runs: 2},
			[]string{"rows", "result", "rss_before", "rss_growth", "first_byte", "rate"},
		},
		{
			bench.Workload{Kind: bench.KindIdle, Statements: statements[:1], Users: 10, Runs: 1},
			[]string{"users", "rss_before", "rss_after", "per_user", "threads_added"},
		},
		{
			bench.Workload{Kind: bench.KindIsolation, Statements: []bench.Statement{{Name: "three", SQL: "rows 3", Repeat: 4}}, Warmup: 1, Runs: 2},
			[]string{"p50.three.process", "p50.three.none", "added.three", "ratio.three"},
		},
		{
			bench.Workload{Kind: bench.KindBudget, Statements: statements, Users: 4, Runs: 3, BudgetMiB: 1},
			[]string{"elapsed", "p50", "p95", "answered", "busy", "failed", "rss_peak", "rss_of_budget"},
		},
		{
			bench.Workload{Kind: bench.KindLog, Log: &bench.Log{Commits: 3, Files: 2}, Warmup: 1, Runs: 2},
			[]string{"p50.lakewarden", "memory.lakewarden", "p50.deltars", "memory.deltars", "ratio.deltars", "memory_ratio.deltars"},
		},
		{
			bench.Workload{Kind: bench.KindMaintain, Maintenance: &bench.Maintenance{Operation: "compact", Table: "lineitem", Files: 6},
				Warmup: 1, Runs: 2},
			[]string{"p50.lakewarden", "memory.lakewarden", "cpu.lakewarden", "p50.deltars", "memory.deltars", "cpu.deltars", "ratio.deltars",
				"memory_ratio.deltars", "cpu_ratio.deltars"},
		},
		{
			bench.Workload{Kind: bench.KindWrite, Write: &bench.Write{Operation: "merge", Files: 2, Rows: 10}, Warmup: 1, Runs: 2},
			[]string{"p50.lakewarden", "p50.deltars", "ratio.deltars"},
		},
		{
			bench.Workload{Kind: bench.KindBodies, Bodies: &bench.Bodies{Size: 100, Burst: 2, Shapes: []bench.Body{
				{Name: "valid", Path: "$table/rows", Item: "1"}, {Name: "refused", Item: "[", Close: "]"},
			}}, Warmup: 1, Runs: 2},
			[]string{"cpu.valid", "p50.valid", "rss.valid", "cpu.worst", "p50.refused", "rss.worst", "rss_growth", "ratio.cpu"},
		},
		{
			bench.Workload{Kind: bench.KindFlood, Flood: &bench.Flood{Clients: 2, PerSecond: 1000}, Statements: statements[:1], Runs: 2},
			[]string{"limited", "refused", "p50.calm", "p50.flood", "p95.calm", "p95.flood", "ratio.p50"},
		},
		{
			bench.Workload{Kind: bench.KindMove, Move: &bench.Move{Objects: 3, Bytes: 200, Routes: []string{"s3"}, Transfers: 2}, Runs: 1},
			[]string{"p50.rclone.s3", "p50.lakewarden.s3", "objects.s3", "rate.s3", "ratio.rclone.s3", "rss_growth.s3"},
		},
		{
			bench.Workload{Kind: bench.KindDiscover, Discovery: &bench.Discovery{Folders: 7}, Runs: 2},
			[]string{"folders", "p50.first", "rss_growth.first", "p50.again", "rss_growth.again"},
		},
	}
	for _, c := range cases {
		t.Run(string(c.workload.Kind), func(t *testing.T) {
			c.workload.Targets = []bench.Target{
				{Metric: c.want[0], AtLeast: &zero, AtMost: &many},
				{Metric: "no such metric", AtLeast: &zero},
			}
			cfg := fakeConfig(t)
			outcome := bench.Run(t.Context(), cfg, c.workload)
			require.Empty(t, outcome.Error)
			var names []string
			for _, m := range outcome.Metrics {
				names = append(names, m.Name)
			}
			require.Equal(t, c.want, names)
			require.Len(t, outcome.Checks, 2)
			require.True(t, outcome.Checks[0].OK)
			require.False(t, outcome.Checks[1].OK, "a target without its metric is missed")

			left, err := os.ReadDir(cfg.Data)
			require.NoError(t, err)
			require.Empty(t, left, "a run that went well leaves nothing behind")
		})
	}
}

func TestRunOfBodies(t *testing.T) {
	run := func(path string) bench.Outcome {
		return bench.Run(t.Context(), fakeConfig(t), bench.Workload{Kind: bench.KindBodies, Runs: 1, Bodies: &bench.Bodies{
			Size: 100, Burst: 1, Shapes: []bench.Body{{Name: "valid", Path: path, Item: "1"}, {Name: "deep", Item: "["}},
		}})
	}
	outcome := run("$table/rows")
	require.Empty(t, outcome.Error)
	require.Equal(t, []string{"valid", "deep"}, []string{outcome.Lines[0].Statement, outcome.Lines[1].Statement})
	require.Contains(t, outcome.Notes[0], "valid: status 200")
	require.Contains(t, outcome.Notes[1], "deep: status 422")
	require.Contains(t, run("/v1/no/such/route").Error, "valid: answered 404", "without its peer nothing is compared")
}

func TestRequestsReadTheFiguresOfTheServer(t *testing.T) {
	outcome := bench.Run(t.Context(), fakeConfig(t), bench.Workload{Kind: bench.KindRequests, Warmup: 1, Runs: 2,
		Requests: &bench.Requests{Path: "/v1/limits", Keys: 5, PerSecond: 200, Seconds: 1, Connections: 3}})
	require.Empty(t, outcome.Error)
	got := metrics(outcome)
	require.InDelta(t, 2, got["statements"], 0)
	require.InDelta(t, 0, got["statements.written"], 0)
	require.InDelta(t, 0.2, got["server.p50"], 1e-9)
	// The last of 200 requests is due 5 ms before the end of the second.
	require.LessOrEqual(t, got["rate"], 202.0)
	require.Greater(t, got["rate"], 100.0)
	require.Positive(t, got["p50"])
	require.GreaterOrEqual(t, got["p99"], got["p50"])

	outcome = bench.Run(t.Context(), fakeConfig(t), bench.Workload{Kind: bench.KindRequests, Runs: 1,
		Requests: &bench.Requests{Path: "/v1/no/such/route", Keys: 1, PerSecond: 10, Seconds: 1, Connections: 1}})
	require.Contains(t, outcome.Error, "status 404")
}

func TestFloodCountsRefusals(t *testing.T) {
	flood := bench.Workload{Kind: bench.KindFlood, Flood: &bench.Flood{Clients: 1, PerSecond: 100}, Runs: 1,
		Statements: []bench.Statement{{Name: "q", SQL: "rows 1", Repeat: 10}}}
	cfg := fakeConfig(t)
	cfg.Env = append(cfg.Env, throttleVariable+"=limit")
	outcome := bench.Run(t.Context(), cfg, flood)
	require.Empty(t, outcome.Error)
	require.InDelta(t, 1, metrics(outcome)["refused"], 0, "a valid key that is refused is not asked again")

	flood.Statements[0].SQL = "nonsense"
	require.Contains(t, bench.Run(t.Context(), fakeConfig(t), flood).Error, "q: status 400")
}

func TestRunOfWrites(t *testing.T) {
	outcome := bench.Run(t.Context(), fakeConfig(t),
		bench.Workload{Kind: bench.KindWrite, Write: &bench.Write{Operation: "insert", Files: 2, Rows: 10}, Runs: 3})
	require.Empty(t, outcome.Error)
	require.InDelta(t, 2, metrics(outcome)["key_files"], 0, "two files in each of three writes")

	outcome = bench.Run(t.Context(), fakeConfig(t),
		bench.Workload{Kind: bench.KindWrite, Write: &bench.Write{Operation: "merge", Files: 2, Rows: 20}, Runs: 1})
	require.Contains(t, outcome.Error, "9 rows updated and 1 inserted of 20", "an incomplete result invalidates the measurement")
}

func TestRunCountsRows(t *testing.T) {
	outcome := bench.Run(t.Context(), fakeConfig(t), bench.Workload{
		Kind: bench.KindCompare, Runs: 1,
		Statements: []bench.Statement{{Name: "many", SQL: "rows 5000"}},
	})
	require.Empty(t, outcome.Error)
	require.Equal(t, int64(5000), outcome.Lines[0].Rows)
	require.Positive(t, metrics(outcome)["total.lakewarden"])
}

func TestRunRemote(t *testing.T) {
	cfg := fakeConfig(t)
	require.NoError(t, os.MkdirAll(filepath.Join(cfg.Data, "tpch", "region", "_delta_log"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Data, "tpch", "region", "_delta_log", "0.json"), nil, 0o600))
	outcome := bench.Run(t.Context(), cfg, bench.Workload{
		Kind: bench.KindCompare, Runs: 1, Remote: &bench.Remote{DelayMillis: 1}, Peers: []string{"local"},
		Statements: []bench.Statement{{Name: "q", SQL: "rows 1"}},
	})
	require.Empty(t, outcome.Error)
	require.Equal(t, []string{"lakewarden", "local"}, outcome.Subjects)
	require.Positive(t, metrics(outcome)["ratio.local"])
}

func TestMovesAreChecked(t *testing.T) {
	run := func(objects int, cfg bench.Config) string {
		return bench.Run(t.Context(), cfg, bench.Workload{Kind: bench.KindMove, Runs: 1,
			Move: &bench.Move{Objects: objects, Bytes: 100, Routes: []string{"s3-s3"}, Transfers: 1}}).Error
	}
	require.Empty(t, run(3, fakeConfig(t)))
	require.Contains(t, run(4, fakeConfig(t)), "rclone: 3 objects of 300 bytes arrived and 0 were left, of 4")
	missing := fakeConfig(t)
	missing.Rclone = filepath.Join(missing.Data, "missing")
	require.Contains(t, run(3, missing), "find rclone")
}

func TestDiscoveriesAreChecked(t *testing.T) {
	outcome := bench.Run(t.Context(), fakeConfig(t),
		bench.Workload{Kind: bench.KindDiscover, Discovery: &bench.Discovery{Folders: 8}, Runs: 1})
	require.Contains(t, outcome.Error, "first discovery: 7 tables of 8")
}

func TestRunWaitsOutALimit(t *testing.T) {
	cfg := fakeConfig(t)
	cfg.Env = append(cfg.Env, throttleVariable+"=limit")
	outcome := bench.Run(t.Context(), cfg, bench.Workload{
		Kind: bench.KindCompare, Runs: 1, Statements: []bench.Statement{{Name: "q", SQL: "rows 1"}},
	})
	require.Empty(t, outcome.Error)
	require.Less(t, metrics(outcome)["total.lakewarden"], 1000.0, "the wait is not counted")
}

func TestBudgetCounts(t *testing.T) {
	budget := func(sql string) bench.Workload {
		return bench.Workload{
			Kind: bench.KindBudget, Users: 5, Runs: 2, BudgetMiB: 1000,
			Statements: []bench.Statement{{Name: "q", SQL: sql}},
		}
	}
	t.Run("a full queue is asked again", func(t *testing.T) {
		cfg := fakeConfig(t)
		cfg.Env = append(cfg.Env, throttleVariable+"=queue", settingVariable+"=LAKEWARDEN_MEMORY_MIB=1000")
		outcome := bench.Run(t.Context(), cfg, budget("rows 3"))
		require.Empty(t, outcome.Error)
		got := metrics(outcome)
		require.Equal(t, []float64{1, 1, 0}, []float64{got["answered"], got["busy"], got["failed"]})
		require.InDelta(t, got["rss_peak"]/1000, got["rss_of_budget"], 1e-9)
		require.Positive(t, got["rss_peak"])
	})
	t.Run("whatever else goes wrong is a failure", func(t *testing.T) {
		cfg := fakeConfig(t)
		cfg.Env = append(cfg.Env, throttleVariable+"=limit")
		outcome := bench.Run(t.Context(), cfg, budget("rows 3"))
		require.Empty(t, outcome.Error)
		got := metrics(outcome)
		require.Equal(t, []float64{0.9, 0, 1}, []float64{got["answered"], got["busy"], got["failed"]})
		require.Equal(t, []string{"1 times: q: status 429"}, outcome.Notes)
	})
	t.Run("so is a stream that ends early", func(t *testing.T) {
		outcome := bench.Run(t.Context(), fakeConfig(t), budget("rows 3 cut"))
		require.InDelta(t, 10, metrics(outcome)["failed"], 0)
		require.Zero(t, metrics(outcome)["answered"])
	})
}

func TestIsolationOfBothServers(t *testing.T) {
	isolation := bench.Workload{
		Kind: bench.KindIsolation, Runs: 1, Statements: []bench.Statement{{Name: "q", SQL: "rows 1"}},
	}
	for setting, want := range map[string]string{
		"none":    "start server",        // the workload's server has processes
		"process": "start second server", // the other one has none
	} {
		cfg := fakeConfig(t)
		cfg.Env = append(cfg.Env, settingVariable+"=LAKEWARDEN_ISOLATION="+setting)
		require.Contains(t, bench.Run(t.Context(), cfg, isolation).Error, want)
	}
}

func TestRunReportsFailures(t *testing.T) {
	cases := []struct{ name, sql, want string }{
		{"refused statement", "nonsense", "status 400"},
		{"stream that ends early", "rows 3 cut", "read Arrow stream"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := fakeConfig(t)
			outcome := bench.Run(t.Context(), cfg, bench.Workload{
				Kind: bench.KindCompare, Runs: 1, Statements: []bench.Statement{{Name: "q", SQL: c.sql}},
			})
			require.Contains(t, outcome.Error, c.want)
			logs, err := filepath.Glob(filepath.Join(cfg.Data, "run-*", "server.log"))
			require.NoError(t, err)
			require.Len(t, logs, 1, "the log of a failed run is kept")
		})
	}
	t.Run("server that does not start", func(t *testing.T) {
		cfg := fakeConfig(t)
		cfg.Lakewarden = filepath.Join(cfg.Data, "missing")
		outcome := bench.Run(t.Context(), cfg, bench.Workload{Kind: bench.KindCompare, Runs: 1})
		require.Contains(t, outcome.Error, "start server")
	})
}

// TestRunCountsFiles checks that a loader which reads a wrong number of files is an
// error.
func TestRunCountsFiles(t *testing.T) {
	outcome := bench.Run(t.Context(), fakeConfig(t), bench.Workload{Kind: bench.KindLog, Log: &bench.Log{Commits: 3, Files: 3}, Runs: 1})
	require.Contains(t, outcome.Error, "6 files of 9")
}
