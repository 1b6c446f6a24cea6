package gateway_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

const (
	partitioned = "s3://" + bucketName + "/nested/t=1"
	plain       = "s3://" + bucketName + "/plain"
)

// sums is a query whose result depends on every row of a table.
const sums = "SELECT count(*), sum(id), sum(length(text)), count(DISTINCT part), min(part), max(text) FROM "

func mustFiles(tb testing.TB, root string) objstore.Bucket {
	tb.Helper()
	store, err := file.New(root)
	require.NoError(tb, err)
	return store
}

// paths are the data files of a table, as a list in SQL.
func paths(tb testing.TB, root, table, address string) string {
	tb.Helper()
	var list []string
	require.NoError(tb, filepath.WalkDir(filepath.Join(root, table), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") && !strings.Contains(path, "_delta_log") {
			list = append(list, "'"+address+strings.TrimPrefix(path, filepath.Join(root, table))+"'")
		}
		return err
	}))
	return "[" + strings.Join(list, ", ") + "]"
}

func TestDuckDBReadsTablesOfDeltaRS(t *testing.T) {
	root := mustTables(t)
	local := mustDuck(t, nil).must(t, sums+"delta_scan('"+root+"/nested/t=1')")
	require.Equal(t, "12000", local[0][0])
	registry := prometheus.NewPedanticRegistry()
	store := objstore.NewFaults(mustFiles(t, root))
	g := mustGateway(t, gateway.Options{Registerer: registry, Dir: t.TempDir()})
	grant := mustGrant(t, g, store, "nested/t=1", "plain", "with space")
	d := mustDuck(t, grant)

	require.Equal(t, local, d.must(t, sums+"delta_scan('"+partitioned+"')"))
	require.Equal(t, local, d.must(t, sums+"delta_scan('"+plain+"')"))
	require.Equal(t, local, d.must(t, sums+"read_parquet("+paths(t, root, "plain", plain)+")"))
	require.Equal(t, local[0][:3], d.must(t, "SELECT count(*), sum(id), sum(length(text)) FROM read_parquet("+
		paths(t, root, "nested/t=1", partitioned)+")")[0])
	require.Equal(t, local, d.must(t, sums+"read_parquet('"+plain+"/*.parquet')"), "a glob lists")
	require.Equal(t, [][]string{{"6000"}}, d.must(t, "ATTACH '"+plain+"' AS v (TYPE delta, READ_ONLY, VERSION 5)", "SELECT count(*) FROM v.v"))
	require.Equal(t, [][]string{{"row 4711 xxxxxxxxxxx"}}, d.must(t, "ATTACH '"+partitioned+"' AS p (TYPE delta, READ_ONLY, VERSION 11)",
		`SELECT text FROM p.p WHERE id = 4711`))
	require.NoError(t, os.CopyFS(filepath.Join(root, "with space"), os.DirFS(filepath.Join(root, "nested", "t=1"))))
	require.Equal(t, local, d.must(t, sums+"delta_scan('s3://"+bucketName+"/with space')"))
	require.NoError(t, grant.Cause())

	// Everything but listings and _last_checkpoint is here now: another session
	// asks the store for nothing else. (Nor a proxy, if loopback is excepted.)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("NO_PROXY", "127.0.0.1")
	before := store.Count(objstore.OpGetRange, objstore.OpStat)
	again := mustDuck(t, mustGrant(t, g, store, "nested/t=1", "plain"))
	require.Equal(t, local, again.must(t, sums+"delta_scan('"+plain+"')"))
	require.LessOrEqual(t, store.Count(objstore.OpGetRange, objstore.OpStat)-before, 4)
	require.Empty(t, again.ask(t, sums+"read_parquet("+paths(t, root, "plain", plain)+")").Error)
	require.Equal(t, map[string]float64{}, nonzero(counters(t, registry, "lakewarden_gateway_cache_lost_total")))
}

// TestDuckDBSeesATableMadeAnew: a log whose files come back under their old
// names is not read from the cache.
func TestDuckDBSeesATableMadeAnew(t *testing.T) {
	root, other := mustTables(t), t.TempDir()
	store := mustFiles(t, root)
	d := mustDuck(t, mustGrant(t, mustGateway(t, gateway.Options{}), store, "plain"))
	count := "SELECT count(*) FROM delta_scan('" + plain + "')"
	require.Equal(t, [][]string{{"12000"}}, d.must(t, count))
	require.NoError(t, os.Rename(filepath.Join(root, "plain"), filepath.Join(other, "gone")))
	require.NoError(t, os.Rename(filepath.Join(root, "other"), filepath.Join(root, "plain")))
	require.Equal(t, [][]string{{"12"}}, d.must(t, count))
}

