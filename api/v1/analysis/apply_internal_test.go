package analysis

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	use "github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// A column's name cannot make the request of a proposal one about something else, also if a
// client cleans the path.
func TestRequestsAreAboutTheirColumn(t *testing.T) {
	at := use.Location{Org: "o", Path: access.Path{Catalog: "lake", Schema: "s", Table: "t"}}
	for _, name := range []string{"a", "a/../b", "../../t2", "%2e%2e", "x?y#z", "ü", "...", "a b", "a;b", "//"} {
		for _, change := range []analysis.Change{analysis.ForbidNull{Column: name}, analysis.MakeUnique{Column: name},
			analysis.ListDomain{Column: name}, analysis.RangeDomain{Column: name, Min: "1"}} {
			made := applyingOf(at, change)
			require.NotNil(t, made, name)
			require.Equal(t, made.Path, path.Clean(made.Path))
			rest, ok := strings.CutPrefix(made.Path, "/v1/tables/lake/s/t/columns/")
			require.True(t, ok, made.Path)
			segment, _, _ := strings.Cut(rest, "/")
			got, err := url.PathUnescape(segment)
			require.NoError(t, err)
			require.Equal(t, name, got)
		}
	}
	for _, name := range []string{"", ".", ".."} {
		require.Nil(t, applyingOf(at, analysis.ForbidNull{Column: name}), "no path names it")
		require.Nil(t, applyingOf(at, analysis.ListDomain{Column: name}))
		require.NotNil(t, applyingOf(at, analysis.MaskColumn{Column: name, Mask: "null"}))
	}
}
