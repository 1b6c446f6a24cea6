package s3_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
)

func TestLocate(t *testing.T) {
	bucket, err := s3.New(s3.Options{Bucket: "lake", Region: "eu-central-1",
		Credential: s3.Credential{AccessKeyID: "a", SecretAccessKey: "b"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	table := objstore.Prefix(objstore.Prefix(bucket, "prefix"), "table")
	for _, c := range []struct{ scheme, host, path, want string }{
		{"s3", "lake", "/prefix/table/x.parquet", "x.parquet"},
		{"s3a", "lake", "/prefix/table/p=1/x y.parquet", "p=1/x y.parquet"},
		{"s3n", "lake", "/prefix/table/x.parquet", "x.parquet"},
		{"s3", "lake", "/prefix/table2/x.parquet", ""},
		{"s3", "lake", "/prefix/table", ""},
		{"s3", "lake", "/prefix/table/", ""},
		{"s3", "lake", "/table/x.parquet", ""},
		{"s3", "lake", "/prefix/table/../other/x.parquet", ""},
		{"s3", "lake", "/prefix/other/../table/x.parquet", ""},
		{"s3", "lake", "/prefix//table/x.parquet", ""},
		{"s3", "lake2", "/prefix/table/x.parquet", ""},
		{"s3", "", "/prefix/table/x.parquet", ""},
		{"", "", "/prefix/table/x.parquet", ""},
		{"file", "", "/prefix/table/x.parquet", ""},
		{"https", "lake", "/prefix/table/x.parquet", ""},
	} {
		name, ok := objstore.Locate(table, objstore.Reference{Scheme: c.scheme, Host: c.host, Path: c.path})
		require.Equal(t, c.want != "", ok, "%v", c)
		if ok {
			require.Equal(t, c.want, name, "%v", c)
		}
	}
}
