package worker_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// attacks use memory or time that the engine's own limits do not bound, or bound too late. No guard
// checks these statements.
func attacks() map[string]string {
	return map[string]string{
		// Nothing looks for an interrupt.
		"levenshtein":         "SELECT levenshtein(repeat('a', 150000 + range::INT), repeat('b', 150000)) FROM range(1)",
		"damerau_levenshtein": "SELECT damerau_levenshtein(repeat('a', 9000 + range::INT), repeat('b', 9000)) FROM range(64)",
		"list_reduce":         "SELECT list_reduce(range(50000000 + range), lambda a, b: a + b) FROM range(1)",
		"list_reduce of text": "SELECT length(list_reduce(list_transform(range(200000 + range), lambda x: 'abcdefgh'), lambda a, b: a || b)) " +
			"FROM range(1)",
		"bignum":             "SELECT repeat('9', 3000000 + range::INT)::BIGNUM FROM range(1)",
		"bignum product":     "SELECT length((x * x)::VARCHAR) FROM (SELECT repeat('9', 60000 + range::INT)::BIGNUM AS x FROM range(4))",
		"jaro":               "SELECT jaro_similarity(repeat('ab', 1000000 + range::INT), repeat('ba', 1000000)) FROM range(1)",
		"like":               "SELECT repeat('a', 4000000 + range::INT) LIKE '%a_%a_%a_b' FROM range(1)",
		"regular expression": "SELECT len(regexp_extract_all(repeat('a', 9000000 + range::INT), 'a.*b|a')) FROM range(1)",
		"replacements":       "SELECT length(regexp_replace(repeat('a', 40000000 + range::INT), 'a', 'bbbbbbbbbb', 'g')) FROM range(1)",
		"json of many levels": "SELECT len(json_extract(repeat('{\"a\":', 4000 + range::INT) || '1' || repeat('}', 4000 + range::INT), " +
			"'$..a..a..z')) FROM range(1)",
		// Texts, lists and states that are outside the engine's memory limit.
		"repeat": "SELECT length(repeat('a', 4000000000 + range)) FROM range(1)",
		"lpad":   "SELECT length(lpad('a', (1900000000 + range)::INT, 'x')) FROM range(4)",
		"rpad":   "SELECT length(rpad('a', (1900000000 + range)::INT, 'x')) FROM range(4)",
		"printf": "SELECT length(printf('%1000000000d', range)) FROM range(2)",
		"format": "SELECT length(format('{:1000000000d}', range)) FROM range(2)",
		"hex":    "SELECT length(hex(hex(hex(repeat('a', 200000000 + range::INT))))) FROM range(1)",
		"split":  "SELECT len(string_split(repeat('a,', 150000000 + range::INT), ',')) FROM range(1)",
		"range":  "SELECT len(range(3000000000 + range)) FROM range(1)",
		"nested lists": "SELECT len(list_transform(range(30000 + range), lambda x: list_transform(range(30000), lambda y: [x, y]))) FROM " +
			"range(1)",
		"doubled text": "WITH RECURSIVE r AS (SELECT 'abcdefgh' AS x, 0 AS n UNION ALL SELECT x || x, n + 1 FROM r WHERE n < 40) SELECT " +
			"max(length(x)) FROM r",
		"in list":          "SELECT count(*) FROM range(10) WHERE range IN (" + repeated("1000000007", 1500000) + ")",
		"in list of texts": "SELECT count(*) FROM range(900000000) WHERE range::VARCHAR IN (" + repeated("'1000000007'", 200000) + ")",
		"list":             "SELECT len(list(range)) FROM range(1000000000)",
		"list of structs":  "SELECT len(array_agg({'a': range, 'b': range::VARCHAR, 'c': [range, range]})) FROM range(900000000)",
		"string_agg":       "SELECT length(string_agg(range::VARCHAR, ',')) FROM range(900000000)",
		"json_group_array": "SELECT length(json_group_array({'a': range, 'b': range::VARCHAR})::VARCHAR) FROM range(900000000)",
		"histogram":        "SELECT len(map_keys(histogram(range))) FROM range(900000000)",
		"mode":             "SELECT mode(hash(range)::VARCHAR) FROM range(900000000)",
		"quantile":         "SELECT quantile_cont(hash(range)::DOUBLE, 0.5) FROM range(900000000)",
		"samples by group": "SELECT max(q) FROM (SELECT reservoir_quantile(range, 0.5, 8192) AS q FROM range(900000000) GROUP BY range)",
		"bits by group":    "SELECT count(b) FROM (SELECT bitstring_agg(range % 10000, 0, 9999) AS b FROM range(900000000) GROUP BY range)",
		"largest by group": "SELECT len(max(range, 900000)) FROM range(900000000) GROUP BY range % 1000",
		// Work without end, with what it spills.
		"cross join":        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = 7",
		"recursion":         "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
		"growing recursion": "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r, range(50)) SELECT count(*) FROM r",
		"sleep":             "SELECT sleep_ms(100000 + range) FROM range(2)",
		"doubling":          doubling(),
		"sort": "SELECT * FROM (SELECT hash(range) AS h, range::VARCHAR AS t FROM range(900000000)) ORDER BY h LIMIT 1 OFFSET " +
			"100000000",
		"join": "SELECT count(*) FROM (SELECT hash(range) AS h, range::VARCHAR AS t FROM range(900000000)) a JOIN (SELECT " +
			"hash(range + 1) AS h, range::VARCHAR AS t FROM range(900000000)) b USING (h) WHERE a.t < b.t",
		"range join": "SELECT count(*) FROM range(30000000) a, range(30000000) b WHERE hash(a.range) < hash(b.range) AND hash(a.range + " +
			"1) > hash(b.range + 1)",
		"groups": "SELECT count(*) FROM (SELECT range::VARCHAR AS k, count(*) FROM range(900000000) GROUP BY k)",
		"window": "SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range) ROWS 1000000 PRECEDING) AS s FROM " +
			"range(100000000))",
		"cube": "SELECT count(*) FROM (SELECT 1 FROM range(3000000) r(i) GROUP BY CUBE (i, i+1, i+2, i+3, i+4, i+5, i+6, i+7, i+8," +
			" i+9, i+10, i+11))",
		"pivot": "SELECT count(*) FROM (SELECT * FROM (SELECT range % 100000 AS g, range % 20000 AS k FROM range(20000000)) PIVOT " +
			"(sum(g) FOR k IN (" + numbers(20000) + ") GROUP BY g))",
		"wide rows": "SELECT max(columns(*)) FROM (SELECT " + repeated("repeat('x', 100 + (range % 9)::INT)", 3000) +
			" FROM range(100000000))",
		"wide sort": "SELECT * FROM (SELECT hash(range) AS h, " + repeated("repeat('x', 100 + (range % 9)::INT)", 500) +
			" FROM range(100000000)) ORDER BY h",
		"joins to order":  "SELECT count(*) FROM range(9) t0" + chained(60),
		"nested brackets": "SELECT " + strings.Repeat("(1 + ", 900) + "1" + strings.Repeat(")", 900) + " FROM range(1000000000000)",
	}
}

