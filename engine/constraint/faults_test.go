package constraint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestChecksMeetNoFaultOfTheEngine checks that the rows that break a check are the same in a file as
// in memory. The engine wrongly skips row groups of NULLs if a disjunction over one column has IS
// DISTINCT FROM a constant, into which it also converts IS NOT TRUE.
func TestChecksMeetNoFaultOfTheEngine(t *testing.T) {
	e, err := duckdb.New(t.Context(), duckdb.Options{Verified: []extension.Verified{}, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	scratch := t.TempDir()
	session, err := e.Open(t.Context(), engine.SessionOptions{Owner: "o", Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })

	// Row groups have 122880 rows.
	const rows = "SELECT i AS n, CASE WHEN i >= 130000 THEN (i % 3)::INTEGER END AS x, CASE WHEN i >= 130000 THEN i % 2 = 0 END AS b, " +
		"CASE WHEN i >= 130000 THEN 's' || i % 3 END AS s FROM range(140000) r(i)"
	files, err := session.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: rows}})
	require.NoError(t, err)
	require.Len(t, files, 1)
	source := engine.Source{Location: scratch, Identity: "faults", Files: engine.NewFileList([]engine.Column{
		{Name: "n", Type: sqltype.BigInt, Nullable: true}, {Name: "x", Type: sqltype.Integer, Nullable: true},
		{Name: "b", Type: sqltype.Boolean, Nullable: true}, {Name: "s", Type: sqltype.Varchar, Nullable: true},
	}, true, []engine.FileGroup{{Paths: []string{files[0].Name}}})}
	s := constraint.Scope{Session: session, Sources: []engine.Source{source}}
	inFile := constraint.Relation{From: source.Relation(), Row: "n"}
	inMemory := constraint.Relation{From: "(" + rows + ")", Row: "n"}

	count := func(where string) []string {
		return enginetest.Rows(t, session, engine.Statement{SQL: "SELECT count(*) FROM " + source.Relation() + " WHERE " + where,
			Sources: s.Sources})
	}
	require.NotEqual(t, count("coalesce(x IS DISTINCT FROM 1, false) OR x = 3"), count("x IS DISTINCT FROM 1 OR x = 3"),
		"the engine has the fault no more")

	schema := columns(t, "n", "long", "x", "integer", "b", "boolean", "s", "string")
	var all []constraint.Rule
	for _, text := range []string{
		"x IS DISTINCT FROM 1 OR x = 3", "x IS NOT DISTINCT FROM 1 AND x <> 3", "NOT (x IS DISTINCT FROM 1 OR x = 3)",
		"NOT (x IS NOT DISTINCT FROM 1 AND x <> 3)", "x IS DISTINCT FROM 1 OR x IS DISTINCT FROM 2",
		"n > 3 AND (x IS DISTINCT FROM 1 OR x > 5)",
		"NOT (x IS DISTINCT FROM 1 OR x IS DISTINCT FROM 2)", "(x IS DISTINCT FROM 1) = (n = 3 OR x IS DISTINCT FROM 2)",
		"b IS NOT TRUE OR b", "NOT (b IS NOT TRUE OR b = false)", "b IS NOT TRUE OR b IS NOT FALSE", "b", "NOT b", "b IS NOT TRUE",
		"s IS DISTINCT FROM 's1' OR s IN ('s2', 's3')", "NOT (s IS DISTINCT FROM 's1' OR s > 's2')", "x IS NULL OR x IS DISTINCT FROM 1",
		"CASE WHEN x IS DISTINCT FROM 1 OR x = 3 THEN n > 3 ELSE n < 3 END",
	} {
		rule := check(t, schema, text, text)
		want, err := s.CountBroken(t.Context(), rule, inMemory)
		require.NoError(t, err)
		got, err := s.CountBroken(t.Context(), rule, inFile)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
		all = append(all, rule)
	}
	all = append(all, constraint.RequireColumn("x"))
	for i := range all {
		rules := []constraint.Rule{all[i], all[(i+1)%len(all)].Unless("n = 7"), all[(i+5)%len(all)]}
		want, err := s.Broken(t.Context(), rules, inMemory)
		require.NoError(t, err)
		got, err := s.Broken(t.Context(), rules, inFile)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s", rules[0].Name)
	}
}
