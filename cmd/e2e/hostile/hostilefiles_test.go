package hostile_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// mutations of a data file: bytes of the footer, of page headers and of pages.
const mutations = 60

// TestMutatedFilesAffectNoOtherCaller reads tables whose only data file has a few
// bytes changed. Parquet has no checksums here, so a reply can have any values. It comes in
// time, an error has a text of the server, and other requests are served.
func TestMutatedFilesAffectNoOtherCaller(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.Lease, c.Memory = 256, 1024 })
	s.Table("well", `SELECT i AS id FROM range(3) r(i)`, nil, column{"id", "long"})
	columns := []column{{"id", "long"}, {"name", "string"}, {"d", "date"}, {"amount", "decimal(12,2)"}, {"tags", "array<string>"},
		{"st", "struct<a:integer,b:string>"}}
	whole := harness.WriteTable(t, filepath.Join(t.TempDir(), "whole"),
		`SELECT i AS id, 'name ' || (i % 90) AS name, DATE '2024-01-01' + (i % 300)::INT AS d, (i * 1.25)::DECIMAL(12,2) AS amount,
		[('tag' || i % 7), NULL] AS tags, {'a': i::INT, 'b': 'b' || i} AS st FROM range(5000) r(i)`, nil, columns...)
	source, err := os.ReadFile(harness.DataFiles(t, whole)[0])
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range mutations {
		dir := filepath.Join(s.Root, fmt.Sprintf("m%02d", n))
		require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
		require.NoError(t, os.WriteFile(harness.DataFiles(t, dir)[0], mutate(random, source, n), 0o600))
	}
	s.Discover()
	other := s.Member("ana@acme.example", "viewer", nil)
	answered := map[int]int{}
	for n := range mutations {
		r := s.Admin.Call("POST", "/v1/query", map[string]any{"timeout_ms": 5000,
			"sql": fmt.Sprintf("SELECT count(*), sum(id), max(name), min(d), sum(amount), count(tags[1]), max(st.b) FROM %s.m%02d WHERE id >= 0",
				s.Schema, n)})
		answered[r.Status]++
		// The administrator learns which file it is, by its name below the table's folder.
		require.NotRegexp(t, engineWords, disclosedFile.ReplaceAllString(string(r.Body), ""), "mutation %d", n)
		require.NotContains(t, string(r.Body), s.Config.DataDir)
		if r.Status != http.StatusOK {
			require.Contains(t, []int{409, 422, 503}, r.Status, "mutation %d: %s", n, r.Body)
			r.Problem(t, r.Status)
		}
		require.Equal(t, 3.0, other.Count(s.Schema+".well"), "after mutation %d", n)
	}
	t.Logf("answers by status: %v", answered)
	require.Greater(t, mutations-answered[http.StatusOK], mutations/4, "too few mutations did anything")
}

// disclosedFile matches the file that the refusal of a table names.
var disclosedFile = regexp.MustCompile(`\{"field":"file","message":"[^"/]*\.parquet"\}`)

// mutate changes bytes in one of three places, which n chooses.
func mutate(random *rand.Rand, source []byte, n int) []byte {
	out := append([]byte{}, source...)
	footer := len(out) - 8 - int(uint32(out[len(out)-8])|uint32(out[len(out)-7])<<8|uint32(out[len(out)-6])<<16)
	low, high := [3]int{footer, 4, 4}[n%3], [3]int{len(out) - 8, footer, 400}[n%3]
	for range 1 + n%4 {
		out[low+random.IntN(high-low)] ^= byte(1 + random.IntN(255))
	}
	return out
}

// TestFileThatDecompressesToMuchMore reads a value of 180 MB from a file of some KB,
// with less memory than that.
func TestFileThatDecompressesToMuchMore(t *testing.T) {
	const lease = 128
	s := harness.Start(t, func(c *harness.Settings) { c.Lease, c.Memory = lease, 1024 })
	dir := s.Table("bomb", `SELECT 1 AS id, repeat('x', 180000000) AS bomb`, nil, column{"id", "long"}, column{"bomb", "string"})
	s.Table("well", `SELECT i AS id FROM range(3) r(i)`, nil, column{"id", "long"})
	info, err := os.Stat(harness.DataFiles(t, dir)[0])
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20))
	require.Equal(t, 3.0, s.Admin.Count(s.Schema+".well"))
	before := harness.ResidentBytes(t)
	stop := make(chan struct{})
	peak := make(chan int64)
	go func() {
		var most int64
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(10 * time.Millisecond):
				most = max(most, harness.ResidentBytes(t))
			}
		}
	}()
	for _, sql := range []string{"SELECT id, length(bomb) FROM {t}", "SELECT * FROM {t}", "SELECT count(DISTINCT bomb) FROM {t}"} {
		r := s.Admin.Query(strings.ReplaceAll(sql, "{t}", s.Schema+".bomb"))
		require.Contains(t, []int{422, 503}, r.Status, "%s: %.200s", sql, r.Body)
		r.Problem(t, r.Status)
		require.Equal(t, 3.0, s.Admin.Count(s.Schema+".well"))
	}
	close(stop)
	require.Less(t, <-peak-before, int64(lease<<20)*115/100+int64(96<<20), "memory beyond the lease")
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows("SELECT id FROM "+s.Schema+".bomb"), "the rest of the table can be read")
}

