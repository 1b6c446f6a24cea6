package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// TestNoSecretReachesAWorker plants every kind of secret that a server has, has its
// workers do all kinds of work, and looks for the secrets wherever a worker could
// have them, while it works and afterwards.
func TestNoSecretReachesAWorker(t *testing.T) {
	secrets := harness.Canaries{}
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAKEWARDEN_TEST_CANARY"} {
		value := "canary-" + rand.Text()
		t.Setenv(name, value)
		secrets.Text("the environment's "+name, value)
	}
	database, err := url.Parse(pgtest.URL(t))
	require.NoError(t, err)
	if _, has := database.User.Password(); !has {
		database.User = url.UserPassword(database.User.Username(), "canary-"+rand.Text()) // it lets everybody in
	}
	password, _ := database.User.Password()
	secrets.Text("the password of the catalog's database", password)
	store := s3test.Start(t)
	user := func(what string) (key, secret string) {
		key = "key" + uuid.NewString()[:8]
		secret = store.User(t, key, s3test.RoleAdmin)
		secrets.Text(what, secret)
		secrets.Text(what+": its key", key)
		return key, secret
	}
	dataKey, dataSecret := user("the credential of a storage configuration")
	oldKey, oldSecret := user("a credential that was rotated")
	keptKey, keptSecret := user("the credential of kept results")
	issuer := harness.NewSigner(t)
	bucket, kept := store.Bucket(t), store.Bucket(t)
	clouds := newCloudCanaries(t, secrets)
	s := harness.Start(t, func(c *harness.Settings) {
		clouds.settings(c)
		harness.KeepInS3(store, kept)(c)
		c.ResultsAccessKeyID, c.ResultsSecretAccessKey = keptKey, keptSecret
		c.AllowPrivateEndpoints, c.DatabaseURL, c.LogLevel = true, database.String(), "debug"
		c.Issuers = []config.Issuer{{URL: "https://issuer.example", JWKSFile: issuer.File}}
		issuer.Trust(c)
		c.Lease, c.Memory = 512, 2048
		c.ReadLog = harness.ReadLogOf("unlisted")
	})
	secrets.KeyFile(t, s.Config.KeyFile, s.Boot.OrganisationID)
	secrets.Text("a key of the API", s.Admin.Key[strings.LastIndex(s.Admin.Key, "_")+1:])
	reader := s.Member("reader@acme.example", "viewer", map[string]string{"most": "1"})
	secrets.Text("a reader's key of the API", reader.Key[strings.LastIndex(reader.Key, "_")+1:])
	writer := s.Member("writer@acme.example", "builder", map[string]string{"most": "9"})
	secrets.Text("a writer's key of the API", writer.Key[strings.LastIndex(writer.Key, "_")+1:])
	token := issuer.Token(map[string]any{
		"iss": "https://issuer.example", "aud": "lakewarden", "sub": reader.User, "org": s.Boot.OrganisationID,
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "scope": "tables:read tables:query",
	})
	secrets.Text("a token's signature", token[strings.LastIndex(token, ".")+1:])
	bearer := s.Client(token, reader.User)

	// Work of every kind: over lists and logs, with filters and hashes, writes,
	// stored results, and failures.
	harness.WriteTable(t, filepath.Join(store.Folder(bucket), "orders"), `SELECT i AS id, 'n' || i AS name FROM range(3) r(i)`, nil,
		column{"id", "long"}, column{"name", "string"})
	harness.WriteTable(t, filepath.Join(store.Folder(bucket), "unlisted"), `SELECT 1 AS id`, nil, column{"id", "long"})
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"workspaceId": s.Boot.WorkspaceID, "accessKeyId": oldKey, "secretAccessKey": oldSecret}))
	remote := made["schema"].(string)
	require.Equal(t, 3.0, s.Admin.Count(remote+".orders"))
	s.Admin.OK("PUT", harness.ConfigsPath+"/"+made["configId"].(string)+"/credentials/s3",
		map[string]any{"accessKeyId": dataKey, "secretAccessKey": dataSecret})
	s.Admin.Write("/v1/tables/lake/"+remote+"/orders/rows", harness.RowsOf(object{"id": 3, "name": "n3"}))
	for kind, definition := range map[string]string{
		"rls":  `{"effect":"permit","subject":{"attribute":"most","op":"lte"},"condition":null}`,
		"mask": `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`,
	} {
		s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", map[string]any{
			"kind": kind, "tableFqn": "lake." + remote + ".orders", "columnName": map[string]string{"rls": "id", "mask": "name"}[kind],
			"definition": json.RawMessage(definition),
		})
	}
	for _, c := range []*harness.Client{reader, bearer} {
		require.Equal(t, 2.0, c.Count(remote+".orders"))
		require.Len(t, c.Rows("SELECT name FROM "+remote+".orders ORDER BY 1"), 2)
	}
	require.Equal(t, 1.0, s.Admin.Count(remote+".unlisted"))
	person := issuer.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	secrets.Text("the token of a person", person.Key[strings.LastIndex(person.Key, ".")+1:])
	others := clouds.work(t, s, person, writer, reader)
	o := reader.Await(reader.Start("SELECT * FROM " + remote + ".orders"))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	var answers bytes.Buffer
	for _, sql := range []string{"SELECT name::INT FROM {t}", "SELECT nothing FROM {t}", "SELECT", "SELECT * FROM duckdb_secrets()",
		"SELECT len(list(range)) FROM range(900000000)"} {
		r := reader.Query(strings.ReplaceAll(sql, "{t}", remote+".orders"))
		require.NotEqual(t, 200, r.Status, sql)
		fmt.Fprintln(&answers, string(r.Body), r.Header)
	}

	marker := "marker-" + rand.Text()
	// The statement takes long and holds little: a join would keep one side.
	long := reader.Start("SELECT count(*) FROM range(1000000000) r WHERE md5((SELECT max(name) FROM " + remote + ".orders) || r.range) = '" +
		marker + "' AND (SELECT sum(id) FROM " + strings.Join(others, ") + (SELECT sum(id) FROM ") + ") >= 0")
	var workers []string
	require.Eventually(t, func() bool {
		workers = harness.WorkerProcesses(t)
		return slices.ContainsFunc(workers, func(pid string) bool { return harness.MemoryHolds(t, pid, marker) })
	}, time.Minute, 10*time.Millisecond, "what a worker has is found")
	for _, pid := range workers {
		require.Empty(t, harness.MemoryOf(t, pid, secrets), "memory of a worker at work")
		require.Empty(t, secrets.In(aroundWorker(t, pid)))
	}
	working := reader.Operation(long)
	require.Equal(t, "running", working["state"], "the worker was at work: %v", working)
	reader.OK("DELETE", "/v1/operations/"+long["id"].(string), nil)
	long = reader.Await(long)
	require.Equal(t, "cancelled", long["state"])
	r := reader.Result(long)
	fmt.Fprintln(&answers, long, string(r.Body), r.Header)
	for _, pid := range harness.WorkerProcesses(t) {
		require.Empty(t, harness.MemoryOf(t, pid, secrets), "memory of a worker at rest")
	}
	// The server itself holds what it needs, so the search finds such things.
	require.Subset(t, harness.MemoryOf(t, "self", secrets), append(clouds.inUse, "the credential of a storage configuration",
		"the key of credentials", "the password of the catalog's database"))

	require.Empty(t, secrets.In(answers.Bytes()), "answers")
	keyFile, err := os.ReadFile(s.Config.KeyFile)
	require.NoError(t, err)
	s.Stop()
	require.Empty(t, secrets.In([]byte(s.Log.String())), "the log")
	require.NoError(t, filepath.WalkDir(s.Config.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if !bytes.Equal(content, keyFile) {
			require.Empty(t, secrets.In(content), path)
		}
		return err
	}))
}

