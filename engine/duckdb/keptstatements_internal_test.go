package duckdb

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
	in, err := openInstance(baseConfig())
	require.NoError(t, err)
	defer in.close()
	k := newKeptStatements(in)
	defer k.shrink(0)
	run := func(sql string, toTheEnd bool) {
		c, err := k.open(sql, engine.Args{}, func() error { return nil })
		require.NoError(t, err)
		defer c.close()
		for toTheEnd {
			batch, err := c.next()
			if err != nil {
				break
			}
			batch.Release()
		}
	}
	for i := range 3 * maxKeptStatements {
		run("SELECT "+strconv.Itoa(i), true)
		run("SELECT 0", true)
	}
	require.Equal(t, maxKeptStatements, k.held.Len())
	require.True(t, k.held.Contains("SELECT 0"), "the one that was used last")
	for _, sql := range []string{"SELECT 0", "SELECT 1 -- " + strings.Repeat("x", maxKeptText)} {
		run(sql, sql != "SELECT 0")
		require.False(t, k.held.Contains(sql))
	}
	run("SELECT 0", true)
	require.True(t, k.held.Contains("SELECT 0"))
	k.shrink(0)
	require.Zero(t, k.held.Len())
}
