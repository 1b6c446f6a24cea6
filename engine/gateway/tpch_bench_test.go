package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
)

// BenchmarkTPCH runs the 22 queries at scale 0.1 over local files and through a
// warm gateway: tables attached at a version, and lists of files. New sessions
// have only the gateway's cache, kept ones DuckDB's own too.
func BenchmarkTPCH(b *testing.B) {
	root := b.TempDir()
	out, err := exec.CommandContext(b.Context(), python(b), "testdata/tpch.py", root, extension(b, "tpch"), "0.1").CombinedOutput()
	require.NoError(b, err, string(out))
	tables, err := os.ReadDir(root)
	require.NoError(b, err)
	var queries []string
	for n := range 22 {
		queries = append(queries, fmt.Sprintf("PRAGMA tpch(%d)", n+1))
	}
	grant := mustGrant(b, mustGateway(b, gateway.Options{}), mustFiles(b, root), "")
	views := func(base, reader string) []string {
		sql := []string{"LOAD '" + extension(b, "tpch") + "'"}
		for _, table := range tables {
			name, from := table.Name(), ""
			if reader == "attached" {
				sql = append(sql, "ATTACH '"+base+"/"+name+"' AS at_"+name+" (TYPE delta, READ_ONLY, VERSION 0)")
				from = "at_" + name + ".at_" + name
			} else {
				files, err := filepath.Glob(filepath.Join(root, name, "*.parquet"))
				require.NoError(b, err)
				for i := range files {
					files[i] = "'" + base + "/" + name + "/" + filepath.Base(files[i]) + "'"
				}
				from = "read_parquet([" + strings.Join(files, ", ") + "])"
			}
			sql = append(sql, "CREATE OR REPLACE VIEW "+name+" AS FROM "+from)
		}
		return sql
	}
	for _, reader := range []string{"attached", "files"} {
		sql := views("s3://"+bucketName, reader)
		begin := append(append(sql[:1:1], session(grant)...), sql[1:]...)
		b.Run(reader, func(b *testing.B) {
			local, kept := mustDuck(b, nil, views(root, reader)...), mustDuck(b, nil, begin...)
			kept.must(b, queries...) // fills the caches
			best := map[string]float64{}
			run := func(name string, d *duck) {
				a := d.ask(b, queries...)
				require.Empty(b, a.Error)
				if old, ok := best[name]; !ok || a.Ms < old {
					best[name] = a.Ms
				}
			}
			// In turn, and the best of each: the machine does other things too.
			for b.Loop() {
				run("local", local)
				run("gateway", kept)
				run("new", mustDuck(b, nil, begin...))
			}
			b.ReportMetric(best["local"], "ms-local")
			b.ReportMetric(best["gateway"]/best["local"], "x-kept")
			b.ReportMetric(best["new"]/best["local"], "x-new")
		})
	}
}
