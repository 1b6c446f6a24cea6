package delta_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func compactedName(from, to int64) string {
	return fmt.Sprintf("%s%020d.%020d.compacted.json", logpath.Dir, from, to)
}

// TestCompactedFilesDoNotAffectTheTable checks that the contents of log compaction
// files, valid or not, do not change a snapshot.
func TestCompactedFilesDoNotAffectTheTable(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "cut": `{"add":{"pa`, "no actions": "[]", "other files": firstCommit(addLine("c")), "binary": "\x00\xff\n\x00",
	} {
		b := mem.New()
		mustLog(t, b, firstCommit(), addLine("a"), addLine("b"))
		mustPut(t, b, compactedName(0, 1), body)
		mustPut(t, b, compactedName(1, 2), body)
		s, err := delta.Load(t.Context(), b, delta.Options{})
		require.NoError(t, err, name)
		require.Equal(t, []string{"a", "b"}, fileNames(s), name)
	}
}

// TestUnsafePathsInCompactedFilesAreRefused checks that an unsafe path is detected even
// if other parts of the file are damaged.
func TestUnsafePathsInCompactedFilesAreRefused(t *testing.T) {
	for _, body := range []string{addLine("../x"), addLine("../x") + "\n{", "{\n" + addLine("../x")} {
		b := mem.New()
		mustLog(t, b, firstCommit(), addLine("a"), addLine("b"))
		mustPut(t, b, compactedName(0, 2), body)
		_, err := delta.Load(t.Context(), b, delta.Options{})
		require.ErrorIs(t, err, delta.ErrUnsafePath, body)
	}
}

// TestDeltaRsCompactionRestoresNoRows: delta-rs omits expired removals from log
// compaction files, so reading such a file instead of the commits would restore deleted
// rows.
func TestDeltaRsCompactionRestoresNoRows(t *testing.T) {
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"delta.checkpointInterval": "1000"}})
	for i := range int64(9) {
		s = mustAppend(t, s, i, i+100)
	}
	// The timestamps of these commits are years old, so the removal is expired.
	remove := s.Begin(delta.Operation{Name: "DELETE"})
	for f := range s.Files() {
		require.NoError(t, remove.Remove(false, f))
		break
	}
	s, err := remove.Commit(t.Context())
	require.NoError(t, err)
	runPython[bool](t, dir, `
DeltaTable(path).compact_logs(5, 10)
say(True)`)
	require.NotContains(t, contentOf(t, b, compactedName(5, 10)), `"remove"`, "the reason to read the commits")
	loaded, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	require.Equal(t, viewOf(s), viewOf(loaded))
}
