package kill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// killsVariable is how often the server is killed; a few times without it.
const killsVariable = "LAKEWARDEN_TEST_KILLS"

// killed is a server as a process of its own, which is killed at random moments
// while writers and maintenance are at work on tables on disk and in S3.
type killed struct {
	*harness.Program
	key    string
	tables []killedTable
	random *rand.Rand
	// done has a sign for each write that was acknowledged.
	done chan struct{}
}

// killedTable is one table, for other engines and for SQL.
type killedTable struct {
	path, sql, uri, folder string
}

// TestKillsOfTheServerLoseNothing kills and starts the server. Acknowledged writes are
// present afterwards; each other write is present completely or not at all, and is done
// exactly once when it is repeated under its key. At the end delta-rs reads the same
// rows, and a vacuum leaves no file that no version names.
func TestKillsOfTheServerLoseNothing(t *testing.T) {
	t.Parallel()
	kills := 6
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	store := s3test.Start(t)
	k := newKilled(t, store, rand.New(rand.NewPCG(seed, 1)))
	var writers []*batchWriter
	for i, table := range append(k.tables, k.tables...) {
		writers = append(writers, &batchWriter{table: table, next: 1 + 1_000_000*i, random: rand.New(rand.NewPCG(seed, uint64(i))),
			batches: map[int]batch{}})
	}
	unknown := func(w *batchWriter) int { return w.unknown }
	landed := func(w *batchWriter) int { return w.landed }
	for n := 0; n < kills || sum(writers, unknown) == 0; n++ {
		k.round(t, writers)
	}
	t.Logf("%d kills, %d writes acknowledged, %d cut off, of which %d were there", kills,
		sum(writers, func(w *batchWriter) int { return w.acknowledged }), sum(writers, unknown), sum(writers, landed))
	k.judge(t, writers, store)
}

func sum(writers []*batchWriter, of func(*batchWriter) int) (n int) {
	for _, w := range writers {
		n += of(w)
	}
	return n
}

func newKilled(t *testing.T, store s3test.Server, random *rand.Rand) *killed {
	t.Helper()
	k := &killed{Program: harness.NewProgram(t), random: random, done: make(chan struct{}, 1000)}
	k.Env = append(k.Env, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true", "LAKEWARDEN_RATE_PER_MINUTE=1000000", "LAKEWARDEN_RATE_BURST=100000",
		"LAKEWARDEN_LOG_LEVEL=warn")
	boot := k.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	k.key = boot["api_key"].(string)
	server, _ := k.Serve()
	admin := k.Client(k.key)
	bucket := store.Bucket(t)
	for _, body := range []map[string]any{
		{"configName": "main", "kind": "local", "root": "main", "workspaceId": boot["workspace_id"]},
		harness.S3Body(store, bucket, map[string]any{"workspaceId": boot["workspace_id"]}),
	} {
		schema := admin.OK("POST", harness.ConfigsPath, body)["schema"].(string)
		r := admin.Call("POST", "/v1/tables", object{"catalog": "lake", "schema": schema, "name": "t", "columns": list{
			harness.Col("batch", "long"), harness.Col("n", "long"), harness.Col("v", "long"), harness.Col("pad", "string"),
		}})
		require.Equal(t, 201, r.Status, "%s", r.Body)
		table := killedTable{path: "/v1/tables/lake/" + schema + "/t", sql: schema + ".t", uri: "s3://" + bucket + "/t",
			folder: filepath.Join(store.Folder(bucket), "t")}
		if body["kind"] == "local" {
			table.folder = filepath.Join(k.Dir, "data", "storage", "main", "t")
			table.uri = table.folder
		}
		k.tables = append(k.tables, table)
	}
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	return k
}

// round starts the server, settles what the last kill left open, and kills it
// while everybody works.
func (k *killed) round(t *testing.T, writers []*batchWriter) {
	t.Helper()
	server, log := k.Serve()
	k.settle(t, writers)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	failures := make([]error, len(writers))
	for i, w := range writers {
		group.Go(func() { failures[i] = w.work(ctx, k) })
	}
	for _, table := range k.tables {
		group.Go(func() { k.maintain(ctx, table) })
	}
	k.Await(t)
	require.NoError(t, server.Process.Kill())
	stop() // nobody begins anything more
	group.Wait()
	_ = server.Wait()
	for _, err := range failures {
		require.NoError(t, err, "%s", log)
	}
}

// Await waits until some writes have ended, whose number does not depend on the load of
// the machine, and then a short time.
func (k *killed) Await(t *testing.T) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for range k.random.IntN(12) {
		select {
		case <-k.done:
		case <-late:
			t.Fatal("no write ends")
		}
	}
	harness.Pause(t.Context(), time.Duration(k.random.IntN(80_000))*time.Microsecond)
	for len(k.done) > 0 { // the next round begins anew
		<-k.done
	}
}

