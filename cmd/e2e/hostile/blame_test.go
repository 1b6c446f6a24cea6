package hostile_test

import (
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// slowly is a statement that runs for a while before it answers.
const slowly = "SELECT count(*) AS n FROM range(40000) a, range(10000) b WHERE a.range * b.range = 7"

// TestStatementThatCrashedItsProcessIsNotRetried checks that a statement that was the
// only one in its process when the process crashed is not retried. Other statements, and
// one whose process was killed from outside, are retried, each in a process of its own.
func TestStatementThatCrashedItsProcessIsNotRetried(t *testing.T) {
	before := harness.WorkerProcesses(t)
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	workers := func() []string {
		return slices.DeleteFunc(harness.WorkerProcesses(t), func(pid string) bool { return slices.Contains(before, pid) })
	}
	// run starts n statements and sends the signal to their process once they run.
	run := func(n int, signal syscall.Signal) (statuses []int) {
		results := make(chan int, n)
		for i := range n {
			go func() {
				got, err := s.Admin.Answer(i, harness.Ask{Method: "POST", Path: "/v1/query",
					Body: map[string]any{"sql": slowly + " + " + strconv.Itoa(i)}})
				if err != nil {
					got.Status = -1
				}
				results <- got.Status
			}()
		}
		var worker string
		require.Eventually(t, func() bool {
			found := workers()
			if s.Metric(t, `lakewarden_sessions{state="running"}`) != float64(n) || len(found) != 1 {
				return false
			}
			worker = found[0]
			return true
		}, time.Minute, 5*time.Millisecond)
		// A session is leased shortly before its statement runs.
		busy := harness.ProcessorTicks(t, worker)
		require.Eventually(t, func() bool { return harness.ProcessorTicks(t, worker) >= busy+10*n }, time.Minute, 5*time.Millisecond)
		pid, err := strconv.Atoi(worker)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, signal))
		for range n {
			statuses = append(statuses, <-results)
		}
		return statuses
	}
	starts := func() float64 { return s.Metric(t, "lakewarden_worker_starts_total") }

	require.Equal(t, []int{503}, run(1, syscall.SIGSEGV))
	require.EqualValues(t, 1, starts(), "no second process was tried")
	require.Equal(t, []int{200}, run(1, syscall.SIGKILL))
	require.EqualValues(t, 3, starts())
	require.Equal(t, []int{200, 200}, run(2, syscall.SIGSEGV))
	require.EqualValues(t, 6, starts(), "a process for each of the two")
	require.Eventually(t, func() bool { return len(workers()) == 0 }, time.Minute, 10*time.Millisecond, "which end with them")
	require.Contains(t, s.Log.String(), `"msg":"worker ended","organisation":"`+s.Boot.OrganisationID+`"`)
}