// TestDuckDBReachesNothingElse tries addresses outside of the grant from within
// the engine, without its own settings in the way.
func TestDuckDBReachesNothingElse(t *testing.T) {
	root := mustTables(t)
	g := mustGateway(t, gateway.Options{})
	store := mustFiles(t, root)
	grant := mustGrant(t, g, store, "plain")
	other, err := g.Grant(gateway.Location{Bucket: "cfg-other", Identity: "two", Store: store, Prefixes: []string{""}})
	require.NoError(t, err)
	t.Cleanup(other.Begin(t.Context()))
	open := []string{}
	for _, sql := range session(grant) {
		if !strings.Contains(sql, "allowed_directories") && !strings.Contains(sql, "lock_") && !strings.Contains(sql, "external_access") {
			open = append(open, sql)
		}
	}
	d := mustDuck(t, nil, open...)
	require.Equal(t, [][]string{{"12000"}}, d.must(t, "SELECT count(*) FROM delta_scan('"+plain+"')"))
	secret := paths(t, root, "other", "s3://"+bucketName+"/other")
	for _, sql := range []string{
		"FROM delta_scan('s3://" + bucketName + "/other')", "FROM delta_scan('s3://" + bucketName + "/plain/../other')",
		"FROM delta_scan('s3://" + bucketName + "/plain/%2e%2e/other')", "FROM delta_scan('s3://cfg-other/other')",
		"FROM delta_list_files('s3://" + bucketName + "/other')", "FROM read_parquet(" + secret + ")",
		"FROM read_parquet(" + strings.ReplaceAll(secret, "/other", "/plain/../other") + ")",
		"FROM read_parquet(" + strings.ReplaceAll(secret, "/other", "/plain/..%2fother") + ")",
		"FROM glob('s3://" + bucketName + "/**')", "FROM glob('s3://" + bucketName + "/o*/**')", "FROM glob('s3://cfg-other/**')",
		"FROM read_text('s3://" + bucketName + "/other/_delta_log/00000000000000000000.json')",
		"COPY (SELECT 1) TO 's3://" + bucketName + "/plain/x.parquet'",
	} {
		a := d.ask(t, sql)
		require.True(t, a.Error != "" || len(a.Rows) == 0, sql)
	}
	require.NoFileExists(t, filepath.Join(root, "plain", "x.parquet"))
}

// TestDuckDBEndsWithItsStatement: a store that hangs or fails holds DuckDB no
// longer than the statement lasts, through both of its ways to read.
func TestDuckDBEndsWithItsStatement(t *testing.T) {
	const patience = 300 * time.Millisecond
	root := mustTables(t)
	inner := mustFiles(t, root)
	data := paths(t, root, "plain", plain)
	for name, c := range map[string]struct {
		store objstore.Bucket
		cause error
	}{
		"hanging bodies":   {&store{Bucket: inner, getRange: hanging}, nil},
		"hanging opens":    {&stuck{inner, objstore.OpGetRange}, nil},
		"hanging stats":    {&stuck{inner, objstore.OpStat}, nil},
		"hanging listings": {&stuck{inner, objstore.OpList}, nil},
		"failing opens": {objstore.NewFaults(inner, objstore.Cut{Ops: []objstore.Op{objstore.OpGetRange}, Nth: 1, Forever: true}),
			objstore.ErrUnavailable},
		"failing listings": {objstore.NewFaults(inner, objstore.Cut{Ops: []objstore.Op{objstore.OpList}, Nth: 1, Forever: true}),
			objstore.ErrUnavailable},
		"denied": {objstore.NewFaults(inner, objstore.Cut{Nth: 1, Forever: true, Err: objstore.ErrDenied}), objstore.ErrDenied},
	} {
		g := mustGateway(t, gateway.Options{})
		grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: c.store, Prefixes: []string{"plain"}})
		require.NoError(t, err)
		d := mustDuck(t, grant)
		for way, sql := range map[string]string{
			"kernel": sums + "delta_scan('" + plain + "')", "files": sums + "read_parquet(" + data + ")", "glob": "FROM glob('" + plain + "/*')",
		} {
			if way == "files" && strings.Contains(name, "listings") || way == "glob" && !strings.Contains(name, "listings") {
				continue // does not list, does nothing else
			}
			limit := patience
			if c.cause != nil {
				limit = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			end := grant.Begin(ctx)
			stalls, start := enginetest.WatchStalls(0), time.Now()
			a := d.ask(t, sql)
			took := time.Since(start) - stalls()
			cause := grant.Cause()
			end()
			cancel()
			require.NotEmpty(t, a.Error, "%s %s", name, way)
			t.Logf("%s, %s: %v", name, way, took.Round(time.Millisecond))
			require.Less(t, took, 2*time.Second, "%s %s", name, way)
			if c.cause == nil {
				require.NoError(t, cause, "%s %s", name, way)
			} else {
				require.ErrorIs(t, cause, c.cause, "%s %s", name, way)
			}
		}
	}
}
