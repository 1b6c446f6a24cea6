package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
)

func listed(name string) engine.Source {
	return engine.Source{Location: "/t", Version: 1, Incarnation: "i",
		Files: engine.NewFileList([]engine.Column{{Name: "a", Type: "BIGINT"}}, true, []engine.FileGroup{{Paths: []string{name}}})}
}

// TestALinkKeepsSources: in whatever order statements name sources, come and go to
// rest, each arrives as it was sent.
func TestALinkKeepsSources(t *testing.T) {
	large := listed(strings.Repeat("x", keptSourceBytes))
	rapid.Check(t, func(t *rapid.T) {
		var sent sentSources
		var held heldSources
		for range rapid.IntRange(1, 40).Draw(t, "statements") {
			if rapid.IntRange(0, 9).Draw(t, "rest") == 0 {
				sent.forget()
				held = heldSources{}
			}
			var st engine.Statement
			source := func() engine.Source {
				switch n := rapid.IntRange(-2, 2*keptSources).Draw(t, "source"); n {
				case -2:
					return large
				case -1:
					return engine.Source{Location: "/t", Incarnation: "by its log"}
				default:
					return listed(fmt.Sprint(n))
				}
			}
			for range rapid.IntRange(0, 12).Draw(t, "sources") {
				st.Sources = append(st.Sources, source())
			}
			st.Barriers = append(st.Barriers, engine.Barrier{Name: "flt", SQL: "SELECT 1", Source: source(), Index: rapid.String().Draw(t, "index")})
			e := encoder{sent: &sent}
			e.statement(st)
			d := decoder{b: e.b, held: &held}
			got := d.statement()
			require.NoError(t, d.done())
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
	st := engine.Statement{SQL: "SELECT 1", Sources: []engine.Source{source}, Barriers: []engine.Barrier{{Name: "flt", Source: source}}}
	var sent sentSources
	first := encoder{sent: &sent}
	first.statement(st)
	again := encoder{sent: &sent}
	again.statement(st)
	require.Greater(t, len(first.b), 500*len(paths[0]))
	require.Less(t, len(again.b), 200)
}

// TestNothingIsReadFromAnEmptyPlace: neither where a link keeps nothing, nor where
// it keeps something else.
func TestNothingIsReadFromAnEmptyPlace(t *testing.T) {
	for _, at := range []byte{0, 1, keptSources, 200} {
		for _, tag := range []byte{sourceKept, sourceKeep, 3} {
			for _, held := range []*heldSources{nil, {}} {
				d := decoder{b: []byte{tag, at}, held: held}
				d.source()
				require.ErrorIs(t, d.done(), errWire)
			}
		}
	}
}