// representative names an attack of each kind: work that ignores interrupts, memory within and
// outside of the engine's limit, state of aggregates, files, and work without end.
var representative = []string{
	"levenshtein", "list_reduce", "bignum", "like", "repeat", "printf", "split", "nested lists", "doubled text", "in list", "list",
	"string_agg", "quantile", "samples by group", "recursion", "sleep", "doubling", "sort", "join", "window", "pivot", "wide sort",
	"joins to order",
}

// repeated is a list of n times the same.
func repeated(what string, n int) string { return strings.TrimSuffix(strings.Repeat(what+",", n), ",") }

// numbers are those below n.
func numbers(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return strings.Join(out, ",")
}

// doubling has twice as many rows at each of 30 levels, and materialises them all.
func doubling() string {
	sql := "WITH c0 AS (SELECT range AS i FROM range(100))"
	for i := 1; i <= 30; i++ {
		sql += fmt.Sprintf(", c%d AS MATERIALIZED (SELECT * FROM c%d UNION ALL SELECT * FROM c%d)", i, i-1, i-1)
	}
	return sql + " SELECT count(*) FROM c30"
}

// chained joins n relations, each with all before it.
func chained(n int) string {
	var sql strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&sql, " JOIN range(9) t%d ON true", i)
		for j := range i {
			fmt.Fprintf(&sql, " AND t%d.range <> t%d.range + %d", i, j, i+j)
		}
	}
	return sql.String()
}

