package constraint_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sharedParser is the parser that the server uses.
var sharedParser = sync.OnceValue(duckdb.NewParser)

// scope is one over a session of the server's engine.
func scope(t *testing.T) constraint.Scope {
	t.Helper()
	e, err := duckdb.New(t.Context(), duckdb.Options{Verified: []extension.Verified{}, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s, err := e.Open(t.Context(), engine.SessionOptions{Owner: "o", Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return constraint.Scope{Session: s}
}

// columns is a schema from pairs of name and type.
func columns(t *testing.T, pairs ...string) delta.Struct {
	t.Helper()
	var s delta.Struct
	for i := 0; i < len(pairs); i += 2 {
		typ, err := deltasql.ParseType(pairs[i+1])
		require.NoError(t, err)
		s.Fields = append(s.Fields, delta.Field{Name: pairs[i], Type: typ, Nullable: true})
	}
	return s
}

// everyType has a column of each type that expressions know.
func everyType(t *testing.T) delta.Struct {
	return columns(t, "id", "long", "i", "integer", "Sm", "short", "b", "byte", "name", "string", "note", "string", "d", "double", "f",
		"float",
		"dec", "decimal(12,2)", "day", "date", "ts", "timestamp", "ntz", "timestamp_ntz", "ok", "boolean",
		"st", "struct<x:integer,Y:string>", "list", "array<integer>", "raw", "binary")
}
