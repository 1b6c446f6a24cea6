package mirrortest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/mirrortest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// open returns a client of a bucket that is also a folder. Bodies of more than 256 KiB are sent in
// parts.
func open(t *testing.T, kind string) (bucket objstore.Bucket, folder string) {
	t.Helper()
	m := mirrortest.Open(t, kind)
	if kind == mirrortest.Azure {
		o := azure.Options{Account: azuretest.Account, Container: m.Name, Endpoint: m.Endpoint}
		o.Credential.AccountKey = m.Credential
		o.Limits.PartSize = 256 << 10
		made, err := azure.New(o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, made.Close()) })
		return made, m.Folder
	}
	o := gcs.Options{Bucket: m.Name, Endpoint: m.Endpoint, Credential: gcs.Credential{ServiceAccountKey: m.Credential}}
	o.Limits.PartSize = 256 << 10
	made, err := gcs.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, made.Close()) })
	return made, m.Folder
}

// TestFolderAndBucketAreAlike changes objects and files in turn.
func TestFolderAndBucketAreAlike(t *testing.T) {
	for _, kind := range []string{mirrortest.Azure, mirrortest.GCS} {
		t.Run(kind, func(t *testing.T) {
			bucket, folder := open(t, kind)
			file := func(name string) string { return filepath.Join(folder, name) }
			read := func(name string) string {
				content, err := os.ReadFile(file(name))
				require.NoError(t, err)
				return string(content)
			}
			// Written by a client.
			const odd = "t/p=a %2F+é/ü?.parquet"
			objstoretest.MustPut(t, bucket, odd, "one")
			require.Equal(t, "one", read(odd))
			require.NoError(t, bucket.PutIfAbsent(t.Context(), "t/_delta_log/0.json", []byte("first")))
			require.Equal(t, "first", read("t/_delta_log/0.json"))
			require.ErrorIs(t, bucket.PutIfAbsent(t.Context(), "t/_delta_log/0.json", []byte("again")), objstore.ErrExists)
			large := strings.Repeat("0123456789abcdef", 50<<10)
			require.NoError(t, bucket.Put(t.Context(), "large", bytes.NewReader([]byte(large)), int64(len(large))))
			require.Equal(t, large, read("large"))
			if copier, ok := bucket.(objstore.Copier); ok {
				_, err := copier.CopyFrom(t.Context(), bucket, objstore.Object{Name: "large"}, "copied")
				require.NoError(t, err)
				require.Equal(t, large, read("copied"))
				require.NoError(t, bucket.Delete(t.Context(), "copied"))
			}
			require.NoError(t, bucket.Delete(t.Context(), "large"))
			require.NoFileExists(t, file("large"))

			// Written as files.
			require.NoError(t, os.WriteFile(file("t/_delta_log/0.json"), []byte("replaced"), 0o600))
			require.NoError(t, os.WriteFile(file("t/_delta_log/1.json"), []byte("second"), 0o600))
			require.NoError(t, os.Remove(file(odd)))
			require.Equal(t, []string{"t/_delta_log/0.json", "t/_delta_log/1.json"}, objstoretest.MustList(t, bucket, ""))
			require.Equal(t, "replaced", objstoretest.MustGet(t, bucket, "t/_delta_log/0.json"))
			require.ErrorIs(t, bucket.PutIfAbsent(t.Context(), "t/_delta_log/1.json", []byte("x")), objstore.ErrExists)
			old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			require.NoError(t, os.Chtimes(file("t/_delta_log/1.json"), old, old))
			described, err := bucket.Stat(t.Context(), "t/_delta_log/1.json")
			require.NoError(t, err)
			require.Equal(t, old, described.ModTime.UTC())
			for object, err := range bucket.List(t.Context(), "", objstore.ListOptions{StartAfter: "t/_delta_log/0.json"}) {
				require.NoError(t, err)
				require.Equal(t, old, object.ModTime.UTC())
			}
			require.NoError(t, os.Remove(file("t/_delta_log/1.json")))
			require.NoError(t, os.WriteFile(file("t/_delta_log/1.json"), []byte("SECOND"), 0o600))
			require.NoError(t, os.Chtimes(file("t/_delta_log/1.json"), old, old))
			require.Equal(t, "SECOND", objstoretest.MustGet(t, bucket, "t/_delta_log/1.json"), "same size and time")
			require.NoError(t, os.RemoveAll(folder))
			require.Empty(t, objstoretest.MustList(t, bucket, ""))
			objstoretest.MustPut(t, bucket, "t/again", "x")
			require.Equal(t, "x", read("t/again"))
		})
	}
}
