package query_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestManyFilesFitInTheMemoryOfOneStatement reads more data from a store, one file after the
// other, than one statement may hold. The engine caches what it has read; what it cached
// before must not leave a statement without memory.
func TestManyFilesFitInTheMemoryOfOneStatement(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	const tables = 60
	for i := range tables {
		harness.WriteTable(t, filepath.Join(store.Folder(bucket), fmt.Sprint("t", i)), fmt.Sprintf(
			`SELECT range AS id, repeat(md5(range || 'a%[1]d') || md5(range || 'b%[1]d'), 2) || sha256(range || 'c%[1]d') ||
				sha256(range || 'd%[1]d') || sha256(range || 'e%[1]d') AS text FROM range(25000)`, i),
			nil, column{"id", "long"}, column{"text", "string"})
	}
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints, c.Memory, c.Lease = true, 1024, 256
	})
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	for i := range tables {
		a, err := s.Admin.Answer(i, harness.Ask{Method: "POST", Path: "/v1/query", Accept: "application/vnd.apache.arrow.stream",
			Body: map[string]any{"sql": fmt.Sprintf("SELECT * FROM %s.t%d", made["schema"], i)}})
		require.NoError(t, err)
		require.Equal(t, 200, a.Status, "table %d: %.300s", i, a.Body)
	}
}
