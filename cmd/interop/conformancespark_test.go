//go:build interop

package interop

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestConformanceWithSpark is TestConformance with Spark as a further judge, and with
// tables that only Spark can make. The server must read the same rows of their versions
// as Spark read before the first write of another engine.
func TestConformanceWithSpark(t *testing.T) {
	store := s3test.Start(t)
	judges := spark(t, store)
	w := &testServer{}
	local := filepath.Join(w.serve(t), "storage", "main")
	all := corpus(t)
	for i, s := range all {
		folder := filepath.Join(local, s.Table)
		if len(s.SQL) == 0 {
			writeTable(t, folder, s.text(t))
			continue
		}
		t.Run("made/"+s.Table, func(t *testing.T) { all[i].foreign = sparkMakes(t, judges[0], s, folder) })
	}
	all = slices.DeleteFunc(all, func(s specimen) bool { return len(s.SQL) > 0 && s.foreign == nil }) // those that Spark failed to make
	w.tryAll(t, local, all, "conformance-spark.md", judges...)
}

// sparkMakes lets Spark make a table and returns the rows that it reads of each version.
func sparkMakes(t *testing.T, spark judge, s specimen, folder string) map[int64]contents {
	t.Helper()
	for _, statement := range s.SQL {
		a := spark.ask(t, request{Do: "sql", Table: folder, SQL: statement})
		require.Empty(t, a.Refused, statement)
	}
	found := map[int64]contents{}
	for version := range int64(len(commits(t, folder))) {
		a := spark.ask(t, request{Do: "version_rows", Table: folder, From: version})
		require.Empty(t, a.Refused, "version %d", version)
		found[version] = a.contents()
	}
	return found
}
