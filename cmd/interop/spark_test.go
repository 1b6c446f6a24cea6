//go:build interop

package interop

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// sparkVariable names the folder with Spark's Python package and its jars.
const sparkVariable = "LAKEWARDEN_TEST_SPARK"

// thorough: every engine writes after every step; otherwise they take turns.
const thorough = true

// spark starts the one session of the run.
func spark(t *testing.T, store s3test.Server) []judge {
	t.Helper()
	home, err := oracletest.Path(sparkVariable, "spark")
	oracletest.Need(t, err)
	jars, err := filepath.Glob(filepath.Join(home, "jars", "*.jar"))
	require.NoError(t, err)
	delta, err := filepath.Glob(filepath.Join(home, "jars", "delta-spark_*.jar"))
	require.NoError(t, err)
	require.Len(t, delta, 1)
	p := startProcess(t, "spark.py", object{"jars": jars, "delta": filepath.Base(delta[0]), "scratch": t.TempDir(), "s3": storeOptions(store)},
		"PYTHONPATH="+filepath.Join(home, "python"), "SPARK_LOCAL_IP=127.0.0.1")
	return []judge{{name: "spark", process: p}}
}
