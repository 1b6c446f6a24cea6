package kill_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestKillsDuringMovesLoseNoRow kills the server at ten points of moves. After each retry there
// is one table, which has all rows, and the source is empty.
func TestKillsDuringMovesLoseNoRow(t *testing.T) {
	t.Parallel()
	p := harness.NewProgram(t)
	key := p.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")["api_key"].(string)
	server, _ := p.Serve()
	c := p.Client(key)
	config := c.OK("POST", harness.ConfigsPath, harness.LocalConfig("moving", "moving"))
	id, schema := config["configId"].(string), config["schema"].(string)
	root := filepath.Join(p.Dir, "data", "storage", "moving")
	c.OK("POST", "/v1/tables", object{
		"catalog": "lake", "schema": schema, "name": "t", "path": "at0/t", "columns": list{harness.Col("id", "long")},
	})
	for row := range 5 {
		c.Write("/v1/tables/lake/"+schema+"/t/rows", harness.RowsOf(object{"id": row}))
	}
	for i := range 400 { // other objects, which move too
		name := filepath.Join(root, "at0", "files", fmt.Sprint(i))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
		require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("x"), 1000), 0o600))
	}
	move := func(n int) (status int, body []byte, err error) {
		return sendMove(t, c, fmt.Sprint("move ", n), object{
			"sourceConfigId": id, "sourcePath": fmt.Sprint("at", n), "destinationConfigId": id, "destinationPath": fmt.Sprint("at", n+1),
		})
	}
	judge := func(n int) {
		t.Helper()
		status, body, err := move(n)
		require.NoError(t, err)
		require.Equal(t, 200, status, "%s", body)
		require.EqualValues(t, 5, c.Count(schema+".t"))
		tables := c.OK("GET", "/v1/tables?schema="+schema, nil)["tables"].(list)
		require.Len(t, tables, 1)
		require.NoError(t, filepath.WalkDir(filepath.Join(root, fmt.Sprint("at", n)), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			// A kill can leave behind a folder whose last file was deleted, and an unfinished upload,
			// which is no object.
			if err == nil && !entry.IsDir() {
				require.True(t, strings.HasPrefix(entry.Name(), ".lakewarden-tmp-"), "the source has %s", path)
			}
			return err
		}))
	}
	begun := time.Now()
	judge(0)
	whole := time.Since(begun)
	interrupted := 0
	for point := 0; point < 10 || interrupted == 0; point++ {
		ended := make(chan error, 1)
		go func() {
			_, _, err := move(point + 1)
			ended <- err
		}()
		harness.Pause(t.Context(), whole*time.Duration(point%10)/10)
		require.NoError(t, server.Process.Kill())
		require.Error(t, server.Wait())
		if <-ended != nil {
			interrupted++
		}
		server, _ = p.Serve()
		judge(point + 1)
	}
	t.Logf("a move takes %s; %d were interrupted", whole, interrupted)
}

// sendMove requests a move. It returns an error if the server ends before it replies.
func sendMove(t *testing.T, c *harness.Client, key string, body object) (status int, reply []byte, err error) {
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	r, err := http.NewRequest(http.MethodPost, c.URL+"/v1/storages/move", bytes.NewReader(raw))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+c.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	reply, err = io.ReadAll(answer.Body)
	return answer.StatusCode, reply, err
}

// TestKillsDuringMovesBetweenClouds kills the server during moves between stores of every kind.
func TestKillsDuringMovesBetweenClouds(t *testing.T) {
	t.Parallel()
	azure, google, s3 := azuretest.Start(t), gcstest.Start(t), s3test.Start(t)
	guard := google.Guard(t)
	p := harness.NewProgram(t)
	p.Env = append(p.Env, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true")
	key := p.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")["api_key"].(string)
	server, _ := p.Serve()
	c := p.Client(key)
	var ids, schemas []string
	for _, body := range []object{
		{"configName": "azure", "kind": "azure", "account": azuretest.Account, "container": azure.Container(t), "endpoint": azure.Endpoint,
			"accountKey": azuretest.Key},
		{"configName": "gcs", "kind": "gcs", "bucket": google.Bucket(t), "endpoint": guard.Endpoint, "serviceAccountKey": guard.Key(t, "one")},
		harness.S3Body(s3, s3.Bucket(t), nil),
	} {
		made := c.OK("POST", harness.ConfigsPath, body)
		ids, schemas = append(ids, made["configId"].(string)), append(schemas, made["schema"].(string))
	}
	c.OK("POST", "/v1/tables", object{
		"catalog": "lake", "schema": schemas[0], "name": "t", "path": "in/t", "columns": list{harness.Col("id", "long")},
	})
	const rows = 15 // each with a file and a commit
	for row := range rows {
		c.Write("/v1/tables/lake/"+schemas[0]+"/t/rows", harness.RowsOf(object{"id": row}))
	}
	move := func(n int) (status int, reply []byte, err error) {
		return sendMove(t, c, fmt.Sprint("move ", n), object{
			"sourceConfigId": ids[n%3], "sourcePath": "in", "destinationConfigId": ids[(n+1)%3], "destinationPath": "in",
		})
	}
	var whole [3]time.Duration
	interrupted := 0
	for n := 0; n < 9 || interrupted == 0; n++ {
		if n < 3 { // learns how long a move takes
			begun := time.Now()
			status, reply, err := move(n)
			require.NoError(t, err)
			require.Equal(t, 200, status, "%s", reply)
			whole[n] = time.Since(begun)
			continue
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := move(n)
			ended <- err
		}()
		// Later kills come sooner, in case the machine was slower when the moves were timed.
		harness.Pause(t.Context(), whole[n%3]*time.Duration(1+(n-3)%6)/7>>((n-3)/6))
		require.NoError(t, server.Process.Kill())
		require.Error(t, server.Wait())
		if <-ended != nil {
			interrupted++
		}
		server, _ = p.Serve()
		status, reply, err := move(n)
		require.NoError(t, err)
		require.Equal(t, 200, status, "move %d: %s", n, reply)
		require.EqualValues(t, rows, c.Count(schemas[(n+1)%3]+".t"))
		require.Len(t, c.OK("GET", "/v1/tables?schema="+schemas[(n+1)%3], nil)["tables"], 1)
		status, reply, err = sendMove(t, c, fmt.Sprint("again ", n), object{
			"sourceConfigId": ids[n%3], "sourcePath": "in", "destinationConfigId": ids[(n+1)%3], "destinationPath": "other", "dry_run": true,
		})
		require.NoError(t, err)
		require.Equal(t, 422, status, "the source is empty: %s", reply)
	}
	t.Logf("moves take %v; %d were interrupted", whole, interrupted)
}
