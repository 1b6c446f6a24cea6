package enginetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// repeated runs statements of the same text several times: an engine may cache what
// it derives from the text, but each run is a separate statement.
func (s suite) repeated(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 100)
	session := s.open(t, root)
	src := table.Listed()
	copied := "SELECT id, name FROM " + src.Relation() + " WHERE id < 50"
	barrier := engine.Barrier{Name: engine.BarrierName(src, copied), SQL: copied, Source: src}
	ask := func(sql string, args ...any) ([]string, error) {
		return TryRows(context.Background(), session, engine.Statement{
			SQL: sql, Args: engine.Args{Positional: args}, Sources: []engine.Source{src}, Barriers: []engine.Barrier{barrier},
		})
	}
	answer := func(sql string, args ...any) []string {
		t.Helper()
		rows, err := ask(sql, args...)
		require.NoError(t, err)
		return rows
	}
	t.Run("Values", func(t *testing.T) {
		for _, relation := range []string{src.Relation(), barrier.Relation()} {
			for _, id := range []string{"7", "8", "7", "49"} {
				require.Equal(t, []string{id}, answer("SELECT id FROM "+relation+" WHERE id = $1", json.Number(id)))
			}
			require.Empty(t, answer("SELECT id FROM "+relation+" WHERE id = $1", json.Number("100")))
		}
	})
	t.Run("Kinds", func(t *testing.T) {
		for _, c := range []struct {
			value any
			kind  string
		}{{json.Number("1"), "BIGINT"}, {"1", "VARCHAR"}, {1.5, "DOUBLE"}, {true, "BOOLEAN"}, {json.Number("1"), "BIGINT"}} {
			require.Equal(t, []string{c.kind}, answer("SELECT typeof($1)", c.value))
		}
	})
	t.Run("Time", func(t *testing.T) {
		const sql = "SELECT epoch_us(now())"
		require.NotEqual(t, answer(sql), answer(sql), "each run has its own time")
	})
	t.Run("AfterFailure", func(t *testing.T) {
		const sql = "SELECT CAST($1 AS INTEGER)"
		for range 2 {
			_, err := ask(sql, "x")
			require.Equal(t, engine.KindRuntime, failure(t, err).Kind)
			_, err = ask(sql)
			require.Equal(t, engine.KindBind, failure(t, err).Kind)
			require.Equal(t, []string{"12"}, answer(sql, "12"))
		}
	})
	t.Run("GivenUp", func(t *testing.T) {
		const sql = "SELECT range FROM range(1000000)"
		for range 3 {
			r, err := session.Query(context.Background(), engine.Statement{SQL: sql})
			require.NoError(t, err)
			batch, err := r.Next(context.Background())
			require.NoError(t, err)
			batch.Release()
			require.NoError(t, r.Close())
		}
		require.Len(t, Rows(t, session, engine.Statement{SQL: sql}), 1_000_000)
	})
	t.Run("OtherCopies", func(t *testing.T) {
		// The catalog changes between two runs.
		const sql = "SELECT count(*) FROM "
		for range 3 {
			require.Equal(t, []string{"50"}, answer(sql+barrier.Relation()))
			require.Equal(t, []string{"100"}, answer(sql+src.Relation()))
			require.NoError(t, session.Idle(context.Background(), 0))
		}
	})
}
