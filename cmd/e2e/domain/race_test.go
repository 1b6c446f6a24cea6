package domain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDeletionsOfValuesMeetWritesOnAnotherReplica races inserts of a value with its deletion,
// each through another server on one catalog. Either of the two is refused.
func TestDeletionsOfValuesMeetWritesOnAnotherReplica(t *testing.T) {
	t.Parallel()
	pairs := 1000
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		pairs = 40
	}
	s := harness.Start(t, func(c *harness.Settings) { c.Catalog = "postgres" })
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir() // its own files; the tables are shared
	twin.Start()
	replicas := []*harness.Client{s.Admin, twin.Client(s.Admin.Key, s.Admin.User)}

	const workers = 2
	var group sync.WaitGroup
	var written atomic.Int64
	for worker := range workers {
		name := fmt.Sprint("t", worker)
		r := race{table: s.Schema + "." + name, path: s.Create(name, nil, harness.Col("id", "long"), harness.Col("state", "string"))}
		s.Admin.OK("PUT", r.path+"/columns/state/domain/fixed", object{"values": list{"always"}})
		group.Go(func() {
			begun := time.Now()
			s.Admin.Write(r.path+"/rows", harness.RowsOf(object{"id": 0, "state": "always"}))
			r.took = time.Since(begun)
			for n := range pairs / workers {
				if err := r.pair(n, replicas[n%2], replicas[(n+1)%2]); err != nil {
					t.Errorf("pair %d: %v", n, err)
				}
			}
			written.Add(r.written)
		})
	}
	group.Wait()
	t.Logf("%d of %d inserts were faster", written.Load(), pairs)
	require.NotZero(t, written.Load())
	require.Less(t, written.Load(), int64(pairs))
}

// race is a table on which inserts and deletions of values race.
type race struct {
	table, path string
	took        time.Duration // of the last insert
	written     int64
}

// pair adds a value and inserts a row that has it through one replica, while another one
// deletes the value. Of the first pair the insert is faster, of the second the deletion.
func (r *race) pair(n int, writer, remover *harness.Client) error {
	at, value := r.path+"/columns/state/domain/values", fmt.Sprint("state ", n)
	added := ids(writer.OK("POST", at, object{"value": value})["domain"].(object)["allowed_values"])[value]
	var inserting sync.WaitGroup
	var inserted, deleted harness.Reply
	var took time.Duration
	remove := func() { deleted = remover.Call("DELETE", at+"/"+added, nil) }
	if n == 1 {
		remove()
	}
	inserting.Go(func() {
		begun := time.Now()
		inserted = writer.Call("POST", r.path+"/rows", harness.RowsOf(object{"id": 1, "state": value}))
		took = time.Since(begun)
	})
	switch n {
	case 0:
		inserting.Wait()
		remove()
	case 1:
		inserting.Wait()
	default:
		<-time.After(rand.N(r.took))
		remove()
		inserting.Wait()
	}
	rows := remover.Count(r.table + " WHERE state = '" + value + "'")
	outcome := [3]any{deleted.Status, inserted.Status, rows}
	switch outcome {
	case [3]any{409, 200, 1.0}:
		r.took, r.written = took, r.written+1
		return nil
	case [3]any{200, 422, 0.0}:
		return nil
	}
	return fmt.Errorf("deletion, insertion and rows: %v\n%s\n%s", outcome, deleted.Body, inserted.Body)
}
