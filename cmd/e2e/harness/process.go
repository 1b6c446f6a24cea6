package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ProcessorTicks is the time that a process has spent in its own code, in ticks of
// 10 ms.
func ProcessorTicks(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold anything else
	ticks, err := strconv.Atoi(strings.Fields(after)[11])
	require.NoError(t, err)
	return ticks
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ResidentBytes is the resident memory of this process and of the workers that
// it has started.
func ResidentBytes(t testing.TB) int64 {
	t.Helper()
	sum := residentOf(t, "self")
	for _, pid := range WorkerProcesses(t) {
		sum += residentOf(t, pid)
	}
	return sum
}

// residentOf is the resident memory of a process; one that has ended has none.
func residentOf(t testing.TB, pid string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		require.NotEqual(t, "self", pid)
		return 0
	}
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}

// WorkerProcesses are the children of this process that run engines.
func WorkerProcesses(t testing.TB) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var workers []string
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, pid := range strings.Fields(string(text)) {
			command, _ := os.ReadFile("/proc/" + pid + "/cmdline") // one that has ended runs nothing
			if strings.HasSuffix(string(command), "\x00worker\x00") {
				workers = append(workers, pid)
			}
		}
	}
	return workers
}

// MetricsURL returns the base URL of /metrics: that of the server, or of the address that
// LAKEWARDEN_METRICS_ADDR sets.
func (s *Server) MetricsURL(t testing.TB) string {
	t.Helper()
	if s.Config.MetricsAddr == "" {
		return s.URL
	}
	for line := range strings.Lines(s.Log.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving metrics" {
			return "http://" + entry.Address
		}
	}
	t.Fatal("no address of metrics in the log")
	return ""
}

// Metric reads one sample of /metrics.
func (s *Server) Metric(t testing.TB, sample string) float64 {
	t.Helper()
	resp, err := http.Get(s.MetricsURL(t) + "/metrics")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), sample+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("no metric %s", sample)
	return 0
}

// Quiet waits until the server runs no statement and none is queued.
func (s *Server) Quiet(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.Metric(t, `lakewarden_sessions{state="running"}`) == 0 && s.Metric(t, `lakewarden_sessions{state="queued"}`) == 0
	}, time.Minute, 20*time.Millisecond, "statements are left running or queued")
}
