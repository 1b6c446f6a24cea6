package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// parentArg makes the test program a parent that can be killed.
const parentArg = "be-parent"

// actAsParent starts a worker with a running statement, prints its process
// number, and waits to be killed.
func actAsParent() {
	opts := bareOptions()
	opts.TempDir = os.Getenv("WORKER_TEST_TEMP")
	e, err := worker.New(opts)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	s, err := e.Open(context.Background(), engine.SessionOptions{})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	go func() { _, _ = s.Query(context.Background(), engine.Statement{SQL: uninterruptible}) }()
	_, _ = fmt.Fprintln(os.Stdout, worker.Pids(e)[0])
	select {}
}

func TestKilledParentLeavesNoChild(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], parentArg)
	cmd.Env = append(os.Environ(), "WORKER_TEST_TEMP="+temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.NoError(t, syscall.Kill(pid, 0), "the child runs")
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + line[:len(line)-1] + "/stat")
		// Whoever adopts it may take its time to bury it.
		return err != nil || strings.Contains(string(state), ") Z ")
	}, time.Minute, 5*time.Millisecond)

	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Len(t, left, 1, "what a killed parent leaves")
	opts := bareOptions()
	opts.TempDir = temp
	e := newEngine(t, opts)
	left, err = os.ReadDir(temp)
	require.NoError(t, err)
	require.Len(t, left, 1, "the next one removes it")
	require.NoError(t, e.Close())
	left, err = os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}