// maintain runs optimize and vacuum by turns until the server is gone.
func (k *killed) maintain(ctx context.Context, table killedTable) {
	for ctx.Err() == nil {
		for to, body := range map[string]any{"/optimize": object{}, "/vacuum": object{"retention_hours": 0,
			"enforce_retention_duration": false}} {
			if _, _, err := k.try(ctx, table.path+to, body, ""); err != nil {
				return
			}
		}
	}
}

// try makes a request that may end with the server.
func (k *killed) try(ctx context.Context, path string, body any, key string) (int, []byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	// Not under ctx: what was begun ends as the server lets it end.
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://"+k.Address+path,
		strings.NewReader(string(text)))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = got.Body.Close() }()
	reply, err := io.ReadAll(got.Body)
	return got.StatusCode, reply, err
}

// settle compares every batch with what may be there, sends again what was cut
// off, and compares once more.
func (k *killed) settle(t *testing.T, writers []*batchWriter) {
	t.Helper()
	seen := map[string]map[int]batch{}
	for _, table := range k.tables {
		seen[table.sql] = k.batches(t, table)
	}
	for _, w := range writers {
		w.compare(t, seen[w.table.sql])
	}
	again := false
	for _, w := range writers {
		if w.open == nil {
			continue
		}
		again = true
		status, reply, err := k.try(t.Context(), w.table.path+w.open.to, w.open.body, w.open.key)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s sent again: %s", w.open.key, reply)
		w.batches[w.open.batch], w.open = w.open.after, nil
	}
	if !again {
		return
	}
	for _, table := range k.tables {
		seen[table.sql] = k.batches(t, table)
	}
	for _, w := range writers {
		w.compare(t, seen[w.table.sql])
	}
}

// batches reads what there is of each batch.
func (k *killed) batches(t *testing.T, table killedTable) map[int]batch {
	t.Helper()
	found := map[int]batch{}
	for _, row := range k.Client(k.key).Rows("SELECT batch, count(*), sum(v)::BIGINT, count(DISTINCT n) FROM " + table.sql +
		" GROUP BY batch") {
		values := row.([]any)
		require.Equal(t, values[1], values[3], "no row is duplicated")
		found[int(values[0].(float64))] = batch{rows: int(values[1].(float64)), sum: int(values[2].(float64))}
	}
	return found
}

// judge demands the same of delta-rs, and that a vacuum leaves what the log names.
func (k *killed) judge(t *testing.T, writers []*batchWriter, store s3test.Server) {
	t.Helper()
	server, _ := k.Serve()
	k.settle(t, writers)
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	// As five minutes later: the leases of writes that ended with their server
	// no longer prevent a vacuum.
	config := harness.DefaultSettings(t)
	config.DataDir = filepath.Join(k.Dir, "data")
	catalog, err := harness.OpenCatalog(t.Context(), config)
	require.NoError(t, err)
	_, err = catalog.ForgetWrites(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.NoError(t, catalog.Close())
	k.Serve()
	for _, table := range k.tables {
		status, reply, err := k.try(t.Context(), table.path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false}, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", reply)
		want := map[string]batch{}
		for id, b := range k.batches(t, table) {
			want[strconv.Itoa(id)] = b
		}
		text, err := json.Marshal(want)
		require.NoError(t, err)
		harness.DeltaPython(t)(judgeKilled, table.uri, table.folder, string(text), store.Endpoint, s3test.AccessKeyID, s3test.SecretAccessKey)
	}
}

const judgeKilled = `
import sys, os, json, deltalake, pyarrow as pa
uri, folder, want, endpoint, key, secret = sys.argv[1:]
options = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
           "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
t = deltalake.DeltaTable(uri, storage_options=options if "://" in uri else None)
rows = pa.table(deltalake.QueryBuilder().register("t", t).execute("SELECT batch, count(*) c, sum(v) s FROM t GROUP BY batch").read_all()).to_pylist()
got = {str(r["batch"]): {"Rows": r["c"], "Sum": r["s"]} for r in rows}
assert got == json.loads(want), (got, want)
there = sorted(f for f in os.listdir(folder) if f.endswith(".parquet"))
named = sorted(f.rsplit("/", 1)[1] for f in t.file_uris())
assert there == named, (set(there) - set(named), set(named) - set(there))
assert not [f for f in os.listdir(folder) if f not in there and f != "_delta_log"], os.listdir(folder)
`

// MarshalJSON is for the program that compares.
func (b batch) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"Rows":%d,"Sum":%d}`, b.rows, b.sum), nil
}
