package main

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// keepInS3 has a server keep results in a bucket.
func keepInS3(store s3test.Server, bucket string) func(*settings) {
	return func(c *settings) {
		c.ResultsURL = "s3://" + bucket + "/kept/rows?path_style=true&region=" + s3test.Region + "&endpoint=" + url.QueryEscape(store.Endpoint)
		c.ResultsAccessKeyID, c.ResultsSecretAccessKey = s3test.AccessKeyID, s3test.SecretAccessKey
		c.StoreTimeout = time.Second
	}
}

// objects are the names of what a bucket holds.
func objects(t *testing.T, store s3test.Server, bucket string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(store.Folder(bucket), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(store.Folder(bucket), path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

func TestResultsInABucketAreReadOnAnyReplica(t *testing.T) {
	store := s3test.Start(t)
	bucket, database := store.Bucket(t), pgtest.URL(t)
	s := startServer(t, func(c *settings) {
		c.DatabaseURL = database
		keepInS3(store, bucket)(c)
	})
	twin := &testServer{t: t, config: s.config, log: s.log, logged: s.logged}
	twin.config.DataDir = t.TempDir()
	twin.start()
	there := twin.client(s.admin.key, s.admin.user)
	require.Empty(t, objects(t, store, bucket), "the trial at start leaves nothing")

	s.table("numbers", `SELECT i AS id, i % 7 AS rest FROM range(100000) t(i)`, nil, column{"id", "long"}, column{"rest", "long"})
	const sql = `SELECT id, rest, md5(id::VARCHAR) AS word FROM %s ORDER BY id`
	first := s.admin.await(s.admin.start(strings.ReplaceAll(sql, "%s", s.schema+".numbers")))
	require.Equal(t, "succeeded", first["state"], "%v", first)
	second := there.await(there.start("SELECT 42 AS answer"))
	direct := s.admin.call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", s.schema+".numbers")}, "Accept", csvType)
	require.Equal(t, direct.body, there.result(first, "Accept", csvType).body)
	require.Equal(t, []any{[]any{42.0}}, s.admin.result(second).json(t)["rows"])
	require.ElementsMatch(t, []string{
		"kept/rows/" + s.boot.OrganisationID + "/" + first["id"].(string) + ".arrow", "kept/rows/" + s.boot.OrganisationID + "/" + second["id"].(string) + ".arrow",
	}, objects(t, store, bucket))

	there.ok("DELETE", "/v1/operations/"+first["id"].(string), nil)
	s.admin.result(first).problem(t, 404)
	require.Len(t, objects(t, store, bucket), 1, "the rows go with the operation")

	// The retention is over: whichever replica tends next removes the rows.
	cat, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, cat.Close()) }()
	place, err := s.config.Results()
	require.NoError(t, err)
	client, err := s3.New(place.Bucket)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	opened := objstore.Prefix(client, place.Prefix)
	system := authz.System(context.WithoutCancel(t.Context()), "test")
	const runner = "a replica without patience"
	old, err := cat.CreateOperation(system, catalog.NewOperation{
		Org: catalog.OrgID(s.boot.OrganisationID), User: catalog.UserID(s.boot.UserID), Kind: catalog.OperationQuery, Runner: runner, Running: true,
	})
	require.NoError(t, err)
	name := s.boot.OrganisationID + "/" + string(old.ID) + ".arrow"
	require.NoError(t, opened.Put(t.Context(), name, bytes.NewReader([]byte("rows")), 4))
	require.NoError(t, cat.FinishOperation(system, runner, old.ID, catalog.OperationOutcome{State: catalog.OperationSucceeded, StoredBytes: 4, ExpiresAt: time.Now().Add(-time.Second)}))
	tending := longwork.NewRunner(system, authz.New(cat), longwork.Options{
		Name: runner, Describe: func(err error) catalog.OperationProblem { return catalog.OperationProblem{Message: err.Error()} }, Discard: query.Results{Bucket: opened}.Discard, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, tending.Sweep(system))
	require.NoError(t, tending.Close(system))
	require.Equal(t, []string{"kept/rows/" + s.boot.OrganisationID + "/" + second["id"].(string) + ".arrow"}, objects(t, store, bucket))
	require.Empty(t, leaked(t, s, s3test.SecretAccessKey))
}

func TestAStoreOfResultsThatIsAwayFailsOperationsOnly(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	proxy := store.Proxy(t)
	s := startServer(t, keepInS3(proxy.Server, bucket))
	kept := s.admin.await(s.admin.start("SELECT 1"))
	require.Equal(t, "succeeded", kept["state"])
	proxy.Disturb("reset_peer", false, map[string]any{"timeout": 0})
	o := s.admin.await(s.admin.start("SELECT 2"))
	require.Equal(t, "failed", o["state"])
	require.Equal(t, "storage_unavailable", o["error"].(map[string]any)["code"])
	code, _ := s.admin.result(kept).problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Equal(t, 200, s.admin.query("SELECT 1").status)
	proxy.Heal()
	require.Eventually(t, func() bool { return s.admin.result(kept).status == 200 }, 10*time.Second, 50*time.Millisecond)
}
