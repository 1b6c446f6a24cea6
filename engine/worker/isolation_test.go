package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakewarden/lakewarden/engine"
)

func TestWhatAChildHas(t *testing.T) {
	t.Setenv("LAKEWARDEN_DATABASE_URL", "postgres://secret")
	// A descriptor that a library opened without thought.
	secret := filepath.Join(t.TempDir(), "secret")
	fd, err := unix.Open(secret, unix.O_CREAT|unix.O_RDWR, 0o600)
	require.NoError(t, err)
	defer unix.Close(fd)

	temp := t.TempDir()
	opts := bareOptions()
	opts.TempDir = temp
	e := newEngine(t, opts)
	s := open(t, e, "a")
	alive(t, s)
	pid := pids(t, e, 1)[0]
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	read := func(name string) string {
		text, err := os.ReadFile(proc + name)
		require.NoError(t, err)
		return string(text)
	}
	require.Empty(t, read("environ"))
	require.Equal(t, os.Args[0]+"\x00"+childArg+"\x00", read("cmdline"), "nothing but the command")
	require.Contains(t, read("status"), "NoNewPrivs:\t1\n")
	// Of what root may do, at most to read and write files of others: the data.
	for _, line := range []string{"CapPrm", "CapEff", "CapBnd"} {
		_, after, _ := strings.Cut(read("status"), line+":\t")
		held, err := strconv.ParseUint(after[:16], 16, 64)
		require.NoError(t, err)
		if os.Geteuid() == 0 || line != "CapBnd" { // who may not drop them cannot gain them
			require.Zero(t, held&^(1<<unix.CAP_DAC_OVERRIDE|1<<unix.CAP_DAC_READ_SEARCH), "%s %x", line, held)
		}
	}
	require.Regexp(t, `Max core file size\s+0\s+0`, read("limits"))
	require.Equal(t, "1000\n", read("oom_score_adj"))
	group, err := unix.Getpgid(pid)
	require.NoError(t, err)
	require.Equal(t, pid, group)
	dir, err := os.Readlink(proc + "cwd")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(dir, temp+"/"), dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	files, err := os.ReadDir(proc + "fd")
	require.NoError(t, err)
	for _, f := range files {
		target, err := os.Readlink(proc + "fd/" + f.Name())
		if err != nil {
			continue // closed meanwhile
		}
		require.NotEqual(t, secret, target)
		// Go's runtime watches the limits of its control group, the engine its own memory.
		inside := strings.HasPrefix(target, dir) || target == "/dev/null" || strings.HasPrefix(target, "/sys/fs/cgroup/") || target == proc+
			"statm"
		require.True(t, inside || strings.Contains(target, ":["), "%s is %s", f.Name(), target)
	}
	require.NoError(t, e.Close())
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestNoDescriptorsLeft: what this process lacks costs no running statement.
func TestNoDescriptorsLeft(t *testing.T) {
	e := newEngine(t, bareOptions())
	s := open(t, e, "a")
	alive(t, s)
	pid := pids(t, e, 1)[0]
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	_, err := e.Open(context.Background(), engine.SessionOptions{Owner: "a"})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, engine.ErrFatal)
	require.NotErrorIs(t, err, engine.ErrLost)
	alive(t, s)
	alive(t, open(t, e, "a"))
	require.Equal(t, []int{pid}, pids(t, e, 1))
}

func TestOwnersShareNothing(t *testing.T) {
	e := newEngine(t, bareOptions())
	alive(t, open(t, e, "a"))
	alive(t, open(t, e, "a"))
	pids(t, e, 1)
	alive(t, open(t, e, "b"))
	pids(t, e, 2)
}

func TestIdleProcessEnds(t *testing.T) {
	opts := bareOptions()
	opts.IdleTimeout = 50 * time.Millisecond
	e := newEngine(t, opts)
	s := open(t, e, "a")
	alive(t, s)
	pid := pids(t, e, 1)[0]
	require.Never(t, func() bool { return len(pidsOf(e)) == 0 }, 200*time.Millisecond, 20*time.Millisecond, "it has a session")
	require.NoError(t, s.Close())
	gone(t, pid)
	alive(t, open(t, e, "a"))
}
