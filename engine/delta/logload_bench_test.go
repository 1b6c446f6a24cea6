package delta_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// lineitemSchema has as many columns, and statistics as long, as common tables.
const lineitemSchema = `{\"type\":\"struct\",\"fields\":[` +
	`{\"name\":\"l_orderkey\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},` +
	`{\"name\":\"l_partkey\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},` +
	`{\"name\":\"l_quantity\",\"type\":\"decimal(15,2)\",\"nullable\":true,\"metadata\":{}},` +
	`{\"name\":\"l_shipdate\",\"type\":\"date\",\"nullable\":true,\"metadata\":{}},` +
	`{\"name\":\"l_comment\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}`

// wideAdd returns the add action of file i.
func wideAdd(i int) string {
	return fmt.Sprintf(`{"add":{"path":"part-%05d-3a0d65cd-4056-49b8-937b-%012x-c000.snappy.parquet","partitionValues":{},`+
		`"size":%d,"modificationTime":1700000000000,"dataChange":true,"stats":"{\"numRecords\":1000,`+
		`\"minValues\":{\"l_orderkey\":%d,\"l_partkey\":%d,\"l_quantity\":1.00,\"l_shipdate\":\"1992-01-02\",\"l_comment\":\" about the %d\"},`+
		`\"maxValues\":{\"l_orderkey\":%d,\"l_partkey\":%d,\"l_quantity\":50.00,\"l_shipdate\":\"1998-12-01\",\"l_comment\":\"zzle blithely `+
		`%d\"},`+
		`\"nullCount\":{\"l_orderkey\":0,\"l_partkey\":0,\"l_quantity\":0,\"l_shipdate\":0,\"l_comment\":0}}"}}`,
		i%100_000, i*2654435761, 1_000_000+i, i*1000, i%7919, i, i*1000+999, 200_000-i%7919, i)
}

// wideCommit returns version v of a table.
func wideCommit(v int, adds ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"commitInfo":{"timestamp":1700000000000,"operation":"WRITE","operationParameters":{"mode":"Append"},`+
		`"isBlindAppend":true,"engineInfo":"bench","txnId":"00000000-0000-4000-8000-%012d"}}`+"\n", v)
	if v == 0 {
		b.WriteString(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n")
		b.WriteString(`{"metaData":{"id":"5fba94ed-9794-4965-ba6e-6ee3c0d22af9","format":{"provider":"parquet","options":{}},"schemaString":"` +
			lineitemSchema + `","partitionColumns":[],"configuration":{},"createdTime":1700000000000}}` + "\n")
	}
	for _, a := range adds {
		b.WriteString(a + "\n")
	}
	return b.String()
}

// benchDir returns the directory of a benchmark's table. If an environment variable
// sets it, it remains after the run, so that other engines can read the same table.
func benchDir(b *testing.B, name string) string {
	if root := os.Getenv("LAKEWARDEN_BENCH_TABLES"); root != "" {
		dir := root + "/" + name
		require.NoError(b, os.MkdirAll(dir, 0o755))
		return dir
	}
	return b.TempDir()
}

func commitsTable(b *testing.B, commits int) *file.Bucket {
	bucket, err := file.New(benchDir(b, "commits"))
	require.NoError(b, err)
	for v := range commits {
		mustPut(b, bucket, logpath.CommitName(int64(v)), wideCommit(v, wideAdd(v)))
	}
	return bucket
}

func checkpointTable(b *testing.B, files int) *file.Bucket {
	bucket, err := file.New(benchDir(b, "checkpoint"))
	require.NoError(b, err)
	const commits = 100
	mustPut(b, bucket, logpath.CommitName(0), wideCommit(0))
	for v := 1; v <= commits; v++ {
		var adds []string
		for i := (v - 1) * files / commits; i < v*files/commits; i++ {
			adds = append(adds, wideAdd(i))
		}
		mustPut(b, bucket, logpath.CommitName(int64(v)), wideCommit(v, adds...))
	}
	s, err := delta.Load(b.Context(), bucket, delta.Options{})
	require.NoError(b, err)
	require.NoError(b, s.Checkpoint(b.Context()))
	return bucket
}

func benchLoad(b *testing.B, bucket *file.Bucket, files int) {
	b.ReportAllocs()
	for b.Loop() {
		s, err := delta.Load(b.Context(), bucket, delta.Options{})
		require.NoError(b, err)
		require.Equal(b, files, s.NumFiles())
	}
}

func BenchmarkLoad10kCommits(b *testing.B) { benchLoad(b, commitsTable(b, 10_000), 10_000) }

func BenchmarkLoad100kCheckpoint(b *testing.B) { benchLoad(b, checkpointTable(b, 100_000), 100_000) }
