package write_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// threeFiles is an engine whose every statement becomes three files of a row each.
type threeFiles struct{ scratch string }

func (e threeFiles) Open(context.Context, engine.SessionOptions) (engine.Session, error) {
	return fileSession{threeFiles: e}, nil
}

func (e threeFiles) Close() error { return nil }

// fileSession writes and does nothing else.
type fileSession struct {
	engine.Session
	threeFiles
}

func (e fileSession) Close() error { return nil }

func (e fileSession) Write(context.Context, engine.WriteStatement) (files []engine.DataFile, err error) {
	for i := range 3 {
		name := fmt.Sprintf("%d.parquet", i)
		if err := os.WriteFile(filepath.Join(e.scratch, name), []byte("rows"), 0o600); err != nil {
			return nil, err
		}
		files = append(files, engine.DataFile{Name: name, Rows: 1, Bytes: 4})
	}
	return files, nil
}

// TestFailedImportLeavesNoFiles lets each request to the store fail in turn, with
// and without effect. Files are there if, and only if, a version names them.
func TestFailedImportLeavesNoFiles(t *testing.T) {
	run := func(bucket objstore.Bucket) error {
		scratch := t.TempDir()
		_, err := write.Import(t.Context(), threeFiles{scratch: scratch}, nil, write.Imported{
			Schema: delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}},
			Rows:   engine.Statement{SQL: "SELECT 1 AS id"}, Bucket: bucket, Scratch: scratch,
		}, delta.Options{})
		return err
	}
	writes := []objstore.Op{objstore.OpPut, objstore.OpPutIfAbsent}
	whole := objstore.NewFaults(mem.New())
	require.NoError(t, run(whole))
	n := whole.Count(writes...)
	require.GreaterOrEqual(t, n, 5, "two versions and three files")
	for nth := 1; nth <= n; nth++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, with effect: %v", nth, after), func(t *testing.T) {
				bucket := mem.New()
				err := run(objstore.NewFaults(bucket, objstore.Cut{Ops: writes, Nth: nth, After: after}))
				require.Equal(t, named(t, bucket), stored(t, bucket), "%v", err)
			})
		}
	}
}

// named is how many files the newest version has.
func named(t *testing.T, bucket objstore.Bucket) int {
	t.Helper()
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	if err != nil {
		require.ErrorIs(t, err, delta.ErrTableNotFound)
		return 0
	}
	return snap.NumFiles()
}

// stored is how many data files there are.
func stored(t *testing.T, bucket objstore.Bucket) (n int) {
	t.Helper()
	for object, err := range bucket.List(t.Context(), "", objstore.ListOptions{}) {
		require.NoError(t, err)
		if strings.HasSuffix(object.Name, ".parquet") && !strings.HasPrefix(object.Name, "_delta_log/") {
			n++
		}
	}
	return n
}
