package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// BenchmarkTPCH runs the 22 queries at scale 0.1 over local files and through a warm gateway:
// tables attached at a version, and lists of files. New sessions use only the gateway's cache,
// reused ones also DuckDB's own.
func BenchmarkTPCH(b *testing.B) {
	root := b.TempDir()
	out, err := exec.CommandContext(b.Context(), oracletest.Python(b), "testdata/tpch.py", root, oracletest.Extension(b, "tpch"),
		"0.1").CombinedOutput()
	require.NoError(b, err, string(out))
	tables, err := os.ReadDir(root)
	require.NoError(b, err)
	var queries []string
	for n := range 22 {
		queries = append(queries, fmt.Sprintf("PRAGMA tpch(%d)", n+1))
	}
	grant := mustGrant(b, mustGateway(b, gateway.Options{}), mustFiles(b, root), "")
	views := func(base, reader string) []string {
		sql := []string{"LOAD '" + oracletest.Extension(b, "tpch") + "'"}
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
			best, cpu := map[string]float64{}, map[string]float64{}
			run := func(name string, d *duck) {
				before := ownCPU(b)
				a := d.ask(b, queries...)
				require.Empty(b, a.Error)
				least(best, name, a.Ms)
				least(cpu, name, a.CPUms+ownCPU(b)-before)
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
			// The processor time of both processes is more meaningful than the clock on a busy
			// machine.
			b.ReportMetric(cpu["local"], "cpu-ms-local")
			b.ReportMetric(cpu["gateway"]/cpu["local"], "x-cpu-kept")
			b.ReportMetric(cpu["new"]/cpu["local"], "x-cpu-new")
		})
	}
}

func least(values map[string]float64, name string, value float64) {
	if old, ok := values[name]; !ok || value < old {
		values[name] = value
	}
}

// ownCPU is the processor time of this process, and so of the gateway, in ms.
func ownCPU(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}