// aroundWorker returns all that the system shows of a process except its memory: its
// environment and command, and the names and the content of the files that it has
// open or may write.
func aroundWorker(t *testing.T, pid string) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, name := range []string{"environ", "cmdline", "maps", "mountinfo"} {
		content, err := os.ReadFile("/proc/" + pid + "/" + name)
		require.NoError(t, err)
		all.Write(content)
		if name == "environ" {
			require.Empty(t, content)
		}
	}
	limits, err := os.ReadFile("/proc/" + pid + "/limits")
	require.NoError(t, err)
	require.Regexp(t, `Max core file size\s+0\s+0`, string(limits), "no core is written")
	files, err := filepath.Glob("/proc/" + pid + "/fd/*")
	require.NoError(t, err)
	for _, fd := range files {
		target, _ := os.Readlink(fd) // one may be closed meanwhile
		fmt.Fprintln(&all, target)
	}
	dir, err := os.Readlink("/proc/" + pid + "/cwd")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // gone meanwhile
		}
		content, _ := os.ReadFile(path)
		fmt.Fprintln(&all, path)
		all.Write(content)
		return nil
	}))
	return all.Bytes()
}

// TestSessionsRevealNoSecret asks an engine, without any guard before it, for all
// that it can tell of its settings: it knows the key that was made for its session
// and nothing else.
func TestSessionsRevealNoSecret(t *testing.T) {
	secrets := harness.Canaries{}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HTTP_PROXY",
		"AZURE_STORAGE_CONNECTION_STRING"} {
		value := "canary-" + rand.Text()
		secrets.Text(name, value)
		if name == "HTTP_PROXY" {
			value = "http://user:" + value + "@127.0.0.1:1"
		}
		t.Setenv(name, value)
	}
	t.Setenv("NO_PROXY", "127.0.0.1")
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, 10)
	bucket, err := file.New(root)
	require.NoError(t, err)
	here, err := duckdb.New(t.Context(), duckdb.Options{ExtensionDirs: []string{oracletest.Extensions(t)}})
	require.NoError(t, err)
	opts := harness.WorkerOptions(t, here)
	there, err := worker.New(opts)
	require.NoError(t, err)
	g, err := gateway.New(gateway.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	key := regexp.MustCompile(`\bLW[A-Z2-7]{26}\b`)
	for where, inner := range map[string]engine.Engine{config.IsolationNone: here, config.IsolationProcess: there} {
		e := gateway.NewEngine(inner, g, func(_ context.Context, _, name string) (gateway.Location, error) {
			return gateway.Location{Bucket: name, Identity: name, Store: bucket, Prefixes: []string{""}}, nil
		})
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		var keys []string
		for _, owner := range []string{"a", "b"} {
			s, err := e.Open(t.Context(), engine.SessionOptions{Owner: owner, Roots: []string{gateway.Root(harness.RemoteBucket)}})
			require.NoError(t, err)
			for name, src := range map[string]engine.Source{"log": table.Latest(), "list": table.Listed()} {
				src.Location = gateway.Root(harness.RemoteBucket) + "t"
				require.Equal(t, []string{"45"}, enginetest.Rows(t, s, harness.SumOf(src)), name)
				var told strings.Builder
				for _, sql := range []string{
					"SELECT name, value FROM duckdb_settings()", "SELECT * FROM duckdb_secrets()", "SELECT path FROM duckdb_databases()",
					"SELECT sql FROM duckdb_views()",
					"SELECT message FROM duckdb_logs()", "SELECT * FROM duckdb_variables()", "SELECT current_query()",
					"SELECT * FROM duckdb_temporary_files()",
					"SELECT getenv('AWS_SECRET_ACCESS_KEY')", "SELECT * FROM duckdb_secrets(redact=false)",
					"SELECT content FROM read_text('/proc/self/environ')",
				} {
					rows, err := enginetest.TryRows(t.Context(), s, engine.Statement{SQL: sql, Sources: []engine.Source{src}})
					fmt.Fprintln(&told, rows, err)
				}
				require.Contains(t, told.String(), "s3_access_key_id", "it tells something")
				require.Empty(t, secrets.In([]byte(told.String())), "%s %s", where, name)
				found := key.FindAllString(told.String(), -1)
				slices.Sort(found)
				found = slices.Compact(found)
				require.Len(t, found, 1, "%s %s: one key, its own: %s", where, name, told.String())
				keys = append(keys, found...)
			}
			require.NoError(t, s.Close())
		}
		require.Len(t, keys, 4)
		require.Equal(t, []string{keys[0], keys[2]}, []string{keys[1], keys[3]}, "each session has one key")
		require.NotEqual(t, keys[0], keys[2], "and no other's")
	}
}
