package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// TestPlacesThatCannotBeResolved: only what is not there is called missing. What
// cannot be reached may be there.
func TestPlacesThatCannotBeResolved(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	for name, missing := range map[string]bool{"nothing": true, "loop": false} {
		_, err := within([]string{root}, filepath.Join(root, name))
		e := native.AsError(err)
		require.NotNil(t, e, name)
		require.Equal(t, engine.KindIO, e.Kind, name)
		require.Equal(t, missing, e.Class == engine.ClassMissing, name)
	}
}
