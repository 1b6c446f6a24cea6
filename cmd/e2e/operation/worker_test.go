package operation_test

import (
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestWorkersOutliveTheSignalOfAShutdown checks that workers ignore the signal of a
// shutdown, which service managers send to all processes of a service, so that statements
// can use the time of the drain.
func TestWorkersOutliveTheSignalOfAShutdown(t *testing.T) {
	before := harness.WorkerProcesses(t)
	s := harness.Start(t, nil)
	s.Table("t", "SELECT 1::BIGINT AS id", nil, column{"id", "long"})
	statement := "SELECT id FROM " + s.Schema + ".t"
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows(statement))
	workers := slices.DeleteFunc(harness.WorkerProcesses(t), func(pid string) bool { return slices.Contains(before, pid) })
	require.NotEmpty(t, workers)
	for _, text := range workers {
		pid, err := strconv.Atoi(text)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
		require.NoError(t, syscall.Kill(pid, syscall.SIGINT))
	}
	require.Never(t, func() bool {
		return slices.ContainsFunc(workers, func(pid string) bool { return !slices.Contains(harness.WorkerProcesses(t), pid) })
	}, 500*time.Millisecond, 20*time.Millisecond)
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows(statement))
}
