package delta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

const (
	protocolLine = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	schemaText   = `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}`
)

func metaLine(id, schema, partitions, configuration string) string {
	return fmt.Sprintf(`{"metaData":{"id":%q,"format":{"provider":"parquet","options":{}},"schemaString":"%s","partitionColumns":[%s],`+
		`"configuration":{%s}}}`,
		id, schema, partitions, configuration)
}

func firstCommit(lines ...string) string {
	return strings.Join(append([]string{protocolLine, metaLine("a", schemaText, "", "")}, lines...), "\n")
}

func addLine(path string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`, path)
}

func TestHostileLogs(t *testing.T) {
	deep := strings.Repeat(`{\"type\":\"array\",\"containsNull\":true,\"elementType\":`, 100) + `\"long\"` + strings.Repeat("}", 100)
	rows := []struct {
		name string
		make func(b objstore.Bucket)
		want error
	}{
		{"empty folder", func(objstore.Bucket) {}, delta.ErrTableNotFound},
		{"only strangers", func(b objstore.Bucket) { mustPut(t, b, "_delta_log/x", "y") }, delta.ErrTableNotFound},
		{"gap", func(b objstore.Bucket) {
			mustLog(t, b, firstCommit(), addLine("a"))
			mustPut(t, b, logpath.CommitName(3), addLine("b"))
		}, delta.ErrLogBroken},
		{"missing first", func(b objstore.Bucket) { mustPut(t, b, logpath.CommitName(1), firstCommit()) }, delta.ErrLogBroken},
		{"no protocol", func(b objstore.Bucket) { mustLog(t, b, metaLine("a", schemaText, "", "")) }, delta.ErrLogBroken},
		{"no metadata", func(b objstore.Bucket) { mustLog(t, b, protocolLine) }, delta.ErrLogBroken},
		{"empty commit", func(b objstore.Bucket) { mustLog(t, b, "") }, delta.ErrMalformed},
		{"torn commit", func(b objstore.Bucket) { mustLog(t, b, firstCommit()[:200]) }, delta.ErrMalformed},
		{"huge line", func(b objstore.Bucket) {
			mustLog(t, b, firstCommit(`{"x":"`+strings.Repeat("a", 21_000)+`"}`))
		}, delta.ErrTooLarge},
		{"bad schema", func(b objstore.Bucket) { mustLog(t, b, protocolLine+"\n"+metaLine("a", "7", "", "")) }, delta.ErrInvalidSchema},
		{"one name in two cases", func(b objstore.Bucket) {
			mustLog(t, b, protocolLine+"\n"+metaLine("a", strings.TrimSuffix(schemaText, "]}")+`,{\"name\":\"ID\",\"type\":\"long\"}]}`, "", ""))
		}, delta.ErrInvalidSchema},
		{"partition column without column", func(b objstore.Bucket) { mustLog(t, b, protocolLine+"\n"+metaLine("a", schemaText, `"p"`, "")) },
			delta.ErrInvalidSchema},
		{"deep schema", func(b objstore.Bucket) {
			mustLog(t, b, protocolLine+"\n"+metaLine("a", `{\"type\":\"struct\",\"fields\":[{\"name\":\"x\",\"type\":`+deep+`}]}`, "", ""))
		}, delta.ErrInvalidSchema},
		{"parent", func(b objstore.Bucket) { mustLog(t, b, firstCommit(addLine("../other/x.parquet"))) }, delta.ErrUnsafePath},
		{"encoded parent", func(b objstore.Bucket) { mustLog(t, b, firstCommit(addLine("%2E%2E/x"))) }, delta.ErrUnsafePath},
		{"absolute", func(b objstore.Bucket) { mustLog(t, b, firstCommit(addLine("/etc/passwd"))) }, delta.ErrUnsafePath},
		{"scheme", func(b objstore.Bucket) { mustLog(t, b, firstCommit(addLine("s3://other/key"))) }, delta.ErrUnsafePath},
		{"absolute remove", func(b objstore.Bucket) { mustLog(t, b, firstCommit(`{"remove":{"path":"file:///x"}}`)) }, delta.ErrUnsafePath},
		{"absolute cdc", func(b objstore.Bucket) { mustLog(t, b, firstCommit(`{"cdc":{"path":"/x","size":1}}`)) }, delta.ErrUnsafePath},
		{"absolute deletion vector", func(b objstore.Bucket) {
			mustLog(t, b, firstCommit(strings.Replace(addLine("a"), `"size"`,
				`"deletionVector":{"storageType":"p","pathOrInlineDv":"file:///x","sizeInBytes":1,"cardinality":1},"size"`, 1)))
		}, delta.ErrUnsafePath},
		{"hidden in a compacted file", func(b objstore.Bucket) {
			mustLog(t, b, firstCommit(), addLine("a"))
			mustPut(t, b, "_delta_log/00000000000000000000.00000000000000000001.compacted.json", firstCommit(addLine("../x")))
		}, delta.ErrUnsafePath},
		{"corrupt checkpoint", func(b objstore.Bucket) {
			mustPut(t, b, logpath.CommitName(1), addLine("a"))
			mustPut(t, b, logpath.CheckpointName(1), "PAR1 nonsense PAR1")
		}, checkpoint.ErrCorrupt},
		{"sidecar outside", func(b objstore.Bucket) {
			mustLog(t, b, firstCommit(), addLine("a"))
			mustPut(t, b, "_delta_log/00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
				firstCommit(`{"checkpointMetadata":{"version":1}}`, `{"sidecar":{"path":"../../x.parquet","sizeInBytes":1,"modificationTime":1}}`))
		}, delta.ErrUnsafePath},
		{"sidecar missing", func(b objstore.Bucket) {
			mustPut(t, b, logpath.CommitName(1), addLine("a"))
			mustPut(t, b, "_delta_log/00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
				firstCommit(`{"sidecar":{"path":"x.parquet","sizeInBytes":1,"modificationTime":1}}`))
		}, delta.ErrLogBroken},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b := mem.New()
			row.make(b)
			_, err := delta.Load(t.Context(), b, delta.Options{Limits: action.Limits{LineBytes: 20_000}})
			require.ErrorIs(t, err, row.want)
		})
	}
}

