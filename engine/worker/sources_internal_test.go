package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func listed(name string) engine.Source {
	return engine.Source{Location: "/t", Version: 1, Identity: "i",
		Files: engine.NewFileList([]engine.Column{{Name: "a", Type: sqltype.BigInt}}, true, []engine.FileGroup{{Paths: []string{name}}})}
}

// TestALinkCachesSources sends sources in any order, with rests between: each arrives as
// it was sent.
func TestALinkCachesSources(t *testing.T) {
	large := listed(strings.Repeat("x", cachedSourceBytes))
	rapid.Check(t, func(t *rapid.T) {
		var sent sentSources
		var held heldSources
		for range rapid.IntRange(1, 40).Draw(t, "statements") {
			if rapid.IntRange(0, 9).Draw(t, "rest") == 0 {
				sent.forget()
				held = heldSources{}
			}
			var st engine.WriteStatement
			source := func() engine.Source {
				switch n := rapid.IntRange(-2, 2*cachedSources).Draw(t, "source"); n {
				case -2:
					return large
				case -1:
					return engine.Source{Location: "/t", Identity: "by its log"}
				default:
					return listed(fmt.Sprint(n))
				}
			}
			for range rapid.IntRange(0, 12).Draw(t, "sources") {
				st.Sources = append(st.Sources, source())
			}
			st.Barriers = append(st.Barriers, engine.Barrier{Name: "flt", SQL: "SELECT 1", Source: source(), Index: rapid.String().Draw(t, "index")})
			got, err := held.statement(sent.statement(st))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(st, got, exact))
			for i, s := range st.Sources {
				require.Equal(t, s.Database(), got.Sources[i].Database())
			}
		}
	})
}

func TestARepeatedStatementIsShort(t *testing.T) {
	var paths []string
	for i := range 500 {
		paths = append(paths, fmt.Sprintf("part-%05d.parquet", i))
	}
	source := engine.Source{Location: "/t", Files: engine.NewFileList(nil, true, []engine.FileGroup{{Paths: paths}})}
	st := engine.WriteStatement{Statement: engine.Statement{
		SQL: "SELECT 1", Sources: []engine.Source{source}, Barriers: []engine.Barrier{{Name: "flt", Source: source}}}}
	var sent sentSources
	require.Greater(t, len(sent.statement(st)), 500*len(paths[0]))
	require.Less(t, len(sent.statement(st)), 600)
}

// TestNothingIsReadFromAnEmptySlot sends slots that do not exist or hold no source.
func TestNothingIsReadFromAnEmptySlot(t *testing.T) {
	for _, sent := range []sentSource{{Slot: 0}, {Slot: 1}, {Slot: noSlot}, {Slot: -2}, {Slot: cachedSources},
		{Slot: cachedSources, Source: encode(engine.Source{})}, {Slot: -2, Source: encode(engine.Source{})}} {
		_, err := new(heldSources).statement(encode(statementMessage[sentSource]{Sources: []sentSource{sent}}))
		require.ErrorIs(t, err, errWire)
	}
}

func TestBarriersNeedSources(t *testing.T) {
	st := engine.WriteStatement{Statement: engine.Statement{Barriers: []engine.Barrier{{Name: "flt"}}}}
	_, err := new(heldSources).statement(encode(statementMessage[sentSource]{Statement: st}))
	require.ErrorIs(t, err, errWire)
}

// BenchmarkStatementMessage is the cost of one statement's message at both ends: the first
// one over a table of a thousand files, and one that names a cached source.
func BenchmarkStatementMessage(b *testing.B) {
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("part-%05d-c000.snappy.parquet", i))
	}
	columns := make([]engine.Column, 20)
	for i := range columns {
		columns[i] = engine.Column{Name: fmt.Sprintf("column_%d", i), Type: sqltype.BigInt, Nullable: true}
	}
	source := engine.Source{Location: "/t", Files: engine.NewFileList(columns, true, []engine.FileGroup{{Paths: paths}})}
	st := engine.WriteStatement{Statement: engine.Statement{SQL: "SELECT $1", Args: engine.Args{Positional: []any{int64(1), "text"}},
		Sources: []engine.Source{source}, Barriers: []engine.Barrier{{Name: "flt", SQL: "SELECT 1", Source: source}}}}
	for name, cached := range map[string]bool{"first": false, "cached": true} {
		b.Run(name, func(b *testing.B) {
			var sent sentSources
			var held heldSources
			for b.Loop() {
				if !cached {
					sent.forget()
				}
				_, err := held.statement(sent.statement(st))
				require.NoError(b, err)
			}
		})
	}
}
