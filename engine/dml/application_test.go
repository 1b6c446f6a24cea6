package dml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestAnApplicationCommitsOnce plans a request on a version that already contains
// its duplicate, after losing races to the duplicate and to other commits.
func TestAnApplicationCommitsOnce(t *testing.T) {
	l := newLake(t)
	l.reset()
	bucket, err := file.New(l.dir)
	require.NoError(t, err)
	for twin, text := range []string{`{"rows":[{"id":8,"v":"x"}]}`, `{"rows":[{"id":9,"v":"x"}]}`} {
		table, options, end, err := l.begin(bucket)
		require.NoError(t, err)
		options.Application = &dml.Application{ID: "request", Version: 7}
		_, err = dml.Insert(t.Context(), table, options, l.stage(options, text))
		end()
		if twin == 0 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, delta.ErrConcurrentTransaction)
	}
	require.Equal(t, "1a 2b 3c 8x", l.rows())
	require.Zero(t, l.orphans())
}
