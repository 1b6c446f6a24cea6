package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
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

// canaries are secrets by what they are, in every form in which they may stand
// somewhere.
type canaries map[string][]byte

func (c canaries) text(what, secret string) { c[what] = []byte(secret) }

// key plants a key: as its bytes, in hexadecimal and in base64.
func (c canaries) key(what string, key []byte) {
	c[what] = key
	c.text(what+" in hexadecimal", hex.EncodeToString(key))
	c.text(what+" in base64", base64.RawStdEncoding.EncodeToString(key)[:40])
}

// keyFile plants the keys of a key file, and what the keys of masks are derived
// from. Those of a table itself are in the statements that hash its values.
func (c canaries) keyFile(t *testing.T, path, org string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var set struct {
		Key []struct{ KeyData struct{ Value string } }
	}
	require.NoError(t, json.Unmarshal(content, &set))
	require.Len(t, set.Key, 1)
	c.text("the entry of the key file", set.Key[0].KeyData.Value)
	value, err := base64.StdEncoding.DecodeString(set.Key[0].KeyData.Value)
	require.NoError(t, err)
	key := value[len(value)-32:]
	c.key("the key of credentials", key)
	masks, err := hkdf.Extract(sha256.New, key, []byte("lakewarden masks"))
	require.NoError(t, err)
	c.key("the key of all masks", masks)
	ofOrg, err := hkdf.Expand(sha256.New, masks, "organisation "+org, 32)
	require.NoError(t, err)
	c.key("the key of an organisation's masks", ofOrg)
}

// in lists the canaries that text holds.
func (c canaries) in(text []byte) []string {
	var found []string
	for what, secret := range c {
		if bytes.Contains(text, secret) {
			found = append(found, what)
		}
	}
	return found
}