// TestAttacksStayWithinTheirLease: each statement ends within a second of its deadline. Its process
// never holds more than it held before plus the lease and 15 %, and it never spills more than the
// lease allows.
func TestAttacksStayWithinTheirLease(t *testing.T) {
	const lease, spill, deadline, grace = 1 << 30, 256 << 20, time.Second, 500 * time.Millisecond
	for _, name := range representative {
		require.Contains(t, attacks(), name)
	}
	for name, sql := range attacks() {
		if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" && !slices.Contains(representative, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			opts := bareOptions()
			opts.Grace, opts.TempDir = grace, t.TempDir()
			e := newEngine(t, opts) // a process of its own, whose high water begins low
			s := open(t, e, "a")
			alive(t, s)
			require.NoError(t, s.Idle(context.Background(), 0))
			pid := pids(t, e, 1)[0]
			before := highWater(pid)
			watch := watchAttack(pid, opts.TempDir, deadline)
			_, err := enginetest.TryRows(context.Background(), s, engine.Statement{
				SQL: sql, Lease: engine.Lease{Memory: lease, Threads: 2, TempBytes: spill, Timeout: deadline},
			})
			saw := watch()
			t.Logf("%.200v after %v (stalls of %v), from %d to %d MB, %d MB spilled", err, saw.took.Round(time.Millisecond),
				saw.stalls.Round(time.Millisecond), before>>20, saw.memory>>20, saw.spilled>>20)
			require.Error(t, err)
			require.LessOrEqual(t, saw.took-saw.stalls, deadline+time.Second)
			require.LessOrEqual(t, saw.memory, (before+lease)/100*115+saw.late())
			require.LessOrEqual(t, saw.spilled, int64(spill))
			require.NoError(t, s.Close())
			alive(t, open(t, e, "a"))
		})
	}
}

