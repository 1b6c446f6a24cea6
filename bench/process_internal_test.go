package bench

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescendants checks that a process's children and their children are found as
// long as they live.
func TestDescendants(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var line [16]byte
	_, err = out.Read(line[:]) // the second process has started
	require.NoError(t, err)

	family, err := descendants(os.Getpid())
	require.NoError(t, err)
	require.Contains(t, family, cmd.Process.Pid)
	grandchildren, err := childrenOf(cmd.Process.Pid)
	require.NoError(t, err)
	require.Len(t, grandchildren, 1)
	require.Contains(t, family, grandchildren[0])
	all, err := usage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, all.RSS, usageOf([]int{os.Getpid()}).RSS)

	sleeper, err := os.FindProcess(grandchildren[0])
	require.NoError(t, err)
	require.NoError(t, sleeper.Kill())
	require.NoError(t, cmd.Wait())
	family, err = descendants(os.Getpid())
	require.NoError(t, err)
	require.NotContains(t, family, cmd.Process.Pid)
	_, err = usage(cmd.Process.Pid)
	require.Error(t, err)
}