// TestNoSecretReachesAWorker plants every kind of secret that a server has, has its
// workers do all kinds of work, and looks for the secrets wherever a worker could
// have them, while it works and afterwards.
func TestNoSecretReachesAWorker(t *testing.T) {
	secrets := canaries{}
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAKEWARDEN_TEST_CANARY"} {
		value := "canary-" + rand.Text()
		t.Setenv(name, value)
		secrets.text("the environment's "+name, value)
	}
	database, err := url.Parse(pgtest.URL(t))
	require.NoError(t, err)
	if _, has := database.User.Password(); !has {
		database.User = url.UserPassword(database.User.Username(), "canary-"+rand.Text()) // it lets everybody in
	}
	password, _ := database.User.Password()
	secrets.text("the password of the catalog's database", password)
	store := s3test.Start(t)
	user := func(what string) (key, secret string) {
		key = "key" + uuid.NewString()[:8]
		secret = store.User(t, key, s3test.RoleAdmin)
		secrets.text(what, secret)
		secrets.text(what+": its key", key)
		return key, secret
	}
	dataKey, dataSecret := user("the credential of a storage configuration")
	oldKey, oldSecret := user("a credential that was rotated")
	keptKey, keptSecret := user("the credential of kept results")
	issuer := newSigner(t)
	bucket, kept := store.Bucket(t), store.Bucket(t)
	s := startServer(t, func(c *settings) {
		keepInS3(store, kept)(c)
		c.ResultsAccessKeyID, c.ResultsSecretAccessKey = keptKey, keptSecret
		c.AllowPrivateEndpoints, c.DatabaseURL, c.LogLevel = true, database.String(), "debug"
		c.Issuers = []config.Issuer{{URL: "https://issuer.example", JWKSFile: issuer.file}}
		c.Lease, c.Memory = 512, 2048
		c.ReadLog = readLogOf("unlisted")
	})
	secrets.keyFile(t, s.config.KeyFile, s.boot.OrganisationID)
	secrets.text("a key of the API", s.admin.key[strings.LastIndex(s.admin.key, "_")+1:])
	reader := s.member("reader@acme.example", "viewer", map[string]string{"most": "1"})
	secrets.text("a reader's key of the API", reader.key[strings.LastIndex(reader.key, "_")+1:])
	token := issuer.token(map[string]any{
		"iss": "https://issuer.example", "aud": "lakewarden", "sub": reader.user, "org": s.boot.OrganisationID,
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "scope": "tables:read tables:query",
	})
	secrets.text("a token's signature", token[strings.LastIndex(token, ".")+1:])
	bearer := s.client(token, reader.user)

	// Work of every kind: over lists and logs, with filters and hashes, writes,
	// kept results, and what fails.
	writeTable(t, filepath.Join(store.Folder(bucket), "orders"), `SELECT i AS id, 'n' || i AS name FROM range(3) r(i)`, nil, column{"id", "long"}, column{"name", "string"})
	writeTable(t, filepath.Join(store.Folder(bucket), "unlisted"), `SELECT 1 AS id`, nil, column{"id", "long"})
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID, "accessKeyId": oldKey, "secretAccessKey": oldSecret}))
	remote := made["schema"].(string)
	require.Equal(t, 3.0, s.admin.count(remote+".orders"))
	s.admin.ok("PUT", configsPath+"/"+made["configId"].(string)+"/credentials/s3", map[string]any{"accessKeyId": dataKey, "secretAccessKey": dataSecret})
	s.admin.write("/v1/tables/lake/"+remote+"/orders/rows", rowsOf(object{"id": 3, "name": "n3"}))
	for kind, definition := range map[string]string{
		"rls":  `{"effect":"permit","subject":{"attribute":"most","op":"lte"},"condition":null}`,
		"mask": `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`,
	} {
		s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", map[string]any{
			"kind": kind, "tableFqn": "lake." + remote + ".orders", "columnName": map[string]string{"rls": "id", "mask": "name"}[kind], "definition": json.RawMessage(definition),
		})
	}
	for _, c := range []*client{reader, bearer} {
		require.Equal(t, 2.0, c.count(remote+".orders"))
		require.Len(t, c.rows("SELECT name FROM "+remote+".orders ORDER BY 1"), 2)
	}
	require.Equal(t, 1.0, s.admin.count(remote+".unlisted"))
	o := reader.await(reader.start("SELECT * FROM " + remote + ".orders"))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	var answers bytes.Buffer
	for _, sql := range []string{"SELECT name::INT FROM {t}", "SELECT nothing FROM {t}", "SELECT", "SELECT * FROM duckdb_secrets()", "SELECT len(list(range)) FROM range(900000000)"} {
		r := reader.query(strings.ReplaceAll(sql, "{t}", remote+".orders"))
		require.NotEqual(t, 200, r.status, sql)
		fmt.Fprintln(&answers, string(r.body), r.header)
	}

	marker := "marker-" + rand.Text()
	// The statement takes long and holds little: a join would keep one side.
	long := reader.start("SELECT count(*) FROM range(1000000000) r WHERE md5((SELECT max(name) FROM " + remote + ".orders) || r.range) = '" + marker + "'")
	var workers []string
	require.Eventually(t, func() bool {
		workers = workerProcesses(t)
		return slices.ContainsFunc(workers, func(pid string) bool { return memoryHolds(t, pid, marker) })
	}, 30*time.Second, 10*time.Millisecond, "what a worker has is found")
	for _, pid := range workers {
		require.Empty(t, memoryOf(t, pid, secrets), "memory of a worker at work")
		require.Empty(t, secrets.in(aroundWorker(t, pid)))
	}
	working := reader.operation(long)
	require.Equal(t, "running", working["state"], "the worker was at work: %v", working)
	reader.ok("DELETE", "/v1/operations/"+long["id"].(string), nil)
	long = reader.await(long)
	require.Equal(t, "cancelled", long["state"])
	r := reader.result(long)
	fmt.Fprintln(&answers, long, string(r.body), r.header)
	for _, pid := range workerProcesses(t) {
		require.Empty(t, memoryOf(t, pid, secrets), "memory of a worker at rest")
	}
	// The server itself holds what it needs, so the search finds such things.
	require.Subset(t, memoryOf(t, "self", secrets), []string{"the credential of a storage configuration", "the key of credentials", "the password of the catalog's database"})

	require.Empty(t, secrets.in(answers.Bytes()), "answers")
	keyFile, err := os.ReadFile(s.config.KeyFile)
	require.NoError(t, err)
	s.stop()
	require.Empty(t, secrets.in(s.log.Bytes()), "the log")
	require.NoError(t, filepath.WalkDir(s.config.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if !bytes.Equal(content, keyFile) {
			require.Empty(t, secrets.in(content), path)
		}
		return err
	}))
}

// aroundWorker is all that the system tells of a process beside its memory: its
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

