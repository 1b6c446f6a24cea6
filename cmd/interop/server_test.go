package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/mirrortest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

type (
	object = map[string]any
	list   = []any
)

// place is a storage configuration of the server.
type place struct {
	name, schema string
	// uri is the folder of its tables as other engines address it, if they can.
	uri string
	// folder is the local folder of its objects.
	folder string
}

// storeVariable names the one place in which all scenarios run.
const storeVariable = "LAKEWARDEN_TEST_STORE"

// testServer is a running server with tables on disk and in stores of every kind, and
// the engines that read them.
type testServer struct {
	url, key, workspace string
	places              []place
	server              *process
	judges              []judge
}

// storeOptions returns the options with which other engines reach the S3 server.
func storeOptions(store s3test.Server) object {
	return object{"endpoint": store.Endpoint, "key": s3test.AccessKeyID, "secret": s3test.SecretAccessKey, "region": s3test.Region}
}

// newTestServer starts everything except Spark.
func newTestServer(t *testing.T) *testServer {
	t.Helper()
	store := s3test.Start(t)
	w := &testServer{}
	dir := w.serve(t)
	local := filepath.Join(dir, "storage", "main")
	w.places = append(w.places, place{
		name: "local", uri: local, folder: local, schema: w.configure(t, object{"configName": "main", "kind": "local", "root": "main"}),
	})
	bucket := store.Bucket(t)
	w.places = append(w.places, place{name: "s3", uri: "s3://" + bucket, folder: store.Folder(bucket), schema: w.configure(t, object{
		"configName": "remote", "kind": "s3", "bucket": bucket, "region": s3test.Region, "endpoint": store.Endpoint,
		"accessKeyId": s3test.AccessKeyID, "secretAccessKey": s3test.SecretAccessKey,
	})})
	azure, gcs := mirrortest.Open(t, mirrortest.Azure), mirrortest.Open(t, mirrortest.GCS)
	azure.Body["configName"], gcs.Body["configName"] = "azure", "gcs"
	w.places = append(w.places,
		place{name: "azure", uri: "az://" + azure.Name, folder: azure.Folder, schema: w.configure(t, azure.Body)},
		// No engine has a client that works with the server of Google Cloud Storage.
		place{name: "gcs", uri: gcs.Folder, folder: gcs.Folder, schema: w.configure(t, gcs.Body)})
	extensions := oracletest.Extensions(t)
	w.server = startProcess(t, "engines.py", object{
		"extensions": extensions, "s3": storeOptions(store),
		"azure": object{"endpoint": azure.Endpoint, "account": azuretest.Account, "key": azuretest.Key},
	})
	for _, name := range []string{"delta-rs", "duckdb"} {
		w.judges = append(w.judges, judge{name: name, process: w.server})
	}
	w.judges = append(w.judges, spark(t, store)...)
	for i, j := range w.judges {
		a := j.ask(t, request{Do: "version"})
		require.Empty(t, a.Refused, j.name)
		w.judges[i].version = a.Version
	}
	return w
}

// turn returns the places of the scenario with a number: two by turns, one of them in a
// run of representative cases.
func (w *testServer) turn(t *testing.T, i int) (chosen []place) {
	t.Helper()
	if only := os.Getenv(storeVariable); only != "" {
		at := slices.IndexFunc(w.places, func(p place) bool { return p.name == only })
		require.GreaterOrEqual(t, at, 0, storeVariable)
		return w.places[at : at+1]
	}
	count := 2
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		count = 1
	}
	for j := range count {
		chosen = append(chosen, w.places[(i+j)%len(w.places)])
	}
	return chosen
}

// serve starts the server with a new organisation and returns its data directory.
func (w *testServer) serve(t *testing.T) string {
	t.Helper()
	program, err := oracletest.Path("LAKEWARDEN_TEST_SERVER", "lakewarden")
	oracletest.Need(t, err)
	address, err := oracletest.FreeAddress()
	require.NoError(t, err)
	dir := t.TempDir()
	env := append(os.Environ(), "LAKEWARDEN_DATA_DIR="+dir, "LAKEWARDEN_LISTEN="+address, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true",
		"LAKEWARDEN_EXTENSION_DIR="+oracletest.Extensions(t),
		"LAKEWARDEN_LOG_LEVEL=warn", "LAKEWARDEN_MEMORY_MIB=1024", "LAKEWARDEN_STATEMENT_MEMORY_MIB=256", "LAKEWARDEN_RATE_PER_MINUTE=1000000",
		"LAKEWARDEN_RATE_BURST=100000")
	made := exec.Command(program, "bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	made.Env = env
	text, err := made.Output()
	require.NoError(t, err)
	var who struct {
		Workspace string `json:"workspace_id"`
		Key       string `json:"api_key"`
	}
	require.NoError(t, json.Unmarshal(text, &who))
	w.url, w.key, w.workspace = "http://"+address, who.Key, who.Workspace
	log := &bytes.Buffer{}
	server := exec.Command(program, "serve")
	server.Env, server.Stderr = env, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("end of the server's log: %s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	require.Eventually(t, func() bool {
		r, err := http.Get(w.url + "/readyz")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "the server does not start")
	return dir
}

// configure creates a storage configuration and returns its schema.
func (w *testServer) configure(t *testing.T, body object) string {
	t.Helper()
	body["workspaceId"] = w.workspace
	return w.send(t, "POST", "/v1/storages/configs", body)["schema"].(string)
}

// send sends a request that must succeed. A string body is sent unchanged; header
// alternates names and values.
func (w *testServer) send(t *testing.T, method, path string, body any, header ...string) object {
	t.Helper()
	status, text := w.call(t, method, path, body, header...)
	require.Less(t, status, 300, "%s %s: %s", method, path, text)
	var out object
	require.NoError(t, json.Unmarshal(text, &out), "%s", text)
	return out
}

func (w *testServer) call(t *testing.T, method, path string, body any, header ...string) (int, []byte) {
	t.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.key)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	reply, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	return got.StatusCode, reply
}
