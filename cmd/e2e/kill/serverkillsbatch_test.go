package kill_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// batch is what is there of the rows of one batch; one without rows is not there.
type batch struct{ rows, sum int }

// batchWriter writes one batch after the other: inserts it, adds to its values,
// merges over its second half and beyond, and deletes some again.
type batchWriter struct {
	table   killedTable
	next    int
	random  *rand.Rand
	batches map[int]batch
	// open is the write whose outcome is unknown.
	open                          *openWrite
	acknowledged, unknown, landed int
}

// openWrite is a request with what it makes of its batch.
type openWrite struct {
	to, key string
	body    any
	batch   int
	after   batch
}

// work writes until the server does not answer. An error is an answer that no
// write may get.
func (w *batchWriter) work(ctx context.Context, k *killed) error {
	for ctx.Err() == nil {
		for _, write := range w.batch() {
			if ctx.Err() != nil {
				return nil
			}
			gone, err := w.send(ctx, k, write)
			if gone || err != nil {
				return err
			}
		}
	}
	return nil
}

// send repeats a write until it is done, or the server is gone.
func (w *batchWriter) send(ctx context.Context, k *killed, write openWrite) (gone bool, err error) {
	for {
		status, reply, err := k.try(ctx, w.table.path+write.to, write.body, write.key)
		switch {
		case err != nil:
			w.open = &write
			w.unknown++
			return true, nil
		case status == http.StatusOK:
			w.batches[write.batch] = write.after
			w.acknowledged++
			select {
			case k.done <- struct{}{}:
			default:
			}
			return false, nil
		case status == http.StatusConflict && strings.Contains(string(reply), "commit_conflict"), status == http.StatusServiceUnavailable:
			if ctx.Err() != nil { // its end may have been a sign of the kill
				w.open = &write
				return true, nil
			}
			harness.Pause(ctx, time.Duration(w.random.IntN(20))*time.Millisecond)
		default:
			return false, fmt.Errorf("%s %s: %d %s", write.key, write.to, status, reply)
		}
	}
}

// batch is the writes to one new batch.
func (w *batchWriter) batch() []openWrite {
	id, n := w.next, 2+2*w.random.IntN(100)
	w.next++
	rows := func(from, to, v int) (all list) {
		for i := from; i < to; i++ {
			all = append(all, object{"batch": id, "n": i, "v": v, "pad": strings.Repeat("x", i)})
		}
		return all
	}
	where := fmt.Sprintf("batch = %d", id)
	writes := []openWrite{
		{to: "/rows", body: harness.RowsOf(rows(0, n, 0)...), after: batch{n, 0}},
		{to: "/rows/update", body: object{"where": where, "set": object{"v": "v + 1"}}, after: batch{n, n}},
		{to: "/rows/merge", body: object{"on": list{"batch", "n"}, "rows": rows(n/2, n+n/2, 10)}, after: batch{n + n/2, n/2 + 10*n}},
		{to: "/rows/delete", body: object{"where": where}},
	}
	writes = writes[:1+w.random.IntN(len(writes))]
	for i := range writes {
		writes[i].batch, writes[i].key = id, fmt.Sprintf("%d%s", id, writes[i].to)
	}
	return writes
}

// compare demands of every batch what was acknowledged; the open write is done
// wholly or not at all.
func (w *batchWriter) compare(t *testing.T, seen map[int]batch) {
	t.Helper()
	for id, want := range w.batches {
		if w.open != nil && w.open.batch == id {
			continue
		}
		require.Equal(t, want, seen[id], "batch %d of %s", id, w.table.sql)
	}
	if w.open == nil {
		return
	}
	got, before := seen[w.open.batch], w.batches[w.open.batch]
	require.Contains(t, []batch{before, w.open.after}, got, "%s of %s is neither all nor nothing", w.open.key, w.table.sql)
	if got == w.open.after {
		w.landed++
	}
}