// TestASessionTellsNoSecret asks an engine, without any guard before it, for all
// that it can tell of its settings: it knows the key that was made for its session
// and nothing else.
func TestASessionTellsNoSecret(t *testing.T) {
	secrets := canaries{}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HTTP_PROXY", "AZURE_STORAGE_CONNECTION_STRING"} {
		value := "canary-" + rand.Text()
		secrets.text(name, value)
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
	opts, err := app.WorkerOptions(app.WorkerSetup{Extensions: here.Verified()})
	require.NoError(t, err)
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
			s, err := e.Open(t.Context(), engine.SessionOptions{Owner: owner, Roots: []string{gateway.Root(remoteBucket)}})
			require.NoError(t, err)
			for name, src := range map[string]engine.Source{"log": table.Latest(), "list": table.Listed()} {
				src.Location = gateway.Root(remoteBucket) + "t"
				require.Equal(t, []string{"45"}, enginetest.Rows(t, s, sumOf(src)), name)
				var told strings.Builder
				for _, sql := range []string{
					"SELECT name, value FROM duckdb_settings()", "SELECT * FROM duckdb_secrets()", "SELECT path FROM duckdb_databases()", "SELECT sql FROM duckdb_views()",
					"SELECT message FROM duckdb_logs()", "SELECT * FROM duckdb_variables()", "SELECT current_query()", "SELECT * FROM duckdb_temporary_files()",
					"SELECT getenv('AWS_SECRET_ACCESS_KEY')", "SELECT * FROM duckdb_secrets(redact=false)", "SELECT content FROM read_text('/proc/self/environ')",
				} {
					rows, err := enginetest.TryRows(t.Context(), s, engine.Statement{SQL: sql, Sources: []engine.Source{src}})
					fmt.Fprintln(&told, rows, err)
				}
				require.Contains(t, told.String(), "s3_access_key_id", "it tells something")
				require.Empty(t, secrets.in([]byte(told.String())), "%s %s", where, name)
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

// memoryHolds searches the writable memory of a process for a text.
func memoryHolds(t *testing.T, pid, text string) bool {
	t.Helper()
	return len(memoryOf(t, pid, canaries{"": []byte(text)})) > 0
}

// memoryOf lists the canaries that the writable memory of a process holds.
func memoryOf(t *testing.T, pid string, secrets canaries) []string {
	t.Helper()
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	require.NoError(t, err)
	memory, err := os.Open("/proc/" + pid + "/mem")
	require.NoError(t, err)
	defer memory.Close()
	pages, err := os.Open("/proc/" + pid + "/pagemap")
	require.NoError(t, err)
	defer pages.Close()
	var found []string
	piece := make([]byte, 1<<20)
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); n == 3 && strings.HasPrefix(mode, "rw") {
			found = append(found, sectionHolds(memory, pages, piece, from, to, secrets)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// sectionHolds searches the pages of a section that were written, in pieces that
// overlap. It leaves the others alone: they hold nothing, and a read would create
// them and so count against the memory of the process.
func sectionHolds(memory, pages io.ReaderAt, piece []byte, from, to int64, secrets canaries) (found []string) {
	const overlap = 4 << 10
	for start, end := writtenRun(pages, from, to); start < end; start, end = writtenRun(pages, end, to) {
		for at := start; at < end; at += int64(len(piece)) - overlap {
			n, _ := memory.ReadAt(piece[:min(int64(len(piece)), end-at)], at) // what cannot be read holds nothing
			found = append(found, secrets.in(piece[:n])...)
		}
	}
	return found
}

// writtenRun returns the first run of pages between two addresses that are in memory
// or swapped out, by the pagemap of their process. The run is empty if there is none.
func writtenRun(pages io.ReaderAt, from, to int64) (start, end int64) {
	const entry, flags = 8, 0xC0 // bits 63 and 62, which are in the last byte
	size := int64(os.Getpagesize())
	start, end = to, to
	entries := make([]byte, 1<<10*entry)
	for at := from; at < to; at += int64(len(entries)) / entry * size {
		n, _ := pages.ReadAt(entries, at/size*entry)
		for i := range min(int64(len(entries))/entry, (to-at)/size) {
			// A page that the pagemap does not describe counts as written.
			written := (i+1)*entry > int64(n) || entries[(i+1)*entry-1]&flags != 0
			switch page := at + i*size; {
			case written && start == to:
				start = page
			case !written && start < to:
				return start, page
			}
		}
	}
	return start, end
}
