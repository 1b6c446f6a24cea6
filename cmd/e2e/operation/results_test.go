package operation_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

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
	t.Parallel()
	store := s3test.Start(t)
	bucket, database := store.Bucket(t), pgtest.URL(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.DatabaseURL = database
		harness.KeepInS3(store, bucket)(c)
	})
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir()
	twin.Start()
	there := twin.Client(s.Admin.Key, s.Admin.User)
	require.Empty(t, objects(t, store, bucket), "the trial at start leaves nothing")

	s.Table("numbers", `SELECT i AS id, i % 7 AS rest FROM range(100000) t(i)`, nil, column{"id", "long"}, column{"rest", "long"})
	const sql = `SELECT id, rest, md5(id::VARCHAR) AS word FROM %s ORDER BY id`
	first := s.Admin.Await(s.Admin.Start(strings.ReplaceAll(sql, "%s", s.Schema+".numbers")))
	require.Equal(t, "succeeded", first["state"], "%v", first)
	second := there.Await(there.Start("SELECT 42 AS answer"))
	direct := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", s.Schema+".numbers")}, "Accept",
		harness.CSVType)
	require.Equal(t, direct.Body, there.Result(first, "Accept", harness.CSVType).Body)
	require.Equal(t, []any{[]any{42.0}}, s.Admin.Result(second).JSON(t)["rows"])
	require.ElementsMatch(t, []string{
		"kept/rows/" + s.Boot.OrganisationID + "/" + first["id"].(string) + ".arrow", "kept/rows/" + s.Boot.OrganisationID + "/" +
			second["id"].(string) + ".arrow",
	}, objects(t, store, bucket))

	there.OK("DELETE", "/v1/operations/"+first["id"].(string), nil)
	s.Admin.Result(first).Problem(t, 404)
	require.Len(t, objects(t, store, bucket), 1, "the rows go with the operation")

	// The retention is over: whichever replica tends next removes the rows.
	cat, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, cat.Close()) }()
	place, err := s.Config.Results()
	require.NoError(t, err)
	client, err := s3.New(place.Bucket)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	opened := objstore.Prefix(client, place.Prefix)
	system := authz.System(context.WithoutCancel(t.Context()), "test")
	const runner = "a replica without patience"
	old, err := cat.CreateOperation(system, catalog.NewOperation{
		Org: catalog.OrgID(s.Boot.OrganisationID), User: catalog.UserID(s.Boot.UserID), Kind: catalog.OperationQuery, Runner: runner,
		Running: true,
	})
	require.NoError(t, err)
	name := s.Boot.OrganisationID + "/" + string(old.ID) + ".arrow"
	require.NoError(t, opened.Put(t.Context(), name, bytes.NewReader([]byte("rows")), 4))
	require.NoError(t, cat.FinishOperation(system, runner, old.ID, catalog.OperationOutcome{State: catalog.OperationSucceeded, StoredBytes: 4,
		ExpiresAt: time.Now().Add(-time.Second)}))
	tending := longwork.NewRunner(system, authz.New(cat), longwork.Options{
		Name: runner, Describe: func(err error) catalog.OperationProblem { return catalog.OperationProblem{Message: err.Error()} },
		Discard: query.Results{Bucket: opened}.Discard, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, tending.Sweep(system))
	require.NoError(t, tending.Close(system))
	require.Equal(t, []string{"kept/rows/" + s.Boot.OrganisationID + "/" + second["id"].(string) + ".arrow"}, objects(t, store, bucket))
	require.Empty(t, harness.Leaked(t, s, s3test.SecretAccessKey))
}

func TestUnavailableStoreOfResultsFailsOperationsOnly(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	proxy := store.Proxy(t)
	s := harness.Start(t, harness.KeepInS3(proxy.Server, bucket))
	kept := s.Admin.Await(s.Admin.Start("SELECT 1"))
	require.Equal(t, "succeeded", kept["state"])
	proxy.Disturb("reset_peer", false, map[string]any{"timeout": 0})
	o := s.Admin.Await(s.Admin.Start("SELECT 2"))
	require.Equal(t, "failed", o["state"])
	require.Equal(t, "storage_unavailable", o["error"].(map[string]any)["code"])
	code, _ := s.Admin.Result(kept).Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Equal(t, 200, s.Admin.Query("SELECT 1").Status)
	proxy.Heal()
	require.Eventually(t, func() bool { return s.Admin.Result(kept).Status == 200 }, time.Minute, 50*time.Millisecond)
}

// TestStaleResultsAreCalledStale checks that a result which is read just after a change is
// refused as stale, and not as a statement that the change cancelled: a client would ask
// for the same result again.
func TestStaleResultsAreCalledStale(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id, 'r' || i AS region FROM range(10) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	viewer := s.Member("v@acme.example", "viewer", map[string]string{"region": "r1"})
	policy := s.Policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	path, version := "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+policy["id"].(string), 1
	enable := func(on bool) {
		s.Admin.OK("PATCH", path, map[string]any{"enabled": on, "expectedVersion": version})
		version++
	}
	enable(false)
	o := viewer.Await(viewer.Start("SELECT * FROM " + s.Schema + ".t"))
	for range 30 {
		require.Len(t, viewer.Result(o).JSON(t)["rows"], 10)
		enable(true)
		codes := make([]string, 16)
		var reading sync.WaitGroup
		for i := range codes {
			reading.Go(func() { codes[i], _ = viewer.Result(o).Problem(t, 409) })
		}
		reading.Wait()
		for _, code := range codes {
			require.Equal(t, "result_stale", code)
		}
		enable(false)
	}
}

// TestOperationsEndWhileOtherThingsChange checks that changes of the catalog which do not
// concern a statement neither fail it nor start it again.
func TestOperationsEndWhileOtherThingsChange(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Table("t", `SELECT i AS id, i % 7 AS rest FROM range(8000) t(i)`, nil, column{"id", "long"}, column{"rest", "long"})
	s.Policy("t", "id", harness.Everyone)
	viewer, other := s.Member("v@acme.example", "viewer", nil), s.Member("o@acme.example", "viewer", nil)
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/users/" + other.User + "/attributes"
	from := s.Schema + ".t"
	for changes, runs := 0, 1; changes <= 5; runs++ { // again, with twice the work, if the statement was over too soon
		// It reads everything before its first row.
		o := viewer.Start(fmt.Sprintf("SELECT count(*) FROM %s a, %s b, range(%d) WHERE (a.id * b.id + a.rest) %% 7 = 3", from, from,
			1<<runs/2))
		changes = 0
		require.Eventually(t, func() bool {
			changes++
			s.Admin.OK("PUT", path, map[string]string{"n": strconv.Itoa(changes)})
			o = viewer.Operation(o)
			return o["state"] != "queued" && o["state"] != "running"
		}, 2*time.Minute, 5*time.Millisecond)
		require.Equal(t, "succeeded", o["state"], "%v", o)
		require.Equal(t, float64(runs), s.Metric(t, `lakewarden_query_seconds_count{phase="guard"}`), "each started once")
	}
}
