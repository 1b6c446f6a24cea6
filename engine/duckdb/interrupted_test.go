package duckdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// TestInterruptsLeaveNothingHalfMade interrupts statements and Idle after ever longer times. An
// attachment, a view or a copy that is left half-made or half-dropped would be missing for a later
// statement.
func TestInterruptsLeaveNothingHalfMade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, 1000)
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })

	statements := map[string]engine.Statement{}
	for name, src := range map[string]engine.Source{"log": table.Latest(), "list": table.Listed()} {
		filter := "SELECT id FROM " + src.Relation() + " WHERE id >= 0"
		filtered := engine.Barrier{Name: engine.BarrierName(src, filter), SQL: filter, Source: src}
		statements[name] = engine.Statement{SQL: "SELECT sum(id) FROM " + src.Relation(), Sources: []engine.Source{src}}
		statements[name+", filtered"] = engine.Statement{SQL: "SELECT sum(id) FROM " + filtered.Relation(), Barriers: []engine.Barrier{filtered}}
	}
	for name, st := range statements {
		var interrupted int
		for i := range 60 {
			patience := time.Duration(i) * 200 * time.Microsecond
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if _, err := enginetest.TryRows(ctx, session, st); err != nil {
				require.ErrorIs(t, err, engine.ErrInterrupted, "%s after %s", name, patience)
				interrupted++
			}
			cancel()
			require.Equal(t, []string{"499500"}, enginetest.Rows(t, session, st), "%s, interrupted after %s", name, patience)

			ctx, cancel = context.WithTimeout(t.Context(), patience/4)
			if err := session.Idle(ctx, 0); err != nil {
				require.ErrorIs(t, err, engine.ErrInterrupted, "Idle after %s", patience/4)
			}
			cancel()
			require.Equal(t, []string{"499500"}, enginetest.Rows(t, session, st), "%s, Idle interrupted after %s", name, patience/4)
			require.NoError(t, session.Idle(t.Context(), 0))
		}
		t.Logf("%s: %d of 60 statements were interrupted", name, interrupted)
	}
}
