package harness

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// StartReplicas starts servers with one catalog in Postgres and one set of tables. Each
// has a data directory of its own. change may alter the configuration of all.
func StartReplicas(t testing.TB, number int, change func(*Settings)) []*Server {
	t.Helper()
	first := Start(t, func(c *Settings) {
		c.DatabaseURL, c.KeyFile = pgtest.URL(t), filepath.Join(t.TempDir(), "keys.json")
		if change != nil {
			change(c)
		}
	})
	replicas := []*Server{first}
	for range number - 1 {
		next := &Server{T: t, Config: first.Config, Log: &Log{}, Boot: first.Boot, Schema: first.Schema}
		next.Config.DataDir = t.TempDir()
		next.Start()
		next.Admin = next.Client(first.Admin.Key, first.Admin.User)
		replicas = append(replicas, next)
	}
	return replicas
}

// reachTime is how long a change may take to reach every replica. On an idle machine a second is
// enough. The log has the times.
const reachTime = 5 * time.Second

// Reaches checks that a condition holds on every replica within [reachTime], not counting the time
// for which the machine delays everything.
func Reaches(t testing.TB, replicas []*Server, what string, holds func(*Server) bool) {
	t.Helper()
	begun, stalls := time.Now(), enginetest.WatchStalls(0)
	for i, replica := range replicas {
		require.Eventually(t, func() bool { return holds(replica) }, time.Minute, 5*time.Millisecond, "%s: on replica %d", what, i)
	}
	took, stalled := time.Since(begun), stalls()
	t.Logf("%s: on every replica after %s (stalls of %s)", what, took, stalled)
	require.Less(t, took-stalled, reachTime, what)
}

// Within checks that a condition holds within one second, not counting the time for which
// the machine delays everything.
func Within(t testing.TB, what string, holds func() bool) {
	t.Helper()
	begun, stalls := time.Now(), enginetest.WatchStalls(0)
	require.Eventually(t, holds, time.Minute, 5*time.Millisecond, what)
	took, stalled := time.Since(begun), stalls()
	t.Logf("%s: after %s (stalls of %s)", what, took, stalled)
	require.Less(t, took-stalled, time.Second, what)
}
