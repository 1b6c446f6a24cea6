package access

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestRootsCoverTheTablesThatTheyInclude checks that a table that the caller has lost since it
// was opened is noticed, on local and on remote storage.
func TestRootsCoverTheTablesThatTheyInclude(t *testing.T) {
	local := catalog.StorageConfig{Kind: catalog.KindLocal, Location: "file:///data/one"}
	remote := catalog.StorageConfig{Kind: catalog.KindS3, ID: "5f0d7d1c-33c5-4c9d-8a3c-0d2f6d6a1f11", Location: "s3://bucket/two"}
	tableIn := func(c catalog.StorageConfig) Table {
		return Table{tableVersion: tableVersion{located: catalog.LocatedTable{StorageConfig: c}}}
	}
	both := VisibleRoots{roots: []string{lake.SessionRoot(remote), lake.SessionRoot(local)}}
	require.True(t, both.Cover(BasisOf(tableIn(local), tableIn(remote), tableIn(local))))
	require.True(t, VisibleRoots{}.Cover(Basis{}))
	for _, kept := range both.roots {
		require.False(t, VisibleRoots{roots: []string{kept}}.Cover(BasisOf(tableIn(local), tableIn(remote))), kept)
	}
}
