package enginetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Run runs the suite. newEngine returns a fresh engine for each test; the suite
// closes it.
func Run(t *testing.T, newEngine func(testing.TB) engine.Engine) {
	s := suite{newEngine: newEngine}
	t.Run("Statement", s.statement)
	t.Run("Stream", s.stream)
	t.Run("Stop", s.stop)
	t.Run("Repeated", s.repeated)
	t.Run("Barrier", s.barrier)
	t.Run("Version", s.version)
	t.Run("FileList", s.fileList)
	t.Run("Write", s.write)
	t.Run("Lease", s.lease)
	t.Run("Isolation", s.isolation)
	t.Run("Lifecycle", s.lifecycle)
}

// suite holds one of the two ways to open an engine.
type suite struct {
	newEngine func(testing.TB) engine.Engine
	serve     Serve
}

// open starts an engine and opens a session over roots.
func (s suite) open(t *testing.T, roots ...string) engine.Session {
	t.Helper()
	return s.openWith(t, engine.SessionOptions{Roots: roots})
}

func (s suite) openWith(t *testing.T, opts engine.SessionOptions) engine.Session {
	t.Helper()
	if s.serve != nil {
		require.Len(t, opts.Roots, 1)
		return s.openRemote(t, opts)
	}
	e := s.newEngine(t)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	session, err := e.Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	return session
}

// alive checks that the session still runs statements.
func alive(t *testing.T, s engine.Session) {
	t.Helper()
	require.Equal(t, []string{"42"}, Rows(t, s, engine.Statement{SQL: "SELECT 42"}))
}

// endless is a statement that neither ends nor yields a row.
const endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
