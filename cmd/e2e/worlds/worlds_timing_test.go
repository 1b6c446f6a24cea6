package worlds_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// variantTiming enables the measurement of times, which needs an idle machine.
// TestTwoWorldsReadAlike checks the cause of differences, the files and row groups
// that are read, on any machine.
const variantTiming = "LAKEWARDEN_TEST_TIMING"

const (
	// timingRuns is how often each statement of a class runs for values of either
	// kind, and timingBound how much of the larger median they may differ by.
	timingRuns  = 150
	timingBound = 0.20
)

const (
	timingFiles = 6
	timingRows  = 40_960
	// hiddenFrom is the least hidden value, and nowhere one above all.
	hiddenFrom = 10_000_000
	nowhere    = 90_000_000
)

// timingTable has files in which every second row is hidden, and hidden values
// grow from row group to row group and from file to file.
func timingTable(name string) worldTable {
	out := worldTable{name: name, columns: append(slices.Clone(boundColumns), column{"pad", "string"})}
	for f := range timingFiles {
		out.commits = append(out.commits,
			[]worldFile{{rowGroup: 4096,
				sql: fmt.Sprintf(`SELECT CASE WHEN i %% 2 = 0 THEN i ELSE i + %d END AS id, CASE WHEN i %% 2 = 0 THEN 'a' ELSE 'b' END AS tenant,
			'n' || (i + 1000000) AS name, DATE '2000-01-01' + (i // 100)::INTEGER AS day, [1] AS ls, repeat('x', 40) || i AS pad FROM range(%d, %d) r(i)`,
					hiddenFrom, f*timingRows, (f+1)*timingRows)}})
	}
	return out
}

// timingClasses are ways in which a statement is answered. {v} is another value
// each time.
var timingClasses = []struct{ name, sql string }{
	{"read in place", "SELECT max(name), count(pad) FROM {t} WHERE id = {v}"},
	{"read in order", "SELECT id, name FROM {t} WHERE id = {v} ORDER BY name LIMIT 3"},
	{"from a copy of its own", "SELECT name, regexp_replace(pad, 'x', 'y') FROM {t} WHERE id = {v}"},
	{"from a copy that is reused", "SELECT name, pad FROM {t} WHERE id = {v}"},
}

// TestTwoWorldsTimeAlike checks that a statement about a value of hidden rows takes as
// long as one about a value of no row.
func TestTwoWorldsTimeAlike(t *testing.T) {
	if os.Getenv(variantTiming) == "" {
		t.Skipf("times are measured by make suites, which sets %s", variantTiming)
	}
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	timingTable("t").Write(t, s.Root)
	timingTable("clear").Write(t, s.Root)
	s.Discover()
	s.Policy("t", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	reader := s.Member("reader@acme.example", "viewer", map[string]string{"tenant": "a"})
	tell := []string{} // all classes are measured before the test fails
	compare := func(class string, hidden, none time.Duration) {
		differ := (max(hidden, none) - min(hidden, none)).Seconds() / max(hidden, none).Seconds()
		t.Logf("timing, %s: hidden values %.2f ms, values of no row %.2f ms, %.0f %% apart", class, hidden.Seconds()*1e3, none.Seconds()*1e3,
			differ*100)
		if differ > timingBound {
			tell = append(tell, class)
		}
	}
	for _, class := range timingClasses {
		hidden, none := medians(t, statements(reader, strings.ReplaceAll(class.sql, "{t}", s.Schema+".t")))
		compare(class.name, hidden, none)
	}
	hidden, none := medians(t, func(v int) harness.Reply {
		return reader.Call("POST", s.TablePath("t")+"/analyze",
			object{"action": "summary", "columns": list{"name"}, "where": fmt.Sprintf("id = %d", v)})
	})
	compare("an analysis", hidden, none)
	s.Admin.OK("PUT", s.TablePath("t")+"/columns/id/domain/range", object{"min": "0"})
	hidden, none = medians(t, func(v int) harness.Reply {
		return reader.Call("GET", s.TablePath("t")+"/columns/id/domain/in-use?value="+fmt.Sprint(v), nil)
	})
	compare("a value in use", hidden, none)
	writer := s.Member("writer@acme.example", "editor", map[string]string{"tenant": "a"})
	hidden, none = medians(t, func(v int) harness.Reply {
		return writer.Call("POST", s.TablePath("t")+"/rows/merge?dry_run=true",
			object{"on": list{"id"}, "rows": list{object{"id": v, "name": "x"}}, "when_not_matched": "ignore"})
	})
	compare("a merge", hidden, none)
	// Times differ if every row is visible. Otherwise this test could not fail.
	found, none := medians(t, statements(reader, strings.ReplaceAll(timingClasses[0].sql, "{t}", s.Schema+".clear")))
	t.Logf("timing, in the clear: values of some row %.2f ms, values of no row %.2f ms", found.Seconds()*1e3, none.Seconds()*1e3)
	require.Greater(t, found, none)
	require.Empty(t, tell, "classes of statements whose times tell of hidden values")
}

// statements returns a function that runs a statement for a value.
func statements(c *harness.Client, sql string) func(v int) harness.Reply {
	return func(v int) harness.Reply { return c.Query(strings.ReplaceAll(sql, "{v}", fmt.Sprint(v))) }
}

// medians asks for values of hidden rows and for values of no row, in turn.
func medians(t *testing.T, ask func(v int) harness.Reply) (hidden, none time.Duration) {
	t.Helper()
	took := func(v int) time.Duration {
		start := time.Now()
		r := ask(v)
		elapsed := time.Since(start)
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		return elapsed
	}
	var times [2][]time.Duration
	for i := range timingRuns + 10 {
		// A value in the middle of each file and row group after the other.
		at := hiddenFrom + i*7919%(timingFiles*timingRows)/2*2 + 1
		pair := [2]time.Duration{took(at), took(nowhere + i)}
		if i >= 10 { // the first ones open files and make the copy
			times[0], times[1] = append(times[0], pair[0]), append(times[1], pair[1])
		}
	}
	for _, of := range times {
		slices.Sort(of)
	}
	return times[0][timingRuns/2], times[1][timingRuns/2]
}