// TestSpillStaysWithinItsBytes: a statement that needs more disk space than its lease allows fails,
// and leaves no files. Neither does one whose process is killed.
func TestSpillStaysWithinItsBytes(t *testing.T) {
	const spill = 64 << 20
	for name, c := range map[string]struct {
		sql  string
		kill bool
		want error
	}{
		"sort":   {attacks()["sort"], false, engine.ErrOutOfMemory},
		"groups": {attacks()["groups"], false, engine.ErrOutOfMemory},
		"killed": {attacks()["sort"], true, engine.ErrFatal},
	} {
		t.Run(name, func(t *testing.T) {
			opts := bareOptions()
			opts.TempDir = t.TempDir()
			e := newEngine(t, opts)
			s := open(t, e, "a")
			alive(t, s)
			pid := pids(t, e, 1)[0]
			watch := watchAttack(pid, opts.TempDir, time.Hour)
			ended := make(chan error, 1)
			go func() {
				_, err := enginetest.TryRows(context.Background(), s, engine.Statement{
					SQL: c.sql, Lease: engine.Lease{Memory: 128 << 20, Threads: 1, TempBytes: spill, Timeout: time.Minute},
				})
				ended <- err
			}()
			if c.kill {
				require.Eventually(t, func() bool { return enginetest.BytesBelow(opts.TempDir) > 0 }, time.Minute, time.Millisecond)
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
			err := <-ended
			saw := watch()
			t.Logf("%.200v, %d MB spilled", err, saw.spilled>>20)
			require.ErrorIs(t, err, c.want)
			if !c.kill {
				require.Positive(t, saw.spilled)
			}
			require.LessOrEqual(t, saw.spilled, int64(spill))
			require.Zero(t, enginetest.BytesBelow(opts.TempDir), "it stayed")
		})
	}
}

// TestAttacksTogether: what statements of one process hold together is never more
// than what it held before and their leases, with 15 %.
func TestAttacksTogether(t *testing.T) {
	const lease, sessions, deadline = 384 << 20, 3, time.Second
	for _, names := range [][sessions]string{{"quantile", "histogram", "list"}, {"nested lists", "sort", "list_reduce"},
		{"range", "range", "range"}, {"bits by group", "samples by group", "wide sort"}} {
		t.Run(strings.Join(names[:], ", "), func(t *testing.T) {
			opts := bareOptions()
			opts.Grace, opts.TempDir = 500*time.Millisecond, t.TempDir()
			e := newEngine(t, opts)
			var together [sessions]engine.Session
			for i := range together {
				together[i] = open(t, e, "a")
				alive(t, together[i])
				require.NoError(t, together[i].Idle(context.Background(), 0))
			}
			pid := pids(t, e, 1)[0]
			before := highWater(pid)
			watch := watchAttack(pid, opts.TempDir, deadline)
			var running sync.WaitGroup
			var errs [sessions]error
			for i, s := range together {
				running.Go(func() {
					_, errs[i] = enginetest.TryRows(context.Background(), s, engine.Statement{
						SQL: attacks()[names[i]], Lease: engine.Lease{Memory: lease, Threads: 2, TempBytes: 64 << 20, Timeout: deadline},
					})
				})
			}
			running.Wait()
			saw := watch()
			t.Logf("%.200v after %v (stalls of %v), from %d to %d MB", errs, saw.took.Round(time.Millisecond), saw.stalls.Round(time.Millisecond),
				before>>20, saw.memory>>20)
			require.LessOrEqual(t, saw.took-saw.stalls, deadline+time.Second)
			require.LessOrEqual(t, saw.memory, (before+sessions*lease)/100*115+saw.late())
			require.LessOrEqual(t, saw.spilled, int64(sessions*64<<20))
			for _, err := range errs {
				require.Error(t, err)
			}
		})
	}
}

// observed is what was seen of an attack.
type observed struct {
	took time.Duration
	// stalls are those of [enginetest.WatchStalls], since the deadline.
	stalls          time.Duration
	memory, spilled int64
	// stall is the longest delay of a timer.
	stall time.Duration
}

// late is what a statement can allocate, 4 GiB a second, in the longest time for which the machine
// kept this process from looking at its children's memory.
func (o observed) late() int64 { return int64(o.stall.Seconds() * (4 << 30)) }

// watchAttack looks at a process, and at what lies below temp, until the function
// returned is called.
func watchAttack(pid int, temp string, deadline time.Duration) func() observed {
	const step = 2 * time.Millisecond
	stop, measured := make(chan struct{}), make(chan observed)
	start, stalls := time.Now(), enginetest.WatchStalls(deadline)
	go func() {
		var saw observed
		for n := 0; ; n++ {
			saw.memory = max(saw.memory, highWater(pid))
			if n%10 == 0 {
				saw.spilled = max(saw.spilled, enginetest.BytesBelow(temp))
			}
			asked := time.Now()
			select {
			case <-stop:
				measured <- saw
				return
			case <-time.After(step):
				saw.stall = max(saw.stall, time.Since(asked)-step)
			}
		}
	}()
	return func() observed {
		took := time.Since(start)
		close(stop)
		saw := <-measured
		saw.took, saw.stalls = took, stalls()
		return saw
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