// TestDisturbedStoreGivesTheRightAnswerOrNone puts every disturbance between the
// server and a store, and asks about files that nothing has cached.
func TestDisturbedStoreGivesTheRightAnswerOrNone(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	disturbances := []struct {
		kind       string
		upstream   bool
		attributes map[string]any
	}{
		{"latency", false, map[string]any{"latency": 200}}, {"slicer", false,
			map[string]any{"average_size": 900, "size_variation": 500, "delay": 10}},
		{"limit_data", false, map[string]any{"bytes": 20000}}, {"reset_peer", false, map[string]any{"timeout": 30}},
		{"reset_peer", true, map[string]any{"timeout": 5}},
		{"timeout", false, map[string]any{"timeout": 300}}, {"bandwidth", false, map[string]any{"rate": 200}},
	}
	for n := range disturbances {
		harness.WriteTable(t, filepath.Join(store.Folder(bucket), fmt.Sprintf("t%d", n)),
			`SELECT i AS id, i % 8 AS p, hash(i)::VARCHAR AS noise FROM range(20000) r(i)`,
			[]string{"p"}, column{"id", "long"}, column{"p", "long"}, column{"noise", "string"})
	}
	proxy := store.Proxy(t)
	s := harness.StartImpatientS3Server(t)
	schema := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"workspaceId": s.Boot.WorkspaceID, "endpoint": proxy.Endpoint}))["schema"].(string)
	s.Table("near", `SELECT 1 AS id`, nil, column{"id", "long"})
	for n, d := range disturbances {
		sql := fmt.Sprintf("SELECT count(*), sum(id), count(DISTINCT noise) FROM %s.t%d", schema, n)
		proxy.Disturb(d.kind, d.upstream, d.attributes)
		start := time.Now()
		r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql, "timeout_ms": 8000})
		require.Less(t, time.Since(start), time.Minute, d.kind)
		t.Logf("%s: %d", d.kind, r.Status)
		if r.Status == http.StatusOK {
			require.Equal(t, []any{[]any{20000.0, "199990000", 20000.0}}, r.JSON(t)["rows"], d.kind)
		} else {
			require.Contains(t, []int{422, 503}, r.Status, "%s: %s", d.kind, r.Body) // 422: its time was over
			require.NotRegexp(t, engineWords, string(r.Body))
			require.NotContains(t, string(r.Body), proxy.Address)
			r.Problem(t, r.Status)
		}
		require.Equal(t, 1.0, s.Admin.Count(s.Schema+".near"))
		proxy.Heal()
		require.Eventually(t, func() bool { return s.Admin.Query(sql).Status == http.StatusOK }, time.Minute, 100*time.Millisecond)
		require.Equal(t, []any{[]any{20000.0, "199990000", 20000.0}}, s.Admin.Rows(sql), "afterwards: %s", d.kind)
	}
}

// TestCredentialThatExpiresDuringAStatement ends the key of a storage configuration
// while a statement reads with it, and rotates to another.
func TestCredentialThatExpiresDuringAStatement(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteTable(t, filepath.Join(store.Folder(bucket), "t"),
		`SELECT i AS id, i % 64 AS p, hash(i)::VARCHAR || hash(-i)::VARCHAR AS noise FROM range(160000) r(i)`, // more files than are read at once
		[]string{"p"}, column{"id", "long"}, column{"p", "long"}, column{"noise", "string"})
	oldKey, newKey := "old"+uuid.NewString()[:8], "new"+uuid.NewString()[:8]
	secret, next := store.User(t, oldKey, s3test.RoleAdmin), store.User(t, newKey, s3test.RoleAdmin)
	proxy := store.Proxy(t)
	s := harness.StartImpatientS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{
		"workspaceId": s.Boot.WorkspaceID, "endpoint": proxy.Endpoint, "accessKeyId": oldKey, "secretAccessKey": secret,
	}))
	sql := "SELECT count(*), count(DISTINCT noise) FROM " + made["schema"].(string) + ".t"
	proxy.Disturb("bandwidth", false, map[string]any{"rate": 250}) // some seconds for the whole table
	ended := make(chan harness.Reply, 1)
	go func() { ended <- s.Admin.Query(sql) }()
	require.Eventually(t, func() bool { return s.Metric(t, "lakewarden_gateway_upstream_bytes_total") > 0 }, time.Minute,
		10*time.Millisecond, "it reads")
	store.RemoveUser(t, oldKey)
	r := <-ended
	code, _ := r.Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.NotContains(t, string(r.Body), secret)
	proxy.Heal()
	s.Admin.OK("PUT", harness.ConfigsPath+"/"+made["configId"].(string)+"/credentials/s3",
		map[string]any{"accessKeyId": newKey, "secretAccessKey": next})
	require.Equal(t, []any{[]any{160000.0, 160000.0}}, s.Admin.Rows(sql))
	for _, canary := range []string{secret, next} {
		require.Empty(t, harness.Leaked(t, s, canary))
	}
}