func TestHarmlessOddities(t *testing.T) {
	rows := map[string]func(b objstore.Bucket){
		"torn hint":    func(b objstore.Bucket) { mustPut(t, b, logpath.LastCheckpoint, `{"versio`) },
		"hint too new": func(b objstore.Bucket) { mustPut(t, b, logpath.LastCheckpoint, `{"version":900,"size":1}`) },
		"hint too old": func(b objstore.Bucket) { mustPut(t, b, logpath.LastCheckpoint, `{"version":0,"size":1}`) },
		"lying hint":   func(b objstore.Bucket) { mustPut(t, b, logpath.LastCheckpoint, `{"version":1,"size":1}`) },
		"half multipart": func(b objstore.Bucket) {
			mustPut(t, b, "_delta_log/00000000000000000001.checkpoint.0000000001.0000000002.parquet", "x")
		},
		"strangers": func(b objstore.Bucket) {
			mustPut(t, b, "_delta_log/0000.json", "x")
			mustPut(t, b, "_delta_log/00000000000000000009.json.tmp", "x")
			mustPut(t, b, "_delta_log/_staged_commits/00000000000000000009.x.json", "x")
		},
	}
	for name, spoil := range rows {
		t.Run(name, func(t *testing.T) {
			b := mem.New()
			mustLog(t, b, firstCommit(`{"novelty":{"x":1}}`), addLine("a"), addLine("b")+"\n\n")
			spoil(b)
			s, err := delta.Load(t.Context(), b, delta.Options{})
			require.NoError(t, err)
			require.EqualValues(t, 2, s.Version())
			require.Equal(t, []string{"a", "b"}, fileNames(s))
		})
	}
}

func TestReplacedTables(t *testing.T) {
	clear := func(t *testing.T, b objstore.Bucket) {
		for o, err := range b.List(t.Context(), "", objstore.ListOptions{}) {
			require.NoError(t, err)
			require.NoError(t, b.Delete(t.Context(), o.Name))
		}
	}
	rows := []struct {
		name   string
		change func(b objstore.Bucket)
		want   error
	}{
		{"gone", func(objstore.Bucket) {}, delta.ErrTableNotFound},
		{"another, shorter", func(b objstore.Bucket) { mustLog(t, b, strings.ReplaceAll(firstCommit(), `"id":"a"`, `"id":"b"`)) },
			delta.ErrIdentityChanged},
		{"another, longer", func(b objstore.Bucket) {
			mustLog(t, b, strings.ReplaceAll(firstCommit(), `"id":"a"`, `"id":"b"`), addLine("x"), addLine("y"), addLine("z"))
		}, delta.ErrIdentityChanged},
		{"the same, shorter", func(b objstore.Bucket) { mustLog(t, b, firstCommit()) }, delta.ErrLogBroken},
		{"the same, rewritten", func(b objstore.Bucket) { mustLog(t, b, firstCommit(), addLine("other"), addLine("z")) }, delta.ErrLogBroken},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b := mem.New()
			mustLog(t, b, firstCommit(), addLine("a"))
			s, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)
			clear(t, b)
			row.change(b)
			_, err = s.Refresh(t.Context())
			require.ErrorIs(t, err, row.want)
			txn := s.Begin(delta.Operation{Name: "WRITE"})
			require.NoError(t, txn.Add(delta.AddFile{Name: "n", Size: 1}))
			_, err = txn.Commit(t.Context())
			require.ErrorIs(t, err, row.want, "nor is anything written")
		})
	}
	t.Run("a commit that takes another id", func(t *testing.T) {
		b := mem.New()
		mustLog(t, b, firstCommit())
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		mustPut(t, b, logpath.CommitName(1), metaLine("b", schemaText, "", ""))
		_, err = s.Refresh(t.Context())
		require.ErrorIs(t, err, delta.ErrIdentityChanged)
	})
	t.Run("a copy of the folder is the same table", func(t *testing.T) {
		b := mem.New()
		mustLog(t, b, firstCommit(), addLine("a"))
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		clear(t, b)
		mustLog(t, b, firstCommit(), addLine("a"))
		same, err := s.Refresh(t.Context())
		require.NoError(t, err)
		require.Same(t, s, same)
	})
}
