package native

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// TestKeptStatementsAreFew: the last ones that ran to their end, no long ones, and
// none twice.
func TestKeptStatementsAreFew(t *testing.T) {
	in, err := Open(BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	k := NewStatements(in)
	defer k.Shrink(0)
	run := func(sql string, toTheEnd bool) {
		c, err := k.Open(sql, engine.Args{}, func() error { return nil })
		require.NoError(t, err)
		defer c.Close()
		for toTheEnd {
			batch, err := c.Next()
			if err != nil {
				break
			}
			batch.Release()
		}
	}
	for i := range 3 * maxStatements {
		run("SELECT "+strconv.Itoa(i), true)
		run("SELECT 0", true)
	}
	require.Equal(t, maxStatements, k.held.Len())
	require.True(t, k.held.Contains("SELECT 0"), "the one that was used last")
	for _, sql := range []string{"SELECT 0", "SELECT 1 -- " + strings.Repeat("x", maxStatementText)} {
		run(sql, sql != "SELECT 0")
		require.False(t, k.held.Contains(sql))
	}
	run("SELECT 0", true)
	require.True(t, k.held.Contains("SELECT 0"))
	k.Shrink(0)
	require.Zero(t, k.held.Len())
}
