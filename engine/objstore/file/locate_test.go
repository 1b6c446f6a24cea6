package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestLocate resolves absolute references to files of the folder "table", through every
// wrapper that a server has.
func TestLocate(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(base, "root")
	for _, dir := range []string{"root/table/sub", "root/table2", "root/real/sub", "elsewhere/deep"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for _, name := range []string{"root/table/x.parquet", "root/table/sub/y.parquet", "root/table2/x.parquet", "root/real/x.parquet",
		"elsewhere/x.parquet", "elsewhere/deep/x.parquet"} {
		require.NoError(t, os.WriteFile(filepath.Join(base, name), nil, 0o600))
	}
	for link, to := range map[string]string{
		"alias": "root", "root/table/out": "elsewhere", "root/table/deep": "elsewhere/deep", "root/table/out.parquet": "elsewhere/x.parquet",
		"root/linked": "root/real", "root/table/in": "root/table/sub", "root/table/dangling": "nowhere",
	} {
		require.NoError(t, os.Symlink(filepath.Join(base, to), filepath.Join(base, link)))
	}
	bucket, err := file.New(root)
	require.NoError(t, err)
	wrapped := objstore.NewMetrics(prometheus.NewRegistry()).Wrap(objstore.Named(bucket, "lake"), "file")
	for _, c := range []struct{ dir, scheme, host, path, want string }{
		{"table", "", "", "root/table/x.parquet", "x.parquet"},
		{"table", "file", "", "root/table/x.parquet", "x.parquet"},
		{"table", "file", "localhost", "root/table/sub/y.parquet", "sub/y.parquet"},
		{"table", "file", "", "alias/table/x.parquet", "x.parquet"},
		{"table", "file", "", "root/table/in/y.parquet", "sub/y.parquet"},
		{"table", "file", "", "root/table/gone/z.parquet", "gone/z.parquet"},
		{"table", "file", "", "alias/table/gone/z.parquet", "gone/z.parquet"},
		{"table", "file", "", "root/table/sub/../x.parquet", "x.parquet"},
		{"table", "file", "", "root/table2/../table/x.parquet", "x.parquet"},
		{"table", "file", "", "root//table/./x.parquet", "x.parquet"},
		{"linked", "file", "", "root/real/x.parquet", "x.parquet"},
		{"linked", "file", "", "root/linked/x.parquet", "x.parquet"},
		{"", "file", "", "root/table/x.parquet", "table/x.parquet"},

		{"table", "file", "", "root/table2/x.parquet", ""},
		{"table", "file", "", "root/table", ""},
		{"table", "file", "", "root/table/", ""},
		{"table", "file", "", "root/table/../table2/x.parquet", ""},
		{"table", "file", "", "root/table/../../elsewhere/x.parquet", ""},
		{"table", "file", "", "root/table/out/x.parquet", ""},
		{"table", "file", "", "root/table/out.parquet", ""},
		{"table", "file", "", "root/table/deep/../x.parquet", ""}, // elsewhere, or in the table
		{"table", "file", "", "root/table/gone/../../../elsewhere/x.parquet", ""},
		{"table", "file", "", "elsewhere/x.parquet", ""},
		{"table", "file", "host", "root/table/x.parquet", ""},
		{"table", "s3", "root", "root/table/x.parquet", ""},
		{"table", "hdfs", "", "root/table/x.parquet", ""},
	} {
		name, ok := objstore.Locate(objstore.Prefix(wrapped, c.dir), objstore.Reference{Scheme: c.scheme, Host: c.host, Path: base + "/" +
			c.path})
		if c.want == "" {
			require.False(t, ok, "%v: %s", c, name)
			continue
		}
		require.True(t, ok, "%v", c)
		require.Equal(t, c.want, name, "%v", c)
	}
	_, ok := objstore.Locate(bucket, objstore.Reference{Path: "root/table/x.parquet"})
	require.False(t, ok, "no absolute path")
}
