package duckdb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

func newParser(t *testing.T) *duckdb.Parser {
	t.Helper()
	p := duckdb.NewParser()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestParserRoundTrip(t *testing.T) {
	p := newParser(t)
	for _, sql := range []string{
		`SELECT 1 AS a`,
		`SELECT (a + 1), 'it''s é' FROM t WHERE (b = $1) ORDER BY a LIMIT 3`,
		`WITH x AS (SELECT 1 AS "select") SELECT "select" FROM x`,
	} {
		tree, err := p.Serialize(context.Background(), sql)
		require.NoError(t, err)
		back, err := p.Deserialize(context.Background(), tree)
		require.NoError(t, err)
		again, err := p.Serialize(context.Background(), back)
		require.NoError(t, err)
		require.JSONEq(t, withoutLocations(string(tree)), withoutLocations(string(again)))
	}
}

func TestParserRefusals(t *testing.T) {
	p := newParser(t)
	for _, c := range []struct {
		name, sql string
		kind      engine.Kind
		class     string
		at        string // the text at the reported position
	}{
		{"typo", `selec 1`, engine.KindSyntax, "syntax", "selec"},
		{"late typo", `SELECT a frm t WHERE`, engine.KindSyntax, "syntax", "t WHERE"},
		{"after wide characters", `SELECT 'ééé€𝄞', a frm t WHERE`, engine.KindSyntax, "syntax", "t WHERE"},
		{"insert", `INSERT INTO t VALUES (1)`, engine.KindNotSelect, "not_select", ""},
		{"mixed", `SELECT 1; DROP TABLE t`, engine.KindNotSelect, "not_select", ""},
		{"pragma", `PRAGMA database_list`, engine.KindNotSelect, "not_select", ""},
		{"import", `IMPORT DATABASE '/etc'`, engine.KindNotSelect, "not_select", ""},
		{"nul", "SELECT 1\x00; DROP TABLE t", engine.KindSyntax, "invalid_character", "\x00"},
		{"broken utf-8", "SELECT '\xff'", engine.KindSyntax, "invalid_utf8", "\xff"},
		{"too long", strings.Repeat(" ", duckdb.MaxSQL) + "1", engine.KindSyntax, "too_long", "1"},
		{"forged reply", `SELECT '{"error":true}' frm x y`, engine.KindSyntax, "syntax", "x y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := p.Serialize(context.Background(), c.sql)
			var e *engine.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.kind, e.Kind, "%+v", e)
			require.Equal(t, c.class, e.Class)
			if c.at != "" {
				require.GreaterOrEqual(t, e.Position, 0)
				require.True(t, strings.HasPrefix(c.sql[e.Position:], c.at), "position %d", e.Position)
			}
		})
	}
}

func TestParserDeserializeRefusesNonsense(t *testing.T) {
	p := newParser(t)
	for _, tree := range []string{``, `nope`, `{}`, `{"error":false,"statements":[{"node":{"type":"SELECT_NODE"}}]}`, "\x00", "\xff"} {
		_, err := p.Deserialize(context.Background(), []byte(tree))
		var e *engine.Error
		require.ErrorAs(t, err, &e, tree)
		require.Equal(t, engine.KindInternal, e.Kind)
	}
}

func TestParserIsConcurrentAndCancellable(t *testing.T) {
	p := newParser(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				want := strings.Repeat("x", i+1)
				tree, err := p.Serialize(context.Background(), "SELECT '"+want+"' AS a")
				if !assertNoError(t, err) {
					return
				}
				sql, err := p.Deserialize(context.Background(), tree)
				if !assertNoError(t, err) || sql != "SELECT '"+want+"' AS a" {
					t.Errorf("got %q", sql)
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Serialize(ctx, "SELECT 1")
	require.ErrorIs(t, err, engine.ErrInterrupted)
	require.NoError(t, p.Close())
	_, err = p.Serialize(context.Background(), "SELECT 1")
	require.True(t, errors.Is(err, engine.ErrInterrupted))
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Errorf("unexpected: %v", err)
	}
	return err == nil
}

// withoutLocations blanks what moves when a statement is printed anew.
func withoutLocations(tree string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(tree, `"query_location":`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(`"query_location":0`)
		tree = strings.TrimLeft(after, "0123456789")
	}
}
