package storage_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// rotationsReport names the file for a report on the rotations, if any.
const rotationsReport = "LAKEWARDEN_TEST_ROTATIONS_REPORT"

// rotated is a root of a store whose credential is rotated.
type rotated struct {
	kind     string
	settings object
	// credential makes the credential with a number.
	credential func(i int) object
	// revoke makes the store reject that credential. It is nil if the store cannot.
	revoke func(i int)
}

// rotatedRoots are an empty root in every kind of remote store.
var rotatedRoots = []func(t *testing.T) rotated{
	func(t *testing.T) rotated {
		store := s3test.Start(t)
		prefix := "key" + uuid.NewString()[:8] + "n"
		return rotated{
			kind: "s3", settings: object{"bucket": store.Bucket(t), "region": s3test.Region, "endpoint": store.Endpoint},
			credential: func(i int) object {
				key := fmt.Sprint(prefix, i)
				return object{"accessKeyId": key, "secretAccessKey": store.User(t, key, s3test.RoleAdmin)}
			},
			revoke: func(i int) { store.RemoveUser(t, fmt.Sprint(prefix, i)) },
		}
	},
	func(t *testing.T) rotated {
		store := azuretest.Start(t)
		return rotated{
			kind: "azure", settings: object{"account": azuretest.Account, "container": store.Container(t), "endpoint": store.Endpoint},
			credential: func(i int) object { return object{"accountKey": []string{azuretest.Key, azuretest.SecondKey}[i%2]} },
		}
	},
	func(t *testing.T) rotated {
		store := gcstest.Start(t)
		guard := store.Guard(t)
		return rotated{
			kind: "gcs", settings: object{"bucket": store.Bucket(t), "endpoint": guard.Endpoint},
			credential: func(i int) object { return object{"serviceAccountKey": guard.Key(t, fmt.Sprint("key", i))} },
			revoke:     func(i int) { guard.Revoke(fmt.Sprint("key", i)) },
		}
	},
}

// TestRotationsFailNoRead rotates the credential of a configuration while readers read its table
// without using what they know of its log, and one writer inserts rows. No request fails, and every
// acknowledged row is read. A credential is revoked by its store one rotation after it was replaced, so
// that nobody can use it for longer.
func TestRotationsFailNoRead(t *testing.T) {
	rotations, readers := 100, 20
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		rotations, readers = 15, 4
	}
	var report strings.Builder
	for _, start := range rotatedRoots {
		r := start(t)
		t.Run(r.kind, func(t *testing.T) { report.WriteString(r.rotate(t, rotations, readers)) })
	}
	if path := os.Getenv(rotationsReport); path != "" && !t.Failed() {
		text := fmt.Sprintf(`# Rotations of credentials

Made by %[1]smake soak%[1]s on %s. Readers of one table read its log and its newest rows from the store in every statement, and one
writer inserts rows, while the credential of the storage configuration is replaced. S3 and Google Cloud Storage revoke each credential
one rotation after it was replaced; Azurite has two fixed keys, which take turns.

| store | rotations | readers | statements | inserts | of both failed | rotation, median | rotation, slowest |
|---|---|---|---|---|---|---|---|
%s`, "`", time.Now().UTC().Format(time.DateOnly), report.String())
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// rotate returns a row of the report.
func (r rotated) rotate(t *testing.T, rotations, readers int) string {
	s := harness.Start(t, func(c *harness.Settings) { c.AllowPrivateEndpoints = true })
	made := s.Admin.OK("POST", harness.ConfigsPath,
		with(object{"configName": "rotated", "kind": r.kind, "workspaceId": s.Boot.WorkspaceID}, r.settings, r.credential(0)))
	path, schema := harness.ConfigsPath+"/"+made["configId"].(string)+"/credentials/"+r.kind, made["schema"].(string)
	s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "t", nil, harness.Col("id", "long"))).JSON(t)
	insert := func(i int) harness.Reply {
		return s.Admin.Call("POST", "/v1/tables/lake/"+schema+"/t/rows", harness.RowsOf(object{"id": i}))
	}
	require.Equal(t, http.StatusOK, insert(0).Status)

	var read, inserted atomic.Int64
	inserted.Store(1)
	var mu sync.Mutex
	var failed []string
	fail := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, what)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				least := inserted.Load()
				// Each text is planned anew.
				reply := s.Admin.Call("POST", "/v1/query", object{
					"sql": "SELECT count(DISTINCT id) AS \"" + uuid.NewString() + "\" FROM " + schema + ".t", "max_staleness_ms": 0,
				})
				read.Add(1)
				if reply.Status != http.StatusOK {
					fail(fmt.Sprintf("a statement: %d %s", reply.Status, reply.Body))
				} else if rows := reply.JSON(t)["rows"].([]any)[0].([]any)[0].(float64); int64(rows) < least {
					fail(fmt.Sprintf("a statement finds %v of %d rows", rows, least))
				}
			}
		})
	}
	all.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if reply := insert(i); reply.Status != http.StatusOK {
				fail(fmt.Sprintf("insert %d: %d %s", i, reply.Status, reply.Body))
				return
			}
			inserted.Add(1)
		}
	})
	took := make([]time.Duration, rotations)
	for i := range took {
		next, begun := r.credential(i+1), time.Now()
		reply := s.Admin.Call("PUT", path, next)
		took[i] = time.Since(begun)
		if reply.Status != http.StatusOK {
			fail(fmt.Sprintf("rotation %d: %d %s", i, reply.Status, reply.Body))
		}
		if r.revoke != nil && i > 0 {
			r.revoke(i - 1)
		}
	}
	for read.Load() <= int64(2*readers) {
		harness.Pause(t.Context(), time.Millisecond)
	}
	close(stop)
	all.Wait()
	require.Empty(t, failed)
	require.Equal(t, []any{[]any{float64(inserted.Load())}}, s.Admin.Rows("SELECT count(DISTINCT id) FROM "+schema+".t"))
	slices.Sort(took)
	t.Logf("%d rotations, %d statements, %d inserts", rotations, read.Load(), inserted.Load())
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d ms | %d ms |\n", r.kind, rotations, readers, read.Load(), inserted.Load(),
		len(failed), took[rotations/2].Milliseconds(), took[rotations-1].Milliseconds())
}
