package worker_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// attacks take memory or time that the engine's own limits do not bound. No guard
// stands before the engine here.
func attacks() map[string]string {
	doubling := "WITH c0 AS (SELECT range AS i FROM range(100))"
	for i := 1; i <= 30; i++ {
		doubling += strings.NewReplacer("#n", strconv.Itoa(i), "#p", strconv.Itoa(i-1)).Replace(", c#n AS MATERIALIZED (SELECT * FROM c#p UNION ALL SELECT * FROM c#p)")
	}
	return map[string]string{
		"repeat":      "SELECT length(repeat('a', 4000000000 + range)) FROM range(1)",
		"lpad":        "SELECT length(lpad('a', (1900000000 + range)::INT, 'x')) FROM range(4)",
		"printf":      "SELECT length(printf('%1000000000d', range)) FROM range(2)",
		"doubling":    doubling + " SELECT count(*) FROM c30",
		"in list":     "SELECT count(*) FROM range(10) WHERE range IN (" + strings.TrimSuffix(strings.Repeat("1000000007,", 300000), ",") + ")",
		"list_reduce": "SELECT list_reduce(range(50000000 + range), lambda a, b: a + b) FROM range(1)",
		"bignum":      "SELECT repeat('9', 3000000 + range::INT)::BIGNUM FROM range(1)",
		"quantile":    "SELECT quantile_cont(hash(range)::DOUBLE, 0.5) FROM range(900000000)",
		"histogram":   "SELECT len(map_keys(histogram(range))) FROM range(900000000)",
		"string_agg":  "SELECT length(string_agg(range::VARCHAR, ',')) FROM range(900000000)",
	}
}

// TestAttacksStayWithinTheirLease: each ends soon after its deadline, and its
// process never holds more than what it held before and the lease, with 15 %.
func TestAttacksStayWithinTheirLease(t *testing.T) {
	const lease, deadline, grace = 1 << 30, time.Second, 500 * time.Millisecond
	for name, sql := range attacks() {
		t.Run(name, func(t *testing.T) {
			opts := bareOptions()
			opts.Grace = grace
			e := newEngine(t, opts) // a process of its own, whose high water begins low
			s := open(t, e, "a")
			alive(t, s)
			require.NoError(t, s.Idle(context.Background(), 0))
			pid := pids(t, e, 1)[0]
			before := highWater(pid)
			stop, peak := make(chan struct{}), make(chan int64)
			go func() {
				most := before
				for {
					select {
					case <-stop:
						peak <- most
						return
					case <-time.After(2 * time.Millisecond):
						most = max(most, highWater(pid))
					}
				}
			}()
			start := time.Now()
			_, err := enginetest.TryRows(context.Background(), s, engine.Statement{
				SQL: sql, Lease: engine.Lease{Memory: lease, Threads: 2, TempBytes: 1 << 30, Timeout: deadline},
			})
			took := time.Since(start)
			close(stop)
			most := <-peak
			t.Logf("%v after %v, from %d to %d MB", err, took, before>>20, most>>20)
			require.Less(t, took, deadline+time.Second+slack)
			require.LessOrEqual(t, most, (before+lease)/100*115)
			require.NoError(t, s.Close())
			alive(t, open(t, e, "a"))
		})
	}
}

// highWater is the most that a process held in memory so far, with what it shares,
// in bytes; 0 for one that has ended.
func highWater(pid int) int64 {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}
