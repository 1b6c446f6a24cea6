package scan

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestOldViewsOfListsAreDropped: an instance keeps a bounded number of lists, the
// last used ones and those in use, and forgets none that still stands.
func TestOldViewsOfListsAreDropped(t *testing.T) {
	in, err := native.Open(native.BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	v := NewViews(in, &Checked{})
	list := engine.NewFileList([]engine.Column{{Name: "a", Type: sqltype.BigInt}}, true, nil)
	source := func(i int) engine.Source {
		return engine.Source{Location: "/lake/t", Identity: strconv.Itoa(i), Files: list}
	}
	for i := range 2 * maxViews {
		require.NoError(t, v.Add(source(i), "/lake/t"))
		require.NoError(t, v.Trim(map[string]bool{source(0).Database(): true, source(i).Database(): true}))
		require.LessOrEqual(t, v.names.Len(), maxViews)
	}
	views, err := in.Int64s("SELECT count(*) FROM duckdb_views() WHERE temporary AND NOT internal")
	require.NoError(t, err)
	require.Equal(t, []int64{int64(v.names.Len())}, views)
	require.Greater(t, v.names.Len(), maxViews/2)
	require.True(t, v.Has(source(0)))
	require.True(t, v.Has(source(2*maxViews-1)))
	require.False(t, v.Has(source(1)))
	require.NoError(t, v.Add(source(1), "/lake/t"), "a dropped one can be made again")
}
