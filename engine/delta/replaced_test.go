package delta_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// metadataOf returns the metaData action of a table with one column.
func metadataOf(id, column string) string {
	return fmt.Sprintf(`{"metaData":{"id":%q,"format":{"provider":"parquet","options":{}},"schemaString":`+
		`"{\"type\":\"struct\",\"fields\":[{\"name\":\"%[2]s\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],`+
		`"configuration":{}}}`,
		id, column)
}

// TestVersionsHaveTheIDOfTheirTable replaces and changes tables in one log at random. Every
// version has the table of the last metaData at or before it, whether a checksum, a
// checkpoint or a commit states it.
func TestVersionsHaveTheIDOfTheirTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, b, ids := context.Background(), mem.New(), []string{}
		for v := range rapid.IntRange(1, 12).Draw(t, "versions") {
			body, id := `{"commitInfo":{"operation":"WRITE"}}`, "t0"
			if v > 0 {
				id = ids[v-1]
			} else {
				body += "\n" + `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
			}
			switch rapid.IntRange(0, 3).Draw(t, "commit") {
			case 0:
				id = fmt.Sprintf("t%d", v)
				body += "\n" + metadataOf(id, fmt.Sprintf("c%d", v))
			case 1:
				body += "\n" + metadataOf(id, fmt.Sprintf("c%d", v))
			default:
				if v == 0 {
					body += "\n" + metadataOf(id, "c")
				}
			}
			ids = append(ids, id)
			require.NoError(t, b.Put(ctx, logpath.CommitName(int64(v)), strings.NewReader(body), int64(len(body))))
			if rapid.IntRange(0, 3).Draw(t, "checksum") == 0 {
				sum := fmt.Sprintf(`{"tableSizeBytes":0,"numFiles":0,"metadata":{"id":%q}}`, id)
				require.NoError(t, b.Put(ctx, logpath.ChecksumName(int64(v)), strings.NewReader(sum), int64(len(sum))))
			}
		}
		load := func(at delta.At) *delta.Snapshot {
			s, err := delta.Load(ctx, b, delta.Options{At: at, NoCheckpoints: true})
			require.NoError(t, err)
			return s
		}
		first := rapid.IntRange(0, len(ids)-1).Draw(t, "first version")
		require.NoError(t, load(delta.AtVersion(int64(first))).Checkpoint(ctx))
		for v := range first {
			require.NoError(t, b.Delete(ctx, logpath.CommitName(int64(v))))
		}

		head := load(delta.At{})
		for v := first; v < len(ids); v++ {
			id, err := head.TableIDAt(ctx, int64(v))
			require.NoError(t, err)
			require.Equal(t, ids[v], id, "version %d", v)
			past := load(delta.AtVersion(int64(v)))
			require.Equal(t, ids[v], past.TableID())
			if ids[v] == head.TableID() {
				continue
			}
			last, err := head.LastOf(ctx, past)
			require.NoError(t, err)
			require.Equal(t, ids[v], last.TableID())
			require.GreaterOrEqual(t, last.Version(), past.Version())
			require.NotEqual(t, ids[v], ids[last.Version()+1])
		}
		entries, err := head.History(ctx, rapid.IntRange(1, len(ids)).Draw(t, "page"), 0)
		require.NoError(t, err)
		for _, e := range entries {
			require.Contains(t, []string{"", ids[e.Version]}, e.TableID, "version %d", e.Version)
		}
	})
}

// TestRestoreOfAReplacedTableKeepsTheID checks that a restored version of a replaced table
// gets the id of the current table, and that versions of another folder, or of another
// log in the same folder, are never restored.
func TestRestoreOfAReplacedTableKeepsTheID(t *testing.T) {
	b := mem.New()
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{}), 1, 2)
	former, old := s.TableID(), s
	body := `{"commitInfo":{"operation":"CREATE OR REPLACE TABLE"}}` + "\n" + metadataOf("other", "word")
	for f := range s.Files() {
		body += fmt.Sprintf("\n"+`{"remove":{"path":%q,"dataChange":true,"deletionTimestamp":1893456000000}}`, f.Add.Path)
	}
	mustPut(t, b, logpath.CommitName(2), body)
	_, err := s.Refresh(t.Context())
	require.ErrorIs(t, err, delta.ErrIdentityChanged)
	s, err = delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.Equal(t, "other", s.TableID())
	replaced := content(s)

	restored, _ := mustRestore(t, s, 1)
	require.Equal(t, "other", restored.TableID())
	require.Equal(t, content(old), content(restored))
	require.Equal(t, former, at(t, restored, 1).TableID())
	again, _ := mustRestore(t, restored, 2)
	require.Equal(t, replaced, content(again))

	// Another writer deletes the folder and writes another table.
	for v := range int64(5) {
		require.NoError(t, b.Delete(t.Context(), logpath.CommitName(v)))
		require.NoError(t, b.Delete(t.Context(), logpath.ChecksumName(v)))
	}
	o := testOptions(t)
	o.NewID()
	young := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Options: o}), 7)
	for v := range int64(2) {
		past := at(t, young, v)
		require.ErrorIs(t, again.PrecededBy(t.Context(), past), delta.ErrIdentityChanged)
		_, err = again.LastOf(t.Context(), past)
		require.ErrorIs(t, err, delta.ErrIdentityChanged)
		_, _, err = again.Restore(t.Context(), past, delta.Operation{})
		require.ErrorIs(t, err, delta.ErrIdentityChanged)
	}
	require.ErrorIs(t, old.PrecededBy(t.Context(), again), delta.ErrIdentityChanged, "a newer version")
}

// TestLastOfWithoutTheReplacement: the log lacks the commit that replaced the table, and
// the versions after it are of another one.
func TestLastOfWithoutTheReplacement(t *testing.T) {
	b := mem.New()
	mustPut(t, b, logpath.CommitName(0), `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`+"\n"+metadataOf("t0", "a"))
	mustPut(t, b, logpath.CommitName(1), metadataOf("t1", "b"))
	mustPut(t, b, logpath.CommitName(2), `{"commitInfo":{"operation":"WRITE"}}`)
	newest := func() *delta.Snapshot {
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		return s
	}
	require.NoError(t, newest().Checkpoint(t.Context()))
	mustPut(t, b, logpath.CommitName(3), metadataOf("t3", "c"))
	require.NoError(t, b.Delete(t.Context(), logpath.CommitName(1)))
	head := newest()
	_, err := head.LastOf(t.Context(), at(t, head, 0))
	require.ErrorIs(t, err, delta.ErrLogBroken)
}
